// A decoded instruction, and how its operands are addressed.
#pragma once

#include <bit>
#include <cstdint>

namespace scanlab::vgpu {

inline constexpr unsigned warp_size = 32;

/// One bit per lane; bit 0 is lane 0.
using Mask = std::uint32_t;
inline constexpr Mask full_mask = ~Mask{0};

/// The lowest and the highest lane of a mask, which has one.
inline unsigned first_lane(Mask mask) {
  return static_cast<unsigned>(std::countr_zero(mask));
}
inline unsigned last_lane(Mask mask) {
  return warp_size - 1 - static_cast<unsigned>(std::countl_zero(mask));
}

/// The lanes of a mask, in order: for (const unsigned lane : lanes_in(mask)).
struct LaneRange {
  struct Iterator {
    Mask left = 0;
    unsigned operator*() const { return first_lane(left); }
    void operator++() { left &= left - 1; }
    bool operator!=(const Iterator& other) const { return left != other.left; }
  };
  Mask mask = 0;
  Iterator begin() const { return {mask}; }
  Iterator end() const { return {}; }
};
inline LaneRange lanes_in(Mask mask) {
  return {mask};
}
/// The lanes of `mask` for which holds(lane).
template <class Holds>
inline Mask lanes_where(Mask mask, Holds holds) {
  Mask where = 0;
  for (const unsigned l : lanes_in(mask)) where |= Mask{holds(l)} << l;
  return where;
}

/// Calls `visit(lane)` for each lane of `mask`, in order.
template <class Visit>
inline void for_each_lane(Mask mask, Visit visit) {
  for (const unsigned lane : lanes_in(mask)) visit(lane);
}

struct Warp;
struct Inst;

/// Executes one instruction for the active lanes, and then those that follow it: handlers call each other in turn
/// (`proceed`), which the compiler turns into jumps. Returns the next instruction to execute, or nullptr when the warp
/// has to stop (Warp::stop says why, Warp::pc where to go on). A handler that can fault sets Warp::pc to its
/// instruction; faults are thrown (fault.hpp).
using Handler = const Inst* (*)(Warp&, const Inst*);

/// A place in the frame of a call that holds one value per lane: a byte offset. Lane values lie side by side in the
/// width of the register's type: 2 bytes for 8 and 16 bits, 4, 8; a predicate is one Mask. Constants have places too.
using OperandRef = std::uint32_t;

struct alignas(64) Inst {
  Handler run = nullptr;
  std::uint64_t imm = 0;    ///< branch target (const Inst*), address offset, or what the handler's comment says
  OperandRef op[8] = {};    ///< arithmetic: op[0] destination, op[1..3] sources, op[4] second destination (p|q)
  std::uint32_t rank = 0;   ///< reconvergence order of its basic block: lower runs first (cfg.hpp)
  std::uint32_t line = 0;   ///< index into ptx::Module::lines
  std::uint32_t index = 0;  ///< index into ptx::Function::instructions, for messages
  std::uint32_t aux = 0;    ///< small operands: barrier id, vector length, flags
};
static_assert(sizeof(Inst) == 64, "one instruction, one cache line");

/// Continues at `i`. Where the compiler does not turn that into a jump, the stack grows until the turn of the warp is
/// over, which is soon enough.
[[gnu::always_inline]] inline const Inst* proceed(Warp& w, const Inst* i) {
  return i->run(w, i);
}

/// Instructions are counted where the active lanes can change or a turn can end, not one by one: this many of the
/// program's have been executed when such an instruction (control.hpp) executes, its own included.
inline OperandRef& charge_of(Inst& i) {
  return i.op[7];
}
inline OperandRef charge_of(const Inst* i) {
  return i->op[7];
}

}  // namespace scanlab::vgpu
