// A decoded instruction, and how its operands are addressed.
#pragma once

#include <cstdint>

namespace scanlab::vgpu {

inline constexpr unsigned warp_size = 32;

/// One bit a lane; bit 0 is lane 0.
using Mask = std::uint32_t;
inline constexpr Mask full_mask = ~Mask{0};

struct Warp;
struct Inst;

/// Executes one instruction for the active lanes and returns the next one to execute, or nullptr when the warp has to
/// stop (Warp::stop says why, Warp::pc where to go on). Faults are thrown (fault.hpp).
using Handler = const Inst* (*)(Warp&, const Inst*);

/// A place that holds one value a lane. Bit 0 chooses the base (0: registers of the current frame, 1: the function's
/// constants), the rest is a byte offset from it. Lane values lie side by side in the width of the register's type: 2
/// bytes for 8 and 16 bits, 4, 8; a predicate is one Mask.
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

}  // namespace scanlab::vgpu
