// Finds the handler of a computing instruction, and checks that its operands have the widths that the handler takes.
#include "vgpu/core/alu/alu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <stdexcept>

#include "vgpu/core/alu/forms.hpp"
#include "vgpu/core/decode/frame_layout.hpp"
#include "vgpu/core/warp/special.hpp"

namespace scanlab::vgpu {

namespace {

using Kind = ptx::Operand::Kind;

bool fits(const ptx::Operand& operand, ptx::Type type, Registers registers) {
  if (operand.kind == Kind::special) {
    const auto special = select_special(operand.name);
    return special && lane_bytes(special->type) == lane_bytes(type);
  }
  if (operand.kind != Kind::reg) return true;
  if (operand.reg < 0 || static_cast<std::size_t>(operand.reg) >= registers.size()) return false;
  const ptx::Type declared = registers[static_cast<std::size_t>(operand.reg)].type;
  if (type == ptx::Type::pred || declared == ptx::Type::pred) return type == declared;
  return type != ptx::Type::none && lane_bytes(declared) == lane_bytes(type);
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
    } else {
      // The predicate behind other sources, which decides what becomes of them, is a register.
      if (place > 2 && selection.type[place] == ptx::Type::pred && operand.kind != Kind::reg) return false;
      if (!fits(operand, selection.type[place++], registers)) return false;
    }
  }
  return true;
}

bool is_value(const ptx::Operand& operand) {
  return operand.part.empty() && (operand.kind == Kind::reg || operand.kind == Kind::integer ||
                                  operand.kind == Kind::floating || operand.kind == Kind::special);
}

}  // namespace

bool is_plain(const ptx::Operand& operand) {
  return !operand.negated && is_value(operand);
}

bool has_second_destination(const ptx::Instruction& instruction) {
  const ptx::Operand& to = instruction.operands.front();
  if (to.kind != Kind::pair) return false;
  const bool is_of_halves = !instruction.modifiers.empty() && instruction.modifiers.back().ends_with("x2");
  return is_of_halves || to.elements[0].kind == Kind::sink || to.elements[1].kind != Kind::sink;
}

bool has_plain_operands(const ptx::Instruction& instruction) {
  if (instruction.operands.empty()) return false;
  const ptx::Operand& to = instruction.operands.front();
  const auto is_sink = [](const ptx::Operand& operand) { return operand.kind == Kind::sink; };
  const auto is_destination = [&](const ptx::Operand& operand) { return is_sink(operand) || is_register(operand); };
  if (to.kind == Kind::pair) {
    if (to.elements.size() != 2 || std::ranges::all_of(to.elements, is_sink)) return false;
    if (!std::ranges::all_of(to.elements, is_destination)) return false;
  } else if (!is_register(to)) {
    return false;
  }
  return std::ranges::all_of(instruction.operands | std::views::drop(1), is_value);
}

AluSelection& Forms::add(std::string spelling, Handler run, std::initializer_list<ptx::Type> types, bool is_addition) {
  Form form;
  form.selection.run = run;
  form.selection.is_addition = is_addition;
  for (const ptx::Type type : types) form.selection.type[form.operands++] = type;
  const auto [at, is_new] = forms_.emplace(std::move(spelling), form);
  if (!is_new) throw std::logic_error("the form " + at->first + " was added twice");
  return at->second.selection;
}

std::optional<AluSelection> Forms::find(const ptx::Instruction& instruction) const {
  if (!has_plain_operands(instruction)) return std::nullopt;
  std::string spelling = instruction.spelling();
  if (has_second_destination(instruction))
    spelling += " |";
  else if (instruction.operands.front().kind == Kind::pair)
    return std::nullopt;
  for (std::size_t k = 1; k < instruction.operands.size(); ++k)
    if (instruction.operands[k].negated) spelling += fmt::format(" !{}", k);
  const auto found = forms_.find(spelling);
  if (found == forms_.end() || found->second.operands != instruction.operands.size()) return std::nullopt;
  return found->second.selection;
}

std::optional<AluSelection> select_alu(const ptx::Instruction& instruction, std::span<const ptx::Register> registers) {
  static const Forms forms = [] {
    Forms all;
    for (const auto add : {add_integer_forms, add_wide_forms, add_bits_forms, add_float_forms, add_half_forms,
                           add_approx_forms, add_selection_forms, add_move_forms})
      add(all);
    return all;
  }();
  auto selection = forms.find(instruction);
  if (!selection) selection = select_convert(instruction, registers);
  for (const auto select : {select_compare, select_vector_move, select_video})
    if (!selection) selection = select(instruction);
  if (!selection || !operands_fit(instruction, *selection, registers)) return std::nullopt;
  return selection;
}

}  // namespace scanlab::vgpu
