// Accesses in any space, of any width, lane by lane.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "vgpu/core/memory/atomic_ops.hpp"
#include "vgpu/core/memory/lane_access.hpp"
#include "vgpu/core/warp/float_names.hpp"

namespace scanlab::vgpu {

/// Host address of every active lane in any space, checked; in `global` the lanes that access global memory.
template <AddressWidth Width>
inline void locate(Warp& w, const Inst* i, AccessKind kind, std::uint32_t bytes, std::byte** host, Addresses& a,
                   Mask& global) {
  w.pc = i;
  gather<Width>(w, i, a);
  const auto space = static_cast<StateSpace>(form_of(i).space);
  Mask of_space[8] = {};
  for (Mask m = w.active; m; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    StateSpace s = space;
    if (space == StateSpace::generic) {
      const Resolved r = resolve(a.of[l]);
      s = r.space;
      a.of[l] = r.address;
    }
    host[l] = check_lane(w, s, kind, l, a.of[l], bytes);
    of_space[static_cast<unsigned>(s)] |= Mask{1} << l;
  }
  Claims* const claims = w.block->grid->claims;
  global = of_space[static_cast<unsigned>(StateSpace::global)];
  if (claims && global) {
    const auto at = [&](unsigned l) { return a.of[l]; };
    if (kind != AccessKind::write) claims->read_lanes(global, bytes, at);
    if (kind != AccessKind::read) claims->write_lanes(global, bytes, at);
  }
  if (!is_observed(w)) return;
  for (unsigned s = 0; s < 8; ++s)
    if (of_space[s]) {
      const Access access = access_of(w, i, static_cast<StateSpace>(s), of_space[s], bytes, a.of);
      if (kind == AccessKind::atomic)
        for (Observer* o : w.block->grid->observers) o->atomic(access);
      else
        report(w, access, kind);
    }
}

/// Little-endian, as all CUDA hosts are: the low bytes come first.
inline void copy_in(Warp& w, OperandRef to, unsigned lane, const std::byte* from, const MemoryForm& form) {
  if (form.bytes == 16) return void(std::memcpy(w.lanes<std::byte>(to) + lane * 16, from, 16));
  std::uint64_t value = 0;
  std::memcpy(&value, from, form.bytes);
  value = extend(value, form);
  std::memcpy(w.lanes<std::byte>(to) + lane * form.lane_bytes, &value, form.lane_bytes);
}

inline void copy_out(Warp& w, OperandRef from, unsigned lane, std::byte* to, const MemoryForm& form) {
  std::memcpy(to, w.lanes<std::byte>(from) + lane * form.lane_bytes, form.bytes);
}

inline bool lies_in_shared(const Warp& w, const std::byte* host) {
  const std::vector<std::byte>& shared = w.block->shared;
  return !std::less<>{}(host, shared.data()) && std::less<>{}(host, shared.data() + shared.size());
}

/// What lane `lane` has for an atomic besides the value that is there.
template <class T>
struct AtomicOperands {
  FloatSums& sums;
  unsigned lane = 0;
  T b, c;
  bool in_shared = false;
};

/// What is there afterwards.
template <class T, T (*Op)(T, T, T)>
T result_of_atomic(const AtomicOperands<T>& with, T old) {
  if constexpr (std::is_same_v<T, float>) {
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    if (const auto named = with.sums.add(with.lane, bits(old), bits(with.b))) return std::bit_cast<float>(*named);
    if (with.in_shared) return atomic_ops::add_f32_shared(old, with.b);
  }
  return Op(old, with.b, with.c);
}

}  // namespace scanlab::vgpu
