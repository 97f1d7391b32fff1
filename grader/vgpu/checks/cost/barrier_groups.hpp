// Which threads meet at barriers that wait for a number of them, not for all of a block: bar.sync with a count.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Where more threads come to such a barrier than it waits for, their order decides who meets whom. That is seen where
/// not the same meet as the first time, or some are left who meet nobody; it is taken for an order of theirs, also
/// where something else has ordered them.
class BarrierGroups {
 public:
  /// By an actor's lanes, at barrier `id` of its block.
  void arrive(const Actor& actor, Mask mask, std::uint32_t id) { arrive_at(barriers_[{actor.block, id}], actor, mask); }

  /// The barrier completes: have others met than the first time?
  bool has_others(const Actor& actor, std::uint32_t id) { return meets_others(barriers_[{actor.block, id}]); }

  /// The block ends. Who has come last to a barrier at which others have met than those who are left there.
  std::optional<Actor> end(std::uint64_t block) {
    std::optional<Actor> left;
    const auto first = barriers_.lower_bound({block, 0}), last = barriers_.lower_bound({block + 1, 0});
    for (auto at = first; at != last; ++at)
      if (const Barrier& b = at->second; !b.now.empty() && !b.first.empty() && b.now != b.first) left = b.last;
    barriers_.erase(first, last);
    return left;
  }

 private:
  using Group = std::map<std::uint32_t, std::pair<Mask, unsigned>>;  ///< by warp: which lanes, and how many in all
  struct Barrier {
    Group first, now;
    Actor last;
  };

  static void arrive_at(Barrier& barrier, const Actor& actor, Mask mask) {
    auto& [lanes, count] = barrier.now[actor.warp];
    lanes |= mask;
    count += static_cast<unsigned>(std::popcount(mask));
    barrier.last = actor;
  }
  static bool meets_others(Barrier& barrier) {
    Group met;
    std::swap(met, barrier.now);
    if (barrier.first.empty()) barrier.first = met;
    return met != barrier.first;
  }

  std::map<std::pair<std::uint64_t, std::uint32_t>, Barrier> barriers_;
};

}  // namespace scanlab::vgpu
