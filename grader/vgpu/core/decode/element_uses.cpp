#include "vgpu/core/decode/element_uses.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/decode/operands.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

/// Whether it is a mask that keeps all of a word, or one half.
bool is_whole_mask(const Operand& operand) {
  if (operand.kind != Operand::Kind::integer) return false;
  const std::uint64_t mask = operand.bits;
  return mask == 0xffff'ffff || mask == ~std::uint64_t{0} || mask == ~std::uint64_t{0} << 32;
}

/// Whether it is an integer of 32 or 64 bits, or no type at all.
bool is_word(std::string_view modifier) {
  const ptx::Type type = ptx::type_from_suffix(modifier);
  return type == ptx::Type::none || is_one_of(modifier, {"b32", "u32", "s32", "b64", "u64", "s64"});
}

bool is_64_bits(const Instruction& in) {
  return in.has_any({"b64", "u64", "s64"});
}

/// By how many bits an instruction shifts its first source, if that is a number.
std::optional<std::uint64_t> shift_of(const Instruction& in) {
  const Operand& by = in.operands.back();
  return by.kind == Operand::Kind::integer ? std::optional(by.bits) : std::nullopt;
}

/// Words of a register of 8 bytes, or the only one of a narrower register.
enum Words : std::uint8_t { no_word = 0, low_word = 1, high_word = 2, both_words = 3 };

/// Whether the upper word of its result is the sign of the lower one, or the sign of what it takes from a register.
bool extends_sign(const ptx::Function& function, const Instruction& in) {
  if (!has_destination(in) || in.operands[0].kind == Operand::Kind::integer || in.modifiers.empty()) return false;
  bool is_wide = false;
  for_each_register(in.operands[0], [&](std::int32_t r) {
    is_wide = is_wide || ptx::size_of(function.registers[static_cast<std::size_t>(r)].type) == 8;
  });
  if (!is_wide) return false;
  if (is_one_of(in.opcode, {"ld", "ldu", "cvt"})) return in.modifiers.back() == "s32";
  return is_one_of(in.opcode, {"shr", "bfe"}) && in.has("s64");
}

/// Whether it stores less than a word of each register.
bool stores_part(const Instruction& in) {
  return in.opcode == "st" && in.has_any({"b8", "u8", "s8", "b16", "u16", "s16"});
}

/// The operands that it moves: its result has their whole words, perhaps joined or taken apart. Bit k is operand k.
std::uint32_t moved_operands(const ptx::Function& function, const Instruction& in) {
  constexpr std::uint32_t none = 0, first = 1u << 1, both = 1u << 1 | 1u << 2, all = ~0u;
  if (has_destination(in)) {
    bool is_narrow = false;
    for_each_register(in.operands[0], [&](std::int32_t r) {
      const ptx::Type type = function.registers[static_cast<std::size_t>(r)].type;
      is_narrow = is_narrow || (type != ptx::Type::pred && ptx::size_of(type) < 4);
    });
    if (is_narrow && !is_one_of(in.opcode, {"ld", "ldu"})) return none;
  }
  if (in.opcode == "shl" || in.opcode == "shr") return is_64_bits(in) && shift_of(in) == 32 ? first : none;
  if (in.opcode == "and") return std::ranges::any_of(in.operands, is_whole_mask) ? both : none;
  if (in.opcode == "cvt") return std::ranges::all_of(in.modifiers, is_word) ? first : none;
  if (in.opcode == "atom") return in.has("exch") ? 1u << 2 : none;
  if (in.opcode == "red") return in.has("exch") ? 1u << 1 : none;
  if (in.opcode == "shfl") return first;
  if (stores_part(in)) return none;
  if (in.opcode == "selp") return both;
  return is_one_of(in.opcode, {"mov", "st", "scanlab", "cvta"}) ? all : none;
}

/// The operands that it does not move, but whose bits it puts into its result.
std::uint32_t rearranged_operands(const Instruction& in) {
  if (has_destination(in) && in.operands[0].kind == Operand::Kind::pair) return 0;  // d|p: p is made of the bits
  constexpr std::uint32_t first = 1u << 1, both = 1u << 1 | 1u << 2;
  if (is_one_of(in.opcode, {"or", "and", "xor", "prmt", "shf", "bfi"})) return both;
  if (in.opcode == "lop3") return both | 1u << 3;
  return in.opcode == "bfe" || (in.opcode == "shr" && is_64_bits(in) && shift_of(in) >= 32) ? first : 0;
}

