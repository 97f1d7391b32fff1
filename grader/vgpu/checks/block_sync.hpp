// What orders the accesses of a block's threads, after the PTX memory model ("Memory Consistency Model" of the PTX
// ISA), passed on to the clocks:
// - A barrier of the whole block, which begins an interval. Threads that have exited count as having arrived, as they
//   are not waited for.
// - A barrier of some threads (bar.sync and bar.arrive with a count): a thread that waits knows what all did before
//   they arrived.
// - bar.warp.sync, among the lanes of its membermask. Shuffles, votes and their like promise no order of memory; but
//   they do make lanes wait for each other, working code relies on that, and no GPU is known to let it down. So they
//   count as well, and what only they order is no race here.
// - A release that another thread has seen: an atomic or a store with such an order, or a relaxed or volatile one
//   behind a fence. A scope of a block is the least there is, so every scope will do. PTX wants an acquire, or a fence,
//   of the thread that sees it too; but locks and flags without one are common, and work in shared memory, which has no
//   caches to be stale. So to see it with an atomic, or a load that is relaxed or volatile, is enough here.
// - The arrivals at an mbarrier, for threads that have seen the phase complete.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "vgpu/checks/block_clocks.hpp"
#include "vgpu/checks/flag_trail.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class BlockSync {
 public:
  void begin_block(unsigned threads);
  /// Nothing that came before matters any more.
  void begin_interval() {
    if (!clocks_.is_even() || in_use_ || !released_.empty() || !phases_.empty() || !fenced_.empty() ||
        !flags_.is_empty())
      forget_interval();
  }

  const BlockClocks& clocks() const { return clocks_; }
  void meet(unsigned warp, Mask lanes) { clocks_.meet(warp, lanes); }
  void fence(unsigned warp, Mask lanes);
  /// At a barrier with a count.
  void arrive(unsigned warp, Mask lanes, std::uint32_t id, Observer::Arrival how);
  /// True when all threads of the block have met at it.
  bool complete(std::uint32_t id, Observer::Meeting meeting) {
    return in_use_ >> id & 1 ? complete_counted(id, meeting) : meeting == Observer::Meeting::all;
  }

  enum class Effect : std::uint8_t { reads, writes, updates };
  /// A load, a store or an atomic that is more than weak, in shared or global memory.
  void strong_access(const Access& access, Effect effect);
  /// What `thread` has seen of the other's flags since the threads last met; null: nothing. It orders nothing.
  const FlagTrail::Seen* flag_seen(unsigned thread, unsigned other) const { return flags_.seen(thread, other); }
  /// At an mbarrier: an arrival (release) or a phase seen complete (acquire). False where an arrival counts for a phase
  /// of which its thread does not know that the one before is complete: in another order of threads it would have
  /// counted for that one.
  bool mbarrier(const Access& access);

 private:
  using Row = BlockClocks::Row;
  struct Counted {
    Row released;
    std::vector<Mask> waiting;  ///< lanes of each warp
  };
  /// What the arrivals at an mbarrier have made known, until the end of a phase.
  struct Phases {
    std::uint64_t first = 0, phase = 0;  ///< of the interval, and now
    Row released;
    std::deque<std::pair<std::uint64_t, Row>> complete;
  };

  void forget_interval();
  void note_flag(const Access& access, Effect effect);
  bool complete_counted(std::uint32_t id, Observer::Meeting meeting);
  bool arrive_at_mbarrier(const Access& access);
  /// What the arrivals up to the end of this phase have made known; null: nothing of this interval.
  const Row* completed(std::uint64_t location, std::uint64_t phase) const;

  BlockClocks clocks_;
  FlagTrail flags_;
  Counted counted_[16];
  std::uint32_t in_use_ = 0;                          ///< a bit for each of them at which lanes have arrived
  std::unordered_map<std::uint64_t, Row> released_;   ///< by location
  std::unordered_map<std::uint64_t, Phases> phases_;  ///< by address
  std::unordered_map<unsigned, Row> fenced_;          ///< by thread: what it knew at its last fence
};

}  // namespace scanlab::vgpu
