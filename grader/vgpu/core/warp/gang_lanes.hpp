// What computes lane by lane, for all warps of a gang.
#pragma once

#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {

/// The lanes behind `ref` of warp `k`; aligned to 64 bytes.
template <class T>
inline T* lanes_at(Gang& g, unsigned k, OperandRef ref) {
  return std::assume_aligned<64>(reinterpret_cast<T*>(g.registers[k] + ref));
}

/// lanewise (lanes.hpp) for every warp with active lanes.
template <class Op, class D, class... S>
const Step* lanewise_in_gang(Gang& g, const Step* s) {
  const Inst* const i = s->inst;
  if (s->is_addition) report_additions(g);
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    for_each_warp(g, [&](unsigned k) {
      const Mask active = g.active[k];
      if (active == full_mask) [[likely]]
        detail::compute_all<Op>(lanes_at<D>(g, k, i->op[0]), static_cast<const S*>(lanes_at<S>(g, k, i->op[n + 1]))...);
      else if (active)
        detail::compute_active<Op>(lanes_at<D>(g, k, i->op[0]), active,
                                   static_cast<const S*>(lanes_at<S>(g, k, i->op[n + 1]))...);
    });
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

/// The same where all operands are uniform pairs: each warp computes one value. What the result may have grown by is
/// cleared elsewhere (clear_growth).
template <class Op, class D, class... S>
const Step* uniform_in_gang(Gang& g, const Step* s) {
  if (s->is_addition) report_additions(g);
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    // The lowest bytes of a value are its lane.
    const std::uint64_t* const from[] = {g.column(s->inst->op[n + 1]).value...};
    std::uint64_t* const to = g.column(s->inst->op[0]).value;
    for_each_warp(g, [&](unsigned k) {
      const D result = Op{}(lane_of<S>(from[n][k])...);
      to[k] = value_of_lane(result);
    });
  }
  (std::index_sequence_for<S...>{});
  return s + 1;
}

}  // namespace scanlab::vgpu
