// Plain reads that race with another thread's atomic, until it is known what they were for.
//
// A loop around a compare-and-swap usually begins with a plain read: `old = *p; do { … } while ((… = atomicCAS(p, old,
// …)) != old)`. By the PTX memory model that read races with the atomics of other threads, but whatever it finds is
// only a guess, which the compare-and-swap checks. So it is forgiven when the next atomic of its thread on that word is
// a compare-and-swap that expects the value that was read. A read of which anything else is made is a race like any
// other: one that is followed by another atomic, by another read of the word, or by none until the block ends. With one
// exception: a loop may not begin at all when the guess will do (`while (old < mine) …`, for a maximum); so a thread
// that does nothing more is forgiven too, where that line has made guesses for others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "vgpu/checks/footprint.hpp"
#include "vgpu/core/memory/stored.hpp"

namespace scanlab::vgpu {

/// A plain read of (part of) a word by lanes of a warp.
struct PlainRead {
  std::uint64_t block = 0;
  std::uint32_t warp = 0;
  Mask lanes = 0;
  std::uint64_t word = 0;   ///< its address
  std::uint64_t order = 0;  ///< among all accesses; 0: whichever was the last
  std::uint32_t value = 0;  ///< of the word
};

/// What a plain read was for, if it was no guess.
enum class ReadUse : std::uint8_t {
  look,     ///< an atomic of its thread comes after it, and does not check what was read
  poll,     ///< its thread reads the word again
  unknown,  ///< its thread does nothing to the word any more
};

/// Gets what a check of races finds: two accesses that race, `Conflict::earlier` and `Conflict::later`, and the
/// `Conflict::use` of a plain read beside an atomic.
template <class Conflict>
class ConflictSink {
 public:
  virtual ~ConflictSink() = default;
  virtual void conflict(const Conflict&) = 0;
  /// What a thread has read by that line was only a guess, which a compare-and-swap has checked.
  virtual void guessed(std::uint32_t line) = 0;
  /// An arrival at an mbarrier, by that line, that nothing orders behind the end of the phase before.
  virtual void unordered_arrival(std::uint32_t /*line*/) {}
};

template <class Conflict>
class OpenReads {
 public:
  explicit OpenReads(ConflictSink<Conflict>& sink) : sink_(sink) {}

  bool is_empty() const { return reads_.empty(); }
  void clear() { reads_.clear(); }

  /// `read` races with an atomic. Reports those that it shows to be no guess: earlier reads of the same word by the
  /// same lanes.
  void add(const PlainRead& read, const Conflict& conflict) {
    std::vector<Open>& open = reads_[{read.block, read.warp, read.word}];
    PlainRead added = read;
    bool is_there = false;
    std::erase_if(open, [&](const Open& other) {
      if (!(other.read.lanes & read.lanes)) return false;
      if (read.order == 0 || other.read.order == read.order) {
        // The same read, and one more atomic: what was read is known from the first.
        added.value = other.read.value;
        is_there |= (read.lanes & ~other.read.lanes) == 0 && other.conflict.earlier.line == conflict.earlier.line &&
                    other.conflict.later.line == conflict.later.line;
        return false;
      }
      report(with(other.conflict, ReadUse::poll), thread_of(other.read));
      return true;
    });
    if (!is_there) open.push_back({added, conflict});
  }

  /// What the thread's read of the word that is open has found; `now` where none is.
  std::uint32_t value_read(std::uint64_t block, unsigned thread, std::uint64_t word, std::uint32_t now) const {
    if (const auto found = reads_.find({block, thread / warp_size, word}); found != reads_.end())
      for (const Open& open : found->second)
        if (open.read.lanes >> thread % warp_size & 1) return open.read.value;
    return now;
  }

  /// Lanes of a warp apply an atomic to the word: `guessed` of them have read what they expect there.
  void decide(std::uint64_t block, std::uint32_t warp, Mask lanes, Mask guessed, std::uint64_t word) {
    const auto found = reads_.find({block, warp, word});
    if (found == reads_.end()) return;
    std::erase_if(found->second, [&](Open& open) {
      if (const Mask used = open.read.lanes & lanes & ~guessed) {
        open.read.lanes = used;
        report(with(open.conflict, ReadUse::look), thread_of(open.read));
        return true;
      }
      open.read.lanes &= ~lanes;
      return open.read.lanes == 0;
    });
    if (found->second.empty()) reads_.erase(found);
  }

  /// The block has ended, or all blocks have: what is still open was no guess. In the order of the reads, so that it is
  /// the same in every run.
  void end(std::optional<std::uint64_t> block = std::nullopt) {
    std::vector<Open> ended;
    for (auto it = reads_.begin(); it != reads_.end();) {
      std::erase_if(it->second, [&](Open& open) {
        if (block && open.read.block != *block) return false;
        ended.push_back(std::move(open));
        return true;
      });
      it = it->second.empty() ? reads_.erase(it) : std::next(it);
    }
    std::ranges::stable_sort(ended, {}, [](const Open& open) { return open.read.order; });
    for (const Open& open : ended) report(open.conflict, thread_of(open.read));
  }

  /// The plain read of the two is one by `thread`.
  void report(Conflict conflict, unsigned thread) {
    (conflict.earlier.how.is_plain_read() ? conflict.earlier : conflict.later).thread = thread;
    sink_.conflict(conflict);
  }

 private:
  struct Open {
    PlainRead read;
    Conflict conflict;
  };

  static Conflict with(Conflict conflict, ReadUse use) {
    conflict.use = use;
    return conflict;
  }
  static unsigned thread_of(const PlainRead& read) { return read.warp * warp_size + first_lane(read.lanes); }

  ConflictSink<Conflict>& sink_;
  using Place = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;  ///< block, warp, word
  std::map<Place, std::vector<Open>> reads_;
};

/// Is the part of `expected`, the operand of a compare-and-swap of `bytes` at `address`, that lies in the word the same
/// as what was read of it?
inline bool expects(const LaneValue& expected, std::uint64_t address, std::uint32_t bytes, std::uint64_t word,
                    std::uint32_t read) {
  const std::uint64_t begin = std::max(address, word), end = std::min(address + bytes, word + sizeof read);
  return begin < end && std::memcmp(expected.data() + (begin - address),
                                    reinterpret_cast<const std::byte*>(&read) + (begin - word), end - begin) == 0;
}

}  // namespace scanlab::vgpu
