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
//
// Apart from what is known, each thread has what it would know if every flag had its fences, of the thread that sets it
// and of the one that sees it (`followed`): what is missing from the one and in the other lacks a fence, and no wait.
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
    GridClock settled;   ///< as much of it as has a fence on the reader's side too
    GridClock followed;  ///< what flags lead to, with or without fences; its times are the numbers of accesses
    GridClock waited;    ///< as much of that as does not end at a number that the thread has taken from a counter
    GridClock fenced;    ///< as much of `followed` as has a fence on the reader's side

    /// `previous` was added before, or is null: what a lane knows is mostly what the lane before it knows.
    void add(const Knowledge& other, const Knowledge* previous) {
      if (!previous || !other.known.is_same(previous->known)) known.add(other.known);
      if (!previous || !other.settled.is_same(previous->settled)) settled.add(other.settled);
      if (!previous || !other.followed.is_same(previous->followed)) followed.add(other.followed);
      if (!previous || !other.waited.is_same(previous->waited)) waited.add(other.waited);
      if (!previous || !other.fenced.is_same(previous->fenced)) fenced.add(other.fenced);
    }
    bool is_same(const Knowledge& other) const {
      return known.is_same(other.known) && settled.is_same(other.settled) && followed.is_same(other.followed) &&
             waited.is_same(other.waited) && fenced.is_same(other.fenced);
    }
  };

  /// What a write carries to the threads that see it.
  struct Message {
    GridClock visible;   ///< what its thread has made visible
    GridClock followed;  ///< as of Knowledge
    /// What its thread has followed in its own block: accesses of all threads up to one, those of some lanes of the
    /// warp up to another.
    std::uint64_t barrier = 0, met = 0;
    Mask met_lanes = 0;
    bool after_block_fence = false;

    /// Do both carry the same knowledge?
    bool is_same(const Message& other) const {
      return visible.is_same(other.visible) && followed.is_same(other.followed) && barrier == other.barrier &&
             met == other.met && met_lanes == other.met_lanes && after_block_fence == other.after_block_fence;
    }
  };

  /// `levels`: of the clocks of this launch. `order`: the number of its latest access.
  void begin(std::uint64_t block, unsigned threads, unsigned levels, const std::uint64_t& order);

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
  /// Of a write by these lanes; without `after_block_fence`.
  Message message_of(unsigned warp, Mask lanes) const;
  /// What in this block `thread` has seen of another thread's flags.
  const FlagTrail::Seen* flag_seen(unsigned thread, unsigned other) const { return sync_.flag_seen(thread, other); }

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
  /// `thread` has seen a store of a lane of `warp`, of any block, whether or not anything was made visible before it.
  void follow(unsigned thread, std::uint64_t block, std::uint32_t warp, Mask lanes, const Message& message,
              const SeenFlag& flag);
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
  const std::uint64_t* order_ = nullptr;
  std::uint64_t barrier_ = 0;   ///< the latest access before the last barrier of the whole block
  std::uint32_t interval_ = 1;  ///< grows at each barrier of the whole block
  BlockSync sync_;
  Knowledge common_;
  bool is_apart_ = false;
  std::vector<std::unique_ptr<OfWarp>> own_;  ///< of each warp whose lanes know something else; empty ones: they do not
  std::vector<Mask> block_fenced_;            ///< of each warp the lanes that have executed a fence for the block only
  struct Met {
    Mask lanes = 0;
    std::uint64_t order = 0;  ///< the latest access before
  };
  std::vector<Met> met_;             ///< of each warp the lanes that have last waited for each other
  std::vector<std::uint64_t> seen_;  ///< of each thread
};

}  // namespace scanlab::vgpu
