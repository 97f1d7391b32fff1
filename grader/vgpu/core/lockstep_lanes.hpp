// What computes lane by lane, for all warps of a block in lockstep.
#pragma once

#include "vgpu/core/lanes.hpp"
#include "vgpu/core/lockstep.hpp"

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
  if (s->is_addition) tell_additions(l);
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

}  // namespace scanlab::vgpu
