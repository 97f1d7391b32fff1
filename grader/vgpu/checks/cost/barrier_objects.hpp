// mbarrier objects whose bits other instructions read or write, which PTX leaves open.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Remembers where the blocks of a launch have mbarrier objects. PTX allows no other access to a valid one (PTX ISA,
/// "mbarrier"): what it would give is the virtual GPU's own layout.
class BarrierObjects {
 public:
  /// Whether it has to be given to access().
  bool may_meet(const Access& a) const {
    return a.mbarrier != Access::Mbarrier::none || (!objects_.empty() && a.space == ptx::StateSpace::shared);
  }

  /// Returns whether a lane accesses an object by an instruction that is not for such objects.
  bool access(const Access& a) {
    for (const unsigned lane : lanes_in(a.mask)) {
      const Place place{a.actor.block, a.at(lane)};
      if (a.mbarrier == Access::Mbarrier::uses)
        objects_.insert(place);
      else if (a.mbarrier == Access::Mbarrier::ends)
        objects_.erase(place);
      else if (may_meet(a) && has_object(place, a.bytes))
        return true;
    }
    return false;
  }
  void end(std::uint64_t block) {
    objects_.erase(objects_.lower_bound({block, 0}), objects_.lower_bound({block + 1, 0}));
  }

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< block, address in shared memory
  static constexpr std::uint64_t object_bytes = 8;

  bool has_object(Place place, std::uint64_t bytes) const {
    const auto [block, begin] = place;
    const auto next = objects_.lower_bound({block, begin < object_bytes ? 0 : begin - object_bytes + 1});
    return next != objects_.end() && *next < Place{block, begin + bytes};
  }

  std::set<Place> objects_;
};

}  // namespace scanlab::vgpu
