// Which threads meet at barriers that wait for a number of them, not for all of a block.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Where more threads come to such a barrier than it waits for, their order decides who meets whom. That is seen where
/// others meet than before; it is taken for an order of theirs, also where something else has ordered them.
class BarrierGroups {
 public:
  void arrive(const Actor& actor, Mask mask, std::uint32_t id) { barriers_[{actor.block, id}].now[actor.warp] |= mask; }

  /// The barrier completes: have others met than the first time?
  bool has_others(const Actor& actor, std::uint32_t id) {
    Barrier& barrier = barriers_[{actor.block, id}];
    Group met;
    std::swap(met, barrier.now);
    if (barrier.first.empty()) barrier.first = met;
    return met != barrier.first;
  }

  void end(std::uint64_t block) {
    barriers_.erase(barriers_.lower_bound({block, 0}), barriers_.lower_bound({block + 1, 0}));
  }

 private:
  using Group = std::map<std::uint32_t, Mask>;  ///< lanes, by warp
  struct Barrier {
    Group first, now;
  };
  std::map<std::pair<std::uint64_t, std::uint32_t>, Barrier> barriers_;
};

}  // namespace scanlab::vgpu
