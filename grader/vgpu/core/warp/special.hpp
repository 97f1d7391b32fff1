// Special registers (%tid, %laneid, %clock …) and address arithmetic between state spaces (cvta, isspacep).
#pragma once

#include <optional>
#include <string_view>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/warp/convergent.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Handler that reads special register `name` ("%tid.x") into op[0], and the type of the register.
struct SpecialSelection {
  Handler run = nullptr;
  std::uint64_t imm = 0;
  ptx::Type type = ptx::Type::b32;
  bool is_clock = false;
};
std::optional<SpecialSelection> select_special(std::string_view name);

/// The same into a Pair (pairs.hpp), for those that are uniform or affine in a warp; `row_lanes` as in Image.
struct SpecialPair {
  StepHandler run = nullptr;
  std::uint64_t imm = 0;
  std::uint32_t aux = 0;  ///< how it grows
  bool is_affine = false;
};
std::optional<SpecialPair> select_special_pair(std::string_view name, unsigned row_lanes);

/// op[0] = the low bytes of op[1]; aux: bytes of a lane of op[0], and of op[1] times 256.
const Inst* copy_low(Warp& w, const Inst* i);

/// op[0] = op[1] + imm, 64 bits: cvta between a space and the generic space.
const Inst* add_window(Warp& w, const Inst* i);
/// op[0] predicate: whether generic address op[1] lies in the space whose window begins at imm (0: global memory, which
/// __constant__ variables are part of).
inline constexpr std::uint64_t is_constant_space = 1;
const Inst* is_space(Warp& w, const Inst* i);
/// op[0] = address of a local variable: the frame's local base + imm; aux: bytes of the register.
const Inst* local_address(Warp& w, const Inst* i);

}  // namespace scanlab::vgpu
