// Values that lanes of one warp exchange by strong accesses to global memory, where nothing orders the lanes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Lanes of a warp that stand at different instructions go on in any order, of which the virtual GPU takes one. That is
/// seen where a lane reads by a strong access what another one changes by one, and no barrier and no bar.warp.sync
/// comes between the two. Only whole warps and blocks count there: part of a warp may have been ordered, too.
///
/// Lanes of one instruction are not compared (orders_lanes), nor atomics whose results nobody uses, if they commute.
class LaneExchanges {
 public:
  enum class Effect : std::uint8_t { reads, writes };

  /// A strong load or store. Returns whether it exchanges a value with another lane.
  bool access(const Access& a, Effect effect) {
    return touch(a, a.mask, effect == Effect::reads ? Touch{.reads = true} : Touch{.changes = true});
  }
  /// The same of an atomic.
  bool atomic(const Access& a) {
    const Mask changing = lanes_that_change(a);
    const bool is_used = a.inst != nullptr && form_of(a.inst).is_used;
    const bool idle = touch(a, a.mask & ~changing, {.reads = true});
    const unsigned operation = commutes(a) ? form_of(a.inst).atomic : 0;
    return touch(a, changing, {.reads = is_used, .changes = true, .operation = operation}) || idle;
  }
  void meet(const Actor& actor, Mask lanes) {
    if (lanes == full_mask) warps_.erase({actor.block, actor.warp});
  }
  /// All threads of the block have met, or it has ended.
  void end(std::uint64_t block) { warps_.erase(warps_.lower_bound({block, 0}), warps_.lower_bound({block + 1, 0})); }

 private:
  struct Touch {
    bool reads = false, changes = false;
    unsigned operation = 0;  ///< of an atomic that commutes with its like

    /// Does an order of the two show?
    bool meets(Touch other) const {
      return (changes && other.reads) || (reads && other.changes) ||
             (changes && other.changes && (operation == 0 || operation != other.operation));
    }
    bool operator==(const Touch&) const = default;
  };
  struct Kept {
    Touch how;
    Mask lanes = 0;
    std::uint32_t bytes = 0;
    Extent extent;
    std::array<std::uint64_t, warp_size> address{};
  };

  bool touch(const Access& a, Mask lanes, Touch how) {
    if (!lanes) return false;
    Kept now{.how = how, .lanes = lanes, .bytes = a.bytes, .extent = extent_of({a, 1, 0})};
    for (const unsigned l : lanes_in(lanes)) now.address[l] = a.at(l);
    std::vector<Kept>& kept = warps_[{a.actor.block, a.actor.warp}];
    bool exchanges = false, is_known = false;
    for (const Kept& then : kept) {
      if (then.extent.begin >= now.extent.end || now.extent.begin >= then.extent.end) continue;
      is_known |= then.how == how && then.lanes == lanes && then.bytes == now.bytes && then.address == now.address;
      exchanges |= how.meets(then.how) && do_overlap(now, then);
    }
    if (!is_known) kept.push_back(now);
    return exchanges;
  }

  /// Two lanes, not one and the same.
  static bool do_overlap(const Kept& a, const Kept& b) {
    for (const unsigned lane : lanes_in(a.lanes))
      for (const unsigned other : lanes_in(b.lanes & ~(Mask{1} << lane)))
        if (a.address[lane] < b.address[other] + b.bytes && b.address[other] < a.address[lane] + a.bytes) return true;
    return false;
  }

  /// By block and warp: what they have accessed, each once.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<Kept>> warps_;
};

}  // namespace scanlab::vgpu
