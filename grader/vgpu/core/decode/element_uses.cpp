#include "vgpu/core/decode/element_uses.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "vgpu/core/decode/opcodes.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// Calls visit(register) for each register among these operands; that of an address does not count.
template <class Visit>
void for_each_register(const Operand& operand, Visit visit) {
  if (operand.kind == Operand::Kind::reg) visit(operand.reg);
  for (const Operand& element : operand.elements) for_each_register(element, visit);
}

/// Does it keep one half of a word, or all of it?
bool is_whole_mask(const Operand& operand) {
  if (operand.kind != Operand::Kind::integer) return false;
  const std::uint64_t mask = operand.bits;
  return mask == 0xffff'ffff || mask == ~std::uint64_t{0} || mask == ~std::uint64_t{0} << 32;
}

/// Is it an integer of 32 or 64 bits, or no type at all?
bool is_word(std::string_view modifier) {
  const ptx::Type type = ptx::type_from_suffix(modifier);
  return type == ptx::Type::none || is_one_of(modifier, {"b32", "u32", "s32", "b64", "u64", "s64"});
}

/// Does it shift one half of a word of 64 bits into the other's place? Any other shift is a look at bits.
bool shifts_halves(const Instruction& in) {
  const Operand& by = in.operands.back();
  return by.kind == Operand::Kind::integer && by.bits == 32 && (in.has("b64") || in.has("u64") || in.has("s64"));
}

/// Does the instruction give what it is given, whole words perhaps joined or taken apart?
bool only_moves(const Instruction& in) {
  if (in.opcode == "shl" || in.opcode == "shr") return shifts_halves(in);
  if (in.opcode == "and") return std::ranges::any_of(in.operands, is_whole_mask);
  if (in.opcode == "cvt") return std::ranges::all_of(in.modifiers, is_word);
  if (in.opcode == "atom" || in.opcode == "red") return in.has("exch");
  return is_one_of(in.opcode, {"mov", "selp", "or", "prmt", "shf", "bfi", "bfe", "st", "shfl", "scanlab", "cvta"});
}

/// Does it add names?
bool adds(const Instruction& in, NamedElements kind) {
  if (kind == NamedElements::words) return in.opcode == "scanlab";
  const bool is_atomic = (in.opcode == "atom" || in.opcode == "red") && in.has("add") && in.has("f32");
  return is_atomic || adds_floats(in);
}

/// Does it bring in what other instructions, lanes or functions have stored?
bool brings_elements(const ptx::Function& function, const Instruction& in) {
  if (is_one_of(in.opcode, {"atom", "shfl"})) return true;
  if (in.opcode != "ld") return false;
  // A kernel's own parameters are the host's, which has no elements.
  return !function.is_entry || !in.has("param") ||
         std::ranges::any_of(function.variables, [&](const ptx::Variable& v) { return v.name == in.operands[1].name; });
}

}  // namespace

bool adds_floats(const Instruction& in) {
  return in.opcode == "add" && in.has("f32") &&
         std::ranges::all_of(in.modifiers, [](const std::string& word) { return word == "f32" || word == "rn"; });
}

std::vector<std::vector<std::int32_t>> element_uses(const ptx::Function& function, NamedElements kind) {
  std::vector<bool> may_hold(function.registers.size(), false);
  const auto holds = [&](std::int32_t r) { return may_hold[static_cast<std::size_t>(r)]; };
  const auto sources = [](const Instruction& in, auto visit) {
    for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k)
      for_each_register(in.operands[k], visit);
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const Instruction& in : function.instructions) {
      if (!has_destination(in)) continue;
      bool gives = brings_elements(function, in) || adds(in, kind);
      if (!gives && only_moves(in)) sources(in, [&](std::int32_t r) { gives = gives || holds(r); });
      if (!gives) continue;
      for_each_register(in.operands[0], [&](std::int32_t r) {
        has_changed = has_changed || !holds(r);
        may_hold[static_cast<std::size_t>(r)] = true;
      });
    }
  }
  std::vector<std::vector<std::int32_t>> uses(function.instructions.size());
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const Instruction& in = function.instructions[k];
    if (only_moves(in) || adds(in, kind) || is_one_of(in.opcode, {"call", "bra", "bar", "barrier", "ld"})) continue;
    sources(in, [&](std::int32_t r) {
      const std::uint32_t bytes = ptx::size_of(function.registers[static_cast<std::size_t>(r)].type);
      if (holds(r) && (bytes == 4 || bytes == 8)) uses[k].push_back(r);
    });
  }
  return uses;
}

}  // namespace scanlab::vgpu
