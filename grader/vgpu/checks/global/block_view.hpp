// One block as the check of global memory sees it: what orders its threads, and what each of them knows of other
// blocks.
//
// Within the block the rules are those for shared memory (block_sync.hpp). Between blocks, the PTX memory model has it
// that what a thread has done, and all that has happened before that, becomes visible to others by a fence with the
// scope of the device (or a release), and a store or an atomic after it that another thread sees. It is the same
// whether the thread that fences is the one that stores: a fence, a barrier of the block, and then a store by another
// thread will do, as will writes of all threads, a barrier, and a fence of one. Any thread that sees the store knows.
// That the reader needs a fence too is PTX's rule, but much correct code has none there: that is only kept apart
// (`settled`).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/checks/block_sync.hpp"
#include "vgpu/checks/global/grid_clock.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class BlockView {
 public:
  /// What a thread knows of other blocks, and what of its own block it has made visible to them.
  struct Knowledge {
    GridClock known;
    GridClock settled;  ///< as much of it as has a fence on the reader's side too

    /// `previous` was added before, or is null: what a lane knows is mostly what the lane before it knows.
    void add(const Knowledge& other, const Knowledge* previous) {
      if (!previous || !other.known.is_same(previous->known)) known.add(other.known);
      if (!previous || !other.settled.is_same(previous->settled)) settled.add(other.settled);
    }
  };

  /// `levels`: of the clocks of this launch.
  void begin(std::uint64_t block, unsigned threads, unsigned levels);

  std::uint64_t block() const { return block_; }
  const BlockClocks& clocks() const { return sync_.clocks(); }
  Moment now(unsigned warp) const { return moment(interval_, clocks().now(warp)); }
  const Knowledge& knowledge_of(unsigned thread) const {
    if (!is_apart_) return common_;
    const auto& own = own_[thread / warp_size];
    return own ? (*own)[thread % warp_size] : common_;
  }
  /// Do threads know different things of other blocks?
  bool is_apart() const { return is_apart_; }
  bool has_block_fence(unsigned warp, Mask lanes) const { return (block_fenced_[warp] & lanes) == lanes; }

  /// Of accesses of `lanes` of a warp of any block: those that do not happen before what `thread` does now.
  Mask unordered(std::uint64_t block, std::uint32_t warp, Mask lanes, Moment when, unsigned thread) const;

  void fence(unsigned warp, Mask lanes, Access::Scope scope);
  void arrive(unsigned warp, Mask lanes, std::uint32_t id, Observer::Arrival how) {
    sync_.arrive(warp, lanes, id, how);
  }
  void complete(std::uint32_t id, Observer::Meeting meeting);
  void meet(unsigned warp, Mask lanes);
  /// In shared or global memory: what it orders within the block.
  void strong_access(const Access& access, BlockSync::Effect effect);

  /// A release by these lanes comes: what they have done becomes visible with it.
  void publish(unsigned warp, Mask lanes);
  /// `thread` has seen a store whose thread had made `clock` visible.
  void acquire(unsigned thread, const GridClock& clock);
  /// A fence on the reader's side: what these lanes know is settled.
  void settle(unsigned warp, Mask lanes);
  /// `thread` has seen a store of another block, whether or not anything was made visible before it.
  void see(unsigned thread, std::uint64_t block, const SeenFlag& flag);
  /// True when the thread has seen this store already, by its order among all; it has from now on.
  bool has_seen(unsigned thread, std::uint64_t order);

 private:
  using OfWarp = std::array<Knowledge, warp_size>;

  OfWarp& own(unsigned warp);
  /// From now on all threads know whatever one of them knows.
  void unite();
  OfBlock own_knowledge(unsigned warp, Mask lanes) const;

  std::uint64_t block_ = 0;
  unsigned levels_ = 0;
  std::uint32_t interval_ = 1;  ///< grows at each barrier of the whole block
  BlockSync sync_;
  Knowledge common_;
  bool is_apart_ = false;
  std::vector<std::unique_ptr<OfWarp>> own_;  ///< of each warp whose lanes know something else; empty ones: they do not
  std::vector<Mask> block_fenced_;            ///< of each warp the lanes that have executed a fence for the block only
  std::vector<std::uint64_t> seen_;           ///< of each thread
};

}  // namespace scanlab::vgpu
