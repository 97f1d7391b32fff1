// What an image reports around its instructions where elements are names: what they do with words that may be some.
#include <bit>

#include "vgpu/core/decode/decoder.hpp"
#include "vgpu/core/warp/gang.hpp"

namespace scanlab::vgpu {

std::vector<OperandRef> Decoder::look_at_elements(const std::vector<ElementUse>& uses) {
  std::vector<OperandRef> kept;
  for (const ElementUse& use : uses) {
    const std::uint32_t bytes = frame_.lane_bytes_of(use.reg);
    const OperandRef from = reg(use.reg);
    OperandRef& copy = kept.emplace_back();
    if (use.is_result) continue;
    if (use.keeps != ElementUse::Keeps::nothing) {
      copy = frame_.temporary(bytes);
      emit_copy_low(copy, bytes, from, bytes);
    } else if (use.low && use.high) {
      emit(report_element_use, {each_together}, {.op = {from}, .aux = bytes});
    } else {
      const RearrangedForm form{
          .from_bytes = bytes, .to_bytes = 0, .low = use.low, .high = use.high, .same_place = 0, .guard_negated = 0};
      emit(report_rearranged, {each_together}, {.op = {from, from}, .aux = std::bit_cast<std::uint32_t>(form)});
    }
  }
  return kept;
}

void Decoder::look_at_result(const ElementUse& use, OperandRef before) {
  const ptx::Instruction& in = here();
  if (use.is_result) {
    const RearrangedForm form{.from_bytes = frame_.lane_bytes_of(use.reg),
                              .to_bytes = 0,
                              .low = use.low,
                              .high = use.high,
                              .same_place = 0,
                              .guard_negated = in.guard_negated};
    emit(report_rearranged, {each_together},
         {.op = {reg(use.reg), reg(use.reg)}, .imm = guard_of(in), .aux = std::bit_cast<std::uint32_t>(form)});
    return;
  }
  if (in.operands[0].kind != Kind::reg) return;
  const std::int32_t result = in.operands[0].reg;
  const RearrangedForm form{.from_bytes = frame_.lane_bytes_of(use.reg),
                            .to_bytes = frame_.lane_bytes_of(result),
                            .low = use.low,
                            .high = use.high,
                            .same_place = use.keeps == ElementUse::Keeps::same_place,
                            .guard_negated = in.guard_negated};
  emit(report_rearranged, {each_together},
       {.op = {before, reg(result)}, .imm = guard_of(in), .aux = std::bit_cast<std::uint32_t>(form)});
}

std::uint64_t Decoder::guard_of(const ptx::Instruction& in) {
  return in.guard >= 0 ? std::uint64_t{reg(in.guard, Type::pred)} + 1 : 0;
}

void Decoder::look_at_divisor() {
  const ptx::Instruction& in = here();
  const bool divides = in.opcode == "div" || in.opcode == "rem";
  if (!divides || in.has_any({"f32", "f64"}) || in.operands.size() != 3 || in.operands[2].kind != Kind::reg) return;
  const std::int32_t divisor = in.operands[2].reg;
  const RearrangedForm form{.from_bytes = frame_.lane_bytes_of(divisor),
                            .to_bytes = 0,
                            .low = 1,
                            .high = 1,
                            .same_place = 0,
                            .guard_negated = in.guard_negated};
  emit(report_zero_divisor, {each_together},
       {.op = {reg(divisor)}, .imm = guard_of(in), .aux = std::bit_cast<std::uint32_t>(form)});
}

}  // namespace scanlab::vgpu
