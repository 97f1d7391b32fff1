// PTX's causality order: what each thread of a launch knows of the others, and how barriers, the synchronisation of
// warps, shared memory and fences pass it on. Strong accesses to global memory pass it on as well; views.hpp has those.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/core/memory/instant.hpp"
#include "vgpu/core/memory/known_writes.hpp"
#include "vgpu/core/memory/thread_view.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class Causality {
 public:
  enum class Fence : std::uint8_t { acquire_release, sequential };

  /// `ranks` compares the writes that threads know of. It has to outlive this.
  Causality(const WriteRanks& ranks, std::uint64_t threads_of_block)
      : ranks_(ranks), threads_of_block_(threads_of_block), locations_(threads_of_block) {}

  /// From now on threads also know of instants: what others had done before they passed on what they knew.
  void follow_instants() { follows_instants_ = true; }
  /// From now on it is known what each fence.sc has learnt by their order alone: time that grows with their square.
  void follow_fences() { follows_fences_ = true; }
  /// Of the last one, by number: those of other threads before it that have passed on something which its thread did
  /// not know by any other way.
  const std::vector<std::uint32_t>& fences_heard() const { return fences_heard_; }
  /// The instant of what the warp does now.
  Instant now(const Actor& actor);
  /// Of the lanes that did something at `then`: those for which it has not happened before what `lane` does now. The
  /// lanes of one warp count as ordered.
  Mask unordered(const Instant& then, Mask lanes, const Actor& actor, unsigned lane) const;
  /// The same, if the lane had a fence now.
  Mask unordered_behind_fence(const Instant& then, Mask lanes, const Actor& actor, unsigned lane) const;

  ThreadView& thread(const Actor& actor, unsigned lane) {
    return blocks_[actor.slot]->threads[actor.warp * warp_size + lane];
  }
  const ThreadView& thread(const Actor& actor, unsigned lane) const {
    return blocks_[actor.slot]->threads[actor.warp * warp_size + lane];
  }
  /// The same, of a thread that is about to learn of a write. What no thread of a block knows is not passed on there.
  ThreadView& learning_thread(const Actor& actor, unsigned lane) {
    blocks_[actor.slot]->knows_any = true;
    return thread(actor, lane);
  }

  /// The first part of a release: `view`, which is that of the lane or a copy, includes what the lane has done.
  void publish(ThreadView& view, const Actor& actor, unsigned lane);
  void fence(const Actor& actor, unsigned lane, Reach reach, Fence kind);
  /// A strong access to shared memory passes on all that its thread knows: nothing there is ever stale.
  void access_shared(const Access& access, bool reads, bool writes);

  void begin_block(std::uint64_t block, std::uint32_t slot);
  void arrive(const Actor& actor, Mask mask, std::uint32_t barrier, Observer::Arrival arrival);
  void complete(const Actor& actor, std::uint32_t barrier, Observer::Meeting meeting);
  void sync_warp(const Actor& actor, Mask mask);
  /// The launch has ended.
  void forget_threads() { blocks_.clear(); }

 private:
  struct Block {
    std::uint64_t number = 0;
    std::vector<ThreadView> threads;
    bool knows_any = false;    ///< whether one of its threads knows of a write or an instant
    KnownWrites shared;        ///< what strong accesses to shared memory have passed on
    std::uint32_t passed = 0;  ///< how often they have
    struct Barrier {
      KnownWrites known;
      std::vector<std::pair<std::uint32_t, Mask>> waiting;  ///< warps and lanes
      struct Arrived {
        std::uint32_t warp = 0, stamp = 0;
        Mask lanes = 0;
      };
      std::vector<Arrived> arrived;  ///< empty unless instants are followed
    };
    std::array<Barrier, 16> barriers;
    std::uint32_t interval = 1;
    struct Warp {
      std::uint32_t stamp = 1;
      std::uint32_t met = 0;   ///< when all its lanes met last: each knows what the others had done until then
      bool has_acted = false;  ///< whether it has done anything since it got its stamp
    };
    std::vector<Warp> warps;
    /// The stamp of what the warp has done until now. What it does next gets another.
    std::uint32_t stamp_out(std::uint32_t warp) {
      Warp& w = warps[warp];
      return std::exchange(w.has_acted, false) ? w.stamp++ : w.stamp - 1;
    }
  };

  /// A fence.sc of a launch, and what its thread knew before it.
  struct SequentialFence {
    std::uint64_t block = 0;
    Reach reach = Reach::block;
    KnownWrites known;
  };
  void hear_fences(const SequentialFence& fence);
  void publish_arrivals(Block& block, Block::Barrier& barrier);
  Mask unknown(const KnownWrites& known, const Instant& then, Mask lanes) const;

  const WriteRanks& ranks_;
  const std::uint64_t threads_of_block_;
  const InstantLocations locations_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< by slot
  KnownWrites sequential_;  ///< what the fence.sc so far with the scope of the device have passed on
  std::unordered_map<std::uint64_t, KnownWrites> sequential_of_block_;
  bool follows_instants_ = false;
  bool follows_fences_ = false;
  std::vector<SequentialFence> fences_;  ///< by number; none unless they are followed
  std::vector<std::uint32_t> fences_heard_;
};

}  // namespace scanlab::vgpu
