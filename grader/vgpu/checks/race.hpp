// What the checks for races have in common: two accesses to the same bytes, at least one a write, that nothing orders.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "vgpu/checks/finding.hpp"
#include "vgpu/checks/footprint.hpp"
#include "vgpu/checks/open_reads.hpp"

namespace scanlab::vgpu {

enum class Hazard : std::uint8_t {
  write_after_read,
  read_after_write,
  write_after_write,
  warp_synchronous,  ///< of one warp: right only as long as its lanes go in step, which no GPU since 2017 promises
};

/// Of accesses in the order in which they were seen, each a How or a GlobalHow.
template <class AnyHow>
Hazard hazard_between(const AnyHow& earlier, const AnyHow& later) {
  if (!later.writes()) return Hazard::read_after_write;
  return earlier.writes() ? Hazard::write_after_write : Hazard::write_after_read;
}

/// May the plain read of the two have been a guess that would do? `guesses`: lines of such reads.
template <class Conflict>
bool may_be_guess(const Conflict& c, const std::set<std::uint32_t>& guesses) {
  if (c.use != ReadUse::unknown) return false;
  const auto is_guess = [&](const auto& a, const auto& b) {
    return a.how.is_plain_read() && b.how.kind == How::Kind::atomic && guesses.contains(a.line);
  };
  return is_guess(c.earlier, c.later) || is_guess(c.later, c.earlier);
}

/// How the parts of a finding name what is done to a flag.
struct FlagWords {
  const char *set, *seen;
};
FlagWords words_of_flag(bool is_lock);
/// What to do where a flag has no fence on the writer's side: `parts` are the write, the flag set, the flag seen, and
/// the access behind it.
std::string advice_on_fences(const std::vector<Finding::Part>& parts, bool is_lock, bool is_in_block);

/// "write-after-read" …
const char* name_of(Hazard hazard);
/// "read" …
const char* name_of(How::Kind kind);
/// What a GPU may do: "the write may come first, and the read find the new value" …
const char* may_happen(Hazard hazard);
/// What it means for two threads of a block.
std::string advice_in_block(Hazard hazard);
/// … for a plain read beside an atomic.
std::string advice_on_read(ReadUse use, bool is_in_block, Hazard hazard);
/// … for a line that reads and writes a value which other threads read and write by it as well.
std::string advice_on_update(unsigned line);
/// … for two lanes of one store.
inline constexpr const char* advice_on_one_store =
    "one store by both, to the same place, and either value may remain: let only one thread write there";

}  // namespace scanlab::vgpu
