// Instructions of convergent code that compute values for a whole warp at once.
//
// A register that is uniform or affine (uniformity.hpp) is a Pair: its value in lane 0, and how it grows from there
// (not at all, if it is uniform). The pairs of a block's warps lie side by side (Gang::column), and an instruction
// names them by their number. Where a register is also read by an instruction that works lane by lane, `spread` follows
// its definition.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/decode/uniformity.hpp"
#include "vgpu/core/warp/convergent.hpp"

namespace scanlab::vgpu {

/// The value of lane 0, and how it grows: by `stride` from lane to lane, and by `jump` more where the next row of a
/// narrow block begins, every Image::row_lanes lanes. Narrow values have 0 above their bits; what a 32-bit register
/// grows by is sign-extended. Where rows are as long as a warp, there are no jumps, and `jump` is 0.
struct Pair {
  std::uint64_t value = 0;
  std::int64_t stride = 0;
  std::int64_t jump = 0;
};

/// How an instruction executes on pairs: op[0] is its destination, op[1..] the `sources` in this order (numbers of the
/// instruction's operands; a predicate has its ordinary place).
struct PairSelection {
  StepHandler run = nullptr;
  Shape result = Shape::uniform;
  std::vector<std::size_t> sources;
  ptx::Type type[8] = {};  ///< of immediates, by operand; none: as an integer of 64 bits
  std::uint64_t imm = 0;
  std::uint32_t aux = 0;
  bool is_window = false;    ///< cvta: imm is what the decoder knows of windows
  bool is_addition = false;  ///< as in AluSelection
  bool may_leave = false;    ///< when a value does not fit: aux is then an index into ConvergentCode::leaves
};

/// The selection for an instruction that computes, unless one of its sources is varying or it is not known here.
/// `row_lanes` as in Image.
std::optional<PairSelection> select_pairs(const ptx::Instruction& instruction, const ptx::Function& function,
                                          const std::vector<Shape>& shapes, unsigned row_lanes);

/// setp.WORD.TYPE of two pairs, op[1] and op[2], into the predicate op[0]; null for a comparison that is not known.
StepHandler compare_pairs(std::string_view word, ptx::Type type);

/// ld.param of a kernel parameter: op[0] the pair, imm the offset, aux a MemoryForm.
const Step* load_parameter_pair(Gang& g, const Step* s);

/// op[0]: a pair, which becomes uniform.
const Step* clear_growth(Gang& g, const Step* s);

/// Gives every lane its value.
template <class T>
inline void spread(T* lanes, const Pair& a, unsigned row_lanes) {
  const auto base = static_cast<T>(a.value), stride = static_cast<T>(a.stride), jump = static_cast<T>(a.jump);
  for (unsigned l = 0; l < warp_size; ++l) lanes[l] = static_cast<T>(base + stride * static_cast<T>(l));
  if (!a.jump) return;
  for (unsigned row = row_lanes; row < warp_size; row += row_lanes)
    for (unsigned l = row; l < warp_size; ++l) lanes[l] = static_cast<T>(lanes[l] + jump);
}

/// op[0]: lanes, op[1]: the pair. Gives every lane its value.
StepHandler spread_handler(std::uint32_t lane_bytes, Shape shape);

}  // namespace scanlab::vgpu
