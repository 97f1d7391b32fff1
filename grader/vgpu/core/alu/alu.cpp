// Finds the handler of a computing instruction, and checks that its operands have the widths that the handler takes.
#include "vgpu/core/alu/alu.hpp"

#include <stdexcept>

#include "vgpu/core/alu/forms.hpp"
#include "vgpu/core/decode/frame_layout.hpp"
#include "vgpu/core/warp/special.hpp"

namespace scanlab::vgpu {

namespace {

using Kind = ptx::Operand::Kind;

bool fits(const ptx::Operand& operand, ptx::Type type, Registers registers) {
  ptx::Type declared = ptx::Type::none;
  if (operand.kind == Kind::special) {
    const auto special = select_special(operand.name);
    if (!special) return false;
    declared = special->type;
  } else if (operand.kind == Kind::reg) {
    if (operand.reg < 0 || static_cast<std::size_t>(operand.reg) >= registers.size()) return false;
    declared = registers[static_cast<std::size_t>(operand.reg)].type;
  } else {
    return true;
  }
  for (const ptx::Type without_lanes : {ptx::Type::none, ptx::Type::pred})
    if (type == without_lanes || declared == without_lanes) return type == declared;
  return lane_bytes(declared) == lane_bytes(type);
}

/// A handler touches exactly as many bytes as its types say, so a register of another width must not reach it.
bool operands_fit(const ptx::Instruction& instruction, const AluSelection& selection, Registers registers) {
  std::size_t place = 0;
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind == Kind::pair) {
      if (!fits(operand.elements.at(0), selection.type[0], registers)) return false;
      if (!fits(operand.elements.at(1), selection.type[selection.second], registers)) return false;
      ++place;
    } else if (operand.kind == Kind::vector) {
      for (const ptx::Operand& element : operand.elements) {
        if (!fits(element, selection.type[place++], registers)) return false;
      }
    } else if (!fits(operand, selection.type[place++], registers)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string spelling_of(const ptx::Instruction& instruction) {
  std::string spelling = instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) spelling.append(".").append(modifier);
  return spelling;
}

const char* name_of(ptx::Type type) {
  using enum ptx::Type;
  switch (type) {
    case b8:
      return ".b8";
    case b16:
      return ".b16";
    case b32:
      return ".b32";
    case b64:
      return ".b64";
    case b128:
      return ".b128";
    case u8:
      return ".u8";
    case u16:
      return ".u16";
    case u32:
      return ".u32";
    case u64:
      return ".u64";
    case s8:
      return ".s8";
    case s16:
      return ".s16";
    case s32:
      return ".s32";
    case s64:
      return ".s64";
    case f16:
      return ".f16";
    case f16x2:
      return ".f16x2";
    case bf16:
      return ".bf16";
    case bf16x2:
      return ".bf16x2";
    case tf32:
      return ".tf32";
    case f32:
      return ".f32";
    case f64:
      return ".f64";
    case pred:
      return ".pred";
    case none:
      return "";
  }
  return "";
}

bool is_plain(const ptx::Operand& operand) {
  return !operand.negated && operand.part.empty() &&
         (operand.kind == Kind::reg || operand.kind == Kind::integer || operand.kind == Kind::floating ||
          operand.kind == Kind::special);
}

AluSelection& Forms::add(std::string_view spelling, Handler run, std::initializer_list<ptx::Type> types, bool is_addition,
                         std::uint64_t imm) {
  Form form;
  form.selection.run = run;
  form.selection.imm = imm;
  form.selection.is_addition = is_addition;
  for (const ptx::Type type : types) form.selection.type[form.operands++] = type;
  const auto [at, is_new] = forms_.emplace(spelling, form);
  if (!is_new) throw std::logic_error("the form " + std::string(spelling) + " was added twice");
  return at->second.selection;
}

std::optional<AluSelection> Forms::find(const ptx::Instruction& instruction, const std::string& key) const {
  const auto found = forms_.find(key);
  if (found == forms_.end() || found->second.operands != instruction.operands.size()) return std::nullopt;
  if (!is_register(instruction.operands.front())) return std::nullopt;
  for (const ptx::Operand& operand : instruction.operands) {
    if (!is_plain(operand)) return std::nullopt;
  }
  return found->second.selection;
}

std::optional<AluSelection> select_alu(const ptx::Instruction& instruction, std::span<const ptx::Register> registers) {
  const auto select = [&]() -> std::optional<AluSelection> {
    if (const auto found = select_convert(instruction, registers)) return found;
    for (const auto in_file : {select_integer, select_float, select_bits, select_compare, select_selection, select_move,
                               select_wide, select_half, select_approx, select_simd, select_video}) {
      if (const auto found = in_file(instruction)) return found;
    }
    return std::nullopt;
  };
  const auto selection = select();
  if (!selection || !operands_fit(instruction, *selection, registers)) return std::nullopt;
  return selection;
}

}  // namespace scanlab::vgpu