/// Words of a 64-bit register that are not 0 in `bits`.
std::uint8_t words_in(std::uint64_t bits) {
  return static_cast<std::uint8_t>(((bits & 0xffff'ffff) ? low_word : no_word) | (bits >> 32 ? high_word : no_word));
}

/// Whether a comparison with this number depends on the upper word alone: x < c * 2^32 is upper(x) < c.
bool compares_upper_word(const Instruction& in) {
  const Operand& with = in.operands.back();
  if (in.opcode != "setp" || !is_64_bits(in) || with.kind != Operand::Kind::integer) return false;
  const std::uint64_t lower = with.bits & 0xffff'ffff;
  return in.has_any({"lt", "ge", "lo", "hs"}) ? lower == 0
                                              : in.has_any({"le", "gt", "ls", "hi"}) && lower == 0xffff'ffff;
}

/// The words of source `k` that make a difference, if these words of the instruction's result do.
std::uint8_t words_asked(const Instruction& in, std::size_t k, std::uint8_t of_result) {
  const Operand& last = in.operands.back();
  if (in.opcode == "and" && last.kind == Operand::Kind::integer) return of_result & words_in(last.bits);
  if (is_one_of(in.opcode, {"or", "and", "xor", "lop3"})) return of_result;
  const bool is_whole = in.operands[0].kind == Operand::Kind::reg && last.kind == Operand::Kind::reg;
  if ((in.opcode == "mov" && is_whole) || (in.opcode == "selp" && k < 3)) return of_result;
  if (in.opcode == "cvt" && is_64_bits(in))
    return in.has_any({"s8", "u8", "s16", "u16", "s32", "u32"}) ? low_word : both_words;
  if (in.opcode == "shr" && is_64_bits(in) && shift_of(in) >= 32) return high_word;
  if (in.opcode == "shl" && is_64_bits(in) && shift_of(in) == 32) return low_word;
  if (compares_upper_word(in)) return high_word;
  if (in.opcode != "bfe" || in.operands.size() < 4) return both_words;
  const Operand& from = in.operands[2];
  if (last.kind == Operand::Kind::integer && from.kind == Operand::Kind::integer)
    return static_cast<std::uint8_t>((from.bits < 32 ? low_word : no_word) |
                                     (from.bits + last.bits > 32 ? high_word : no_word));
  return both_words;
}

/// The words of each register that make a difference to anything. They are found backwards from their uses.
std::vector<std::uint8_t> asked_words(const ptx::Function& function) {
  std::vector<std::uint8_t> asked(function.registers.size(), no_word);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const Instruction& in : function.instructions) {
      std::uint8_t of_result = both_words;
      if (has_destination(in) && in.operands[0].kind == Operand::Kind::reg)
        of_result = asked[static_cast<std::size_t>(in.operands[0].reg)];
      for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k)
        for_each_register(in.operands[k], [&](std::int32_t r) {
          std::uint8_t& known = asked[static_cast<std::size_t>(r)];
          const auto now = static_cast<std::uint8_t>(known | words_asked(in, k, of_result));
          has_changed = has_changed || now != known;
          known = now;
        });
    }
  }
  return asked;
}

/// How the instruction uses operand `k`, a register that it does not move.
ElementUse use_of(const Instruction& in, std::size_t k, std::int32_t r, const std::vector<std::uint8_t>& asked,
                  bool asks_sign) {
  ElementUse use{r};
  const bool gives_register = has_destination(in) && in.operands[0].kind == Operand::Kind::reg;
  const auto result = gives_register ? asked[static_cast<std::size_t>(in.operands[0].reg)] : std::uint8_t{both_words};
  const std::uint8_t words = words_asked(in, k, result);
  use.low = words & low_word;
  use.high = words & high_word;
  if (asks_sign || !(rearranged_operands(in) >> k & 1)) return use;
  const bool is_bitwise = is_one_of(in.opcode, {"or", "and", "xor", "lop3"});
  use.keeps = is_bitwise ? ElementUse::Keeps::same_place : ElementUse::Keeps::whole;
  return use;
}

/// Whether it adds names.
bool adds(const Instruction& in, NamedElements kind) {
  if (kind == NamedElements::words) return in.opcode == "scanlab";
  const bool is_atomic = (in.opcode == "atom" || in.opcode == "red") && in.has("add") && in.has("f32");
  return is_atomic || adds_floats(in);
}

/// Whether its result may have been stored by other instructions, lanes or functions.
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

std::vector<std::vector<ElementUse>> element_uses(const ptx::Function& function, NamedElements kind) {
  std::vector<bool> may_hold(function.registers.size(), false);
  const auto holds = [&](std::int32_t r) { return may_hold[static_cast<std::size_t>(r)]; };
  const auto for_each_source = [](const Instruction& in, auto visit) {
    for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k)
      for_each_register(in.operands[k], [&](std::int32_t r) { visit(k, r); });
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const Instruction& in : function.instructions) {
      if (!has_destination(in)) continue;
      bool gives = brings_elements(function, in) || adds(in, kind);
      const std::uint32_t kept = moved_operands(function, in) | rearranged_operands(in);
      if (!gives) for_each_source(in, [&](std::size_t k, std::int32_t r) { gives |= (kept >> k & 1) && holds(r); });
      if (!gives) continue;
      for_each_register(in.operands[0], [&](std::int32_t r) {
        has_changed = has_changed || !holds(r);
        may_hold[static_cast<std::size_t>(r)] = true;
      });
    }
  }
  const std::vector<std::uint8_t> asked = asked_words(function);
  std::vector<std::vector<ElementUse>> uses(function.instructions.size());
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const Instruction& in = function.instructions[k];
    if (adds(in, kind) || is_one_of(in.opcode, {"call", "bra"})) continue;
    bool asks_sign = extends_sign(function, in);
    if (asks_sign) {
      std::uint8_t words = no_word;
      for_each_register(in.operands[0], [&](std::int32_t r) { words |= asked[static_cast<std::size_t>(r)]; });
      asks_sign = words & high_word;
    }
    if (is_one_of(in.opcode, {"ld", "ldu"})) {
      // Where its sign makes a difference, a word of 4 bytes is looked at behind the load.
      if (asks_sign && brings_elements(function, in))
        for_each_register(in.operands[0], [&](std::int32_t r) {
          uses[k].push_back({.reg = r, .keeps = ElementUse::Keeps::nothing, .high = false, .is_result = true});
        });
      continue;
    }
    const std::uint32_t moved = asks_sign ? 0 : moved_operands(function, in);
    for_each_source(in, [&](std::size_t operand, std::int32_t r) {
      const std::uint32_t bytes = ptx::size_of(function.registers[static_cast<std::size_t>(r)].type);
      if (!(moved >> operand & 1) && holds(r) && (bytes == 4 || bytes == 8))
        uses[k].push_back(use_of(in, operand, r, asked, asks_sign));
    });
  }
  return uses;
}

}  // namespace scanlab::vgpu
