// Addresses of one memory instruction: computed for all lanes, checked once, translated to host memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {

using ptx::StateSpace;

/// How an instruction names its address: op[7] is the register, imm the byte offset.
enum class AddressWidth : std::uint8_t { bits32, bits64 };

struct Addresses {
  alignas(64) std::uint64_t of[warp_size];
};

/// What such a register holds.
template <AddressWidth Width>
using AddressOf = std::conditional_t<Width == AddressWidth::bits32, std::uint32_t, std::uint64_t>;

/// of[l] = register + imm for every lane (also inactive ones), as the width of the register has it.
template <AddressWidth Width>
inline void gather(Warp& w, const Inst* i, Addresses& a) {
  const AddressOf<Width>* const r = w.lanes<AddressOf<Width>>(i->op[7]);
  const auto offset = static_cast<AddressOf<Width>>(i->imm);
#pragma GCC ivdep
  for (unsigned l = 0; l < warp_size; ++l) a.of[l] = r[l] + offset;
}

/// Throws the fault for lane `lane` of an access that is out of bounds or misaligned.
[[noreturn]] void raise_bad_access(Warp& w, StateSpace space, AccessKind kind, unsigned lane, std::uint64_t address,
                                   std::uint32_t bytes);

/// Checks one address of `space`; throws when it is not valid. Returns the host address of that byte, and in `hit` the
/// array in which it lies, if that is shared or global.
std::byte* check_lane(Warp& w, StateSpace space, AccessKind kind, unsigned lane, std::uint64_t address,
                      std::uint32_t bytes, Range* hit = nullptr);

/// Space of a generic address, and the address within it.
struct Resolved {
  StateSpace space;
  std::uint64_t address;
};
inline Resolved resolve(std::uint64_t generic) {
  switch (generic >> 40) {
    case shared_window >> 40:
      return {StateSpace::shared, generic - shared_window};
    case local_window >> 40:
      return {StateSpace::local, generic - local_window};
    case param_window >> 40:
      return {StateSpace::param, generic - param_window};
    default:
      return {StateSpace::global, generic};
  }
}

/// Where addresses of global, constant or shared space count from, as a block sees them.
inline HostBase host_base_of(const Block& block, StateSpace space) {
  if (space == StateSpace::shared) return {reinterpret_cast<std::uintptr_t>(block.shared.data())};
  return block.grid->memory->host_base();
}

/// Host memory at a warp's addresses in global, constant or shared space: that of lane l is `at(of[l])`. All active
/// lanes have been checked. `consecutive`: all 32 lanes are active and lie side by side.
struct View {
  HostBase base;
  bool consecutive = false;
  std::byte* at(std::uint64_t address) const { return base + address; }
};
View view(Warp& w, const Inst* i, StateSpace space, AccessKind kind, const Addresses& a, std::uint32_t bytes);

/// True when the addresses of all 32 lanes lie side by side, `bytes` apart; `first` is then lane 0's.
template <AddressWidth Width>
inline bool is_consecutive(Warp& w, const Inst* i, std::uint32_t bytes, std::uint64_t& first) {
  const AddressOf<Width>* const r = w.lanes<AddressOf<Width>>(i->op[7]);
  AddressOf<Width> different = 0;
#pragma GCC ivdep
  for (AddressOf<Width> l = 0; l < warp_size; ++l) different |= r[l] ^ (r[0] + l * bytes);
  first = r[0] + static_cast<AddressOf<Width>>(i->imm);
  return different == 0;
}

/// The range that a memory instruction remembers: op[6] is its number.
inline Range& range_of(Warp& w, const Inst* i) {
  return w.ranges[i->op[6]];
}

/// Host memory of `bytes` from `first` on, when all lie in the array that `i` has hit last; otherwise null, and `view`
/// or `check_lane` finds out more.
template <StateSpace Space>
inline std::byte* reach(Warp& w, const Inst* i, std::uint64_t first, std::uint64_t bytes) {
  const Range& range = range_of(w, i);
  const std::uint64_t into = first - range.begin;
  if (into > range.bytes || range.bytes - into < bytes) return nullptr;
  return host_base_of(*w.block, Space) + first;
}
/// The same for 32 elements of `bytes` each, aligned.
template <StateSpace Space>
inline std::byte* row(Warp& w, const Inst* i, std::uint64_t first, std::uint32_t bytes) {
  return first % bytes ? nullptr : reach<Space>(w, i, first, std::uint64_t{warp_size} * bytes);
}

/// Local memory of lane `lane` at `address`, which has been checked.
inline std::byte* local_host(Warp& w, unsigned lane, std::uint64_t address) {
  return w.local.data() + lane * w.local_stride + address;
}

/// Makes room for `bytes` of local memory per lane; what is there stays.
void grow_local(Warp& w, std::uint64_t bytes);

}  // namespace scanlab::vgpu
