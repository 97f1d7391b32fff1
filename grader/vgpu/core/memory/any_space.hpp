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

/// The addresses of an access in any space, checked.
struct Located {
  std::byte* host[warp_size];  ///< of every active lane
  Addresses a;
  Mask global = 0;  ///< the lanes that access global memory

  /// It looks at memory that others write: see note_poll.
  void note_poll(Warp& w) const {
    vgpu::note_poll(w, global, [&](unsigned l) { return a.of[l]; });
  }
};
template <AddressWidth Width>
inline Located locate(Warp& w, const Inst* i, AccessKind kind, std::uint32_t bytes) {
  Located at;
  w.pc = i;
  gather<Width>(w, i, at.a);
  const auto space = static_cast<StateSpace>(form_of(i).space);
  Mask of_space[8] = {};
  for (const unsigned l : lanes_in(w.active)) {
    const Resolved r = space == StateSpace::generic ? resolve(at.a.of[l]) : Resolved{space, at.a.of[l]};
    at.a.of[l] = r.address;
    at.host[l] = check_lane(w, r.space, kind, l, r.address, bytes);
    of_space[static_cast<unsigned>(r.space)] |= Mask{1} << l;
  }
  at.global = of_space[static_cast<unsigned>(StateSpace::global)];
  if (Claims* const claims = w.block->grid->claims; claims && at.global) {
    const auto address = [&](unsigned l) { return at.a.of[l]; };
    if (kind != AccessKind::write) claims->read_lanes(at.global, bytes, address);
    if (kind != AccessKind::read) claims->write_lanes(at.global, bytes, address);
  }
  if (!is_observed(w)) return at;
  for (unsigned s = 0; s < 8; ++s)
    if (of_space[s]) {
      const Access access = access_of(w, i, static_cast<StateSpace>(s), of_space[s], bytes, at.a.of);
      if (kind == AccessKind::atomic)
        for (Observer* o : w.block->grid->observers) o->atomic(access);
      else
        report(w, access, kind);
    }
  return at;
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

/// The operands of an atomic, and where its results go.
template <class T, T (*compute)(T, T, T)>
class AtomicLanes {
 public:
  AtomicLanes(Warp& w, const Inst* i)
      : warp_(w),
        b_(w.lanes<T>(i->op[1])),
        c_(w.lanes<T>(i->op[2])),
        result_(form_of(i).has_result ? w.lanes<T>(i->op[0]) : nullptr),
        sums_(w.block->grid->floats) {}

  /// What is there after lane l, which finds `old`.
  T now(unsigned l, T old, bool in_shared) {
    if constexpr (std::is_same_v<T, float>) {
      const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
      if (const auto named = sums_.add(l, bits(old), bits(b_[l]))) return std::bit_cast<float>(*named);
      if (in_shared) return atomic_ops::add_f32_shared(old, b_[l]);
    }
    return compute(old, b_[l], c_[l]);
  }
  /// Lane l acts on this memory.
  void act(unsigned l, std::byte* host) {
    T old;
    std::memcpy(&old, host, sizeof(T));
    const T now = this->now(l, old, std::is_same_v<T, float> && lies_in_shared(warp_, host));
    // A failed compare-and-swap or an exchange of equal values changes nothing for threads that wait.
    if (std::memcmp(&old, &now, sizeof(T)) != 0) {
      std::memcpy(host, &now, sizeof(T));
      ++warp_.block->grid->epoch;
    }
    give(l, old);
  }
  void give(unsigned l, T old) {
    if (result_) result_[l] = old;
  }
  void report(const Inst* i) const { sums_.report(warp_, i); }

 private:
  Warp& warp_;
  const T *b_, *c_;
  T* result_;
  FloatSums sums_;
};

}  // namespace scanlab::vgpu
