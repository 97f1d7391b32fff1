// What computes lane by lane, for all warps of a block in lockstep.
#pragma once

#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/lockstep.hpp"

namespace scanlab::vgpu {

/// The lanes behind `ref` of warp `k`; aligned to 64 bytes.
template <class T>
inline T* lanes_at(Lockstep& l, unsigned k, OperandRef ref) {
  return std::assume_aligned<64>(reinterpret_cast<T*>(l.registers[k] + ref));
}

/// lanewise (lanes.hpp) for every warp with active lanes.
template <class Op, class D, class... S>
const Step* lanewise_in_lockstep(Lockstep& l, const Step* s) {
  const Inst* const i = s->inst;
  if (s->is_addition) report_additions(l);
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    for (unsigned k = 0; k < l.count; ++k) {
      const Mask active = l.active[k];
      if (active == full_mask) [[likely]]
        detail::compute_all<Op>(lanes_at<D>(l, k, i->op[0]), static_cast<const S*>(lanes_at<S>(l, k, i->op[n + 1]))...);
      else if (active)
        detail::compute_active<Op>(lanes_at<D>(l, k, i->op[0]), active,
                                   static_cast<const S*>(lanes_at<S>(l, k, i->op[n + 1]))...);
    }
  }
  (std::index_sequence_for<S...>{});
  return s + 1;
}

template <class T>
inline T lane_of(std::uint64_t value) {
  T lane;
  std::memcpy(&lane, &value, sizeof lane);
  return lane;
}
template <class T>
inline std::uint64_t value_of_lane(T lane) {
  std::uint64_t value = 0;
  std::memcpy(&value, &lane, sizeof lane);
  return value;
}

/// first_lane (lanes.hpp) for every warp: all operands are columns. What the result may have grown by is cleared
/// elsewhere (clear_growth).
template <class Op, class D, class... S>
const Step* first_lane_in_lockstep(Lockstep& l, const Step* s) {
  if (s->is_addition) report_additions(l);
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    // The lowest bytes of a value are its lane.
    const std::uint64_t* const from[] = {l.column(s->column[n + 1]).value...};
    Column& to = l.column(s->column[0]);
    for (unsigned k = 0; k < l.count; ++k) {
      const D result = Op{}(lane_of<S>(from[n][k])...);
      to.value[k] = value_of_lane(result);
    }
  }
  (std::index_sequence_for<S...>{});
  return s + 1;
}

}  // namespace scanlab::vgpu
