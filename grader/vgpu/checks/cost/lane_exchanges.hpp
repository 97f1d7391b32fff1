// Values that lanes of one warp exchange by strong accesses to global memory, where nothing orders the lanes.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Lanes of a warp that stand at different instructions go on in any order, of which the virtual GPU takes one. That is
/// seen where a lane reads by a strong access what another one changes by one, and no barrier and no bar.warp.sync
/// comes between the two. Only whole warps and blocks count there: part of a warp may have been ordered, too.
///
/// Lanes of one instruction are not compared (orders_lanes), nor atomics that return nothing: their order is not seen.
class LaneExchanges {
 public:
  enum class Effect : std::uint8_t { reads, writes };

  /// A strong load or store. Returns whether it exchanges a value with another lane.
  bool access(const Access& a, Effect effect) {
    return touch(a, a.mask, effect == Effect::reads ? Touch{.reads = true} : Touch{.writes = true});
  }
  /// The same of an atomic.
  bool atomic(const Access& a) {
    const Mask changing = lanes_that_change(a);
    const bool returns = a.inst != nullptr && form_of(a.inst).has_result;
    const bool idle = touch(a, a.mask & ~changing, {.reads = true});
    return touch(a, changing, {.reads = returns, .counts = true}) || idle;
  }
  void meet(const Actor& actor, Mask lanes) {
    if (lanes == full_mask) warps_.erase({actor.block, actor.warp});
  }
  /// All threads of the block have met, or it has ended.
  void end(std::uint64_t block) { warps_.erase(warps_.lower_bound({block, 0}), warps_.lower_bound({block + 1, 0})); }

 private:
  struct Touch {
    bool reads = false, writes = false, counts = false;
  };
  struct Lanes {
    Mask reading = 0, writing = 0, counting = 0;
  };

  bool touch(const Access& a, Mask lanes, Touch how) {
    if (!lanes) return false;
    bool exchanges = false;
    auto& words = warps_[{a.actor.block, a.actor.warp}];
    const auto each = [&](auto act) {
      for (const unsigned lane : lanes_in(lanes))
        for (std::uint64_t at = a.at(lane) / 4 * 4; at < a.at(lane) + a.bytes; at += 4) act(words[at], Mask{1} << lane);
    };
    each([&](const Lanes& word, Mask own) {
      const Mask met = (how.reads ? word.writing | word.counting : 0) | (how.writes ? ~Mask{0} : 0) |
                       (how.counts ? word.reading | word.writing : 0);
      exchanges |= (met & (word.reading | word.writing | word.counting) & ~own) != 0;
    });
    each([&](Lanes& word, Mask own) {
      if (how.reads) word.reading |= own;
      if (how.writes) word.writing |= own;
      if (how.counts) word.counting |= own;
    });
    return exchanges;
  }

  /// By block and warp: by word of memory.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::unordered_map<std::uint64_t, Lanes>> warps_;
};

}  // namespace scanlab::vgpu
