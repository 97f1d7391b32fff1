// Strong reads that have returned an old value, and which fence would have forbidden it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/core/memory/locations.hpp"
#include "vgpu/core/memory/strong_access.hpp"

namespace scanlab::vgpu {

/// A read that has returned an old value, or several by the same lines.
struct StaleAccess {
  StrongOperation read, returned, newer;
  std::uint32_t bytes = 0;
  Address address = 0;
  /// The pair that makes it a mistake: the reader had read `flag`, a write that the thread of `newer` made after it.
  bool has_flag = false;
  StrongOperation flag, flag_read;
  enum class Missing : std::uint8_t {
    unknown,
    release,       ///< between the two writes
    acquire,       ///< between the two reads
    both,          ///< at both places
    device_scope,  ///< what orders them has the scope of a block
  } missing = Missing::unknown;
  std::uint64_t count = 1;
};

/// The stale reads of a launch, and what each thread had read before them.
class StaleAccesses {
 public:
  StaleAccesses(const Locations& locations, std::uint64_t threads_of_block)
      : locations_(locations), threads_of_block_(threads_of_block) {}

  void begin_block(std::uint32_t slot);
  void fence(const Actor& actor, unsigned lane) { ++history(actor, lane).fences; }
  /// The read `by` of this lane has returned a write.
  void read(const Actor& actor, unsigned lane, const StrongOperation& by, KnownWrite returned);
  /// The same, before that: it is going to return an old value.
  void stale_read(const StrongAccess& access, const StrongOperation& by, KnownWrite returned);
  /// The launch has ended.
  void forget_threads() { histories_.clear(); }

  /// Those of the same lines are counted together. There are at most `most` of them.
  const std::vector<StaleAccess>& all() const { return all_; }

 private:
  static constexpr std::size_t most = 64, most_seen = 8;

  /// Writes of other threads that a thread has read last, the newest last.
  struct History {
    struct Seen {
      StrongOperation write, read;
      std::uint32_t location = 0, index = 0, fences = 0;
    };
    std::vector<Seen> seen;
    std::uint32_t fences = 0;
  };
  History& history(const Actor& actor, unsigned lane) { return histories_[actor.slot][actor.warp * warp_size + lane]; }
  StaleAccess::Missing missing(const History& history, const History::Seen& seen, std::uint64_t reader_block,
                               std::uint32_t location, const LocationWrite& newer) const;

  const Locations& locations_;
  const std::uint64_t threads_of_block_;
  std::vector<std::vector<History>> histories_;  ///< by slot and thread
  std::vector<StaleAccess> all_;
};

}  // namespace scanlab::vgpu
