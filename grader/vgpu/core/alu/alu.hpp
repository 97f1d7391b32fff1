// Everything that computes: arithmetic, logic, comparison, selection, conversion and register moves.
#pragma once

#include <optional>
#include <span>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/warp/convergent.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// How to execute a computing instruction, and with which operands.
///
/// The decoder puts operand k of the PTX text into Inst::op[k]: op[0] the destination, op[1..] the sources in order.
/// A `p|q` destination becomes op[0] = p and op[4] = q. `type[k]` is the type as which an immediate in place k is
/// materialised (its constant has 32 equal lanes of the width that registers of that type have).
/// For mov with a vector operand, the elements follow: `mov.b64 {lo, hi}, x` has op[0] = lo, op[1] = hi, op[2] = x and
/// `mov.b64 x, {lo, hi}` has op[0] = x, op[1] = lo, op[2] = hi (up to four elements).
struct AluSelection {
  Handler run = nullptr;
  ptx::Type type[8] = {};
  std::uint64_t imm = 0;                  ///< for Inst::imm; of an addition, 0: observed ones need the place
  std::uint32_t aux = 0;                  ///< for Inst::aux
  unsigned second = 4;                    ///< where the second destination of `p|q` goes, when op[4] holds a source
  StepHandler in_gang = nullptr;          ///< for all warps of a gang, where that is faster than one after the other
  StepHandler uniform_in_gang = nullptr;  ///< the same where all operands are uniform pairs; null: not known
  bool is_addition = false;  ///< a floating-point add, sub or fma: one addition an active lane in the counters
};

/// The selection for `instruction`, or nothing when it is no computing instruction or one that is not known.
/// `registers` are the function's, for the widths of register operands where PTX lets them differ from the type (cvt).
std::optional<AluSelection> select_alu(const ptx::Instruction& instruction, std::span<const ptx::Register> registers);

}  // namespace scanlab::vgpu
