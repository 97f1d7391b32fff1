#include "autograder/device/amendment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/run/fault.hpp"

namespace scanlab::grade {
namespace {

using Change = Amendment::Change;
using ptx::Instruction;
using ptx::Operand;

/// By index into Module::lines: is it the line's own code, or that of a function which the line calls?
std::vector<bool> places_within(const ptx::Module& module, const Amendment& amendment) {
  std::vector<bool> within(module.lines.size());
  for (std::uint32_t line = 1; line < module.lines.size(); ++line) {
    const std::vector<vgpu::SourcePlace> places = vgpu::places_of(module, line);
    within[line] = std::ranges::any_of(places, [&](const vgpu::SourcePlace& place) {
      return place.line == amendment.line &&
             (amendment.file.empty() ? place.file.ends_with(".cu") : place.file == amendment.file);
    });
  }
  return within;
}

/// The line's instructions in a function, by index; those of no known place belong to the code before them.
std::vector<bool> instructions_within(const ptx::Function& function, const std::vector<bool>& within) {
  std::vector<bool> is_within(function.instructions.size());
  bool last = false;
  for (std::size_t k = 0; k < is_within.size(); ++k) {
    const std::uint32_t line = function.instructions[k].line;
    if (line != 0) last = within[line];
    is_within[k] = last;
  }
  return is_within;
}

Operand integer(std::uint64_t bits) {
  Operand operand;
  operand.kind = Operand::Kind::integer;
  operand.bits = bits;
  return operand;
}

/// Makes a mark what stands for `change`.
void fill_in(Instruction& mark, Change change) {
  mark.operands.clear();
  if (change == Change::fence) {
    mark.opcode = "membar";
    mark.modifiers = {"gl"};
  } else {
    const bool is_of_block = change == Change::barrier;
    mark.opcode = "bar";
    mark.modifiers = is_of_block ? std::vector<std::string>{"sync"} : std::vector<std::string>{"warp", "sync"};
    mark.operands = {integer(is_of_block ? 0 : 0xFFFFFFFF)};
  }
}

bool is_memory_access(const Instruction& instruction) {
  return (instruction.opcode == "ld" || instruction.opcode == "st") && !instruction.has("param");
}

bool is_plain(const Instruction& instruction) {
  return !instruction.has_any({"volatile", "relaxed", "acquire", "release", "mmio"});
}

bool make_strong(Instruction& instruction) {
  if (!is_memory_access(instruction) || !is_plain(instruction)) return false;
  std::erase_if(instruction.modifiers, [](const std::string& modifier) {
    return modifier == "nc" || modifier == "weak" || modifier.starts_with("L1::") || modifier.starts_with("L2::");
  });
  instruction.modifiers.insert(instruction.modifiers.begin(), "volatile");
  return true;
}

/// What does nothing, in the place of an instruction.
Instruction nothing_for(const Instruction& old) {
  Instruction made;
  made.opcode = "pmevent";
  made.operands = {integer(0)};
  made.line = old.line;
  made.ptx_line = old.ptx_line;
  return made;
}

bool is_same_address(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.reg == b.reg && a.name == b.name && a.offset == b.offset && a.bits == b.bits;
}

/// The last instruction before `end` that sets a register.
std::optional<std::size_t> definition(const ptx::Function& function, std::size_t end, const Operand& operand) {
  if (operand.kind != Operand::Kind::reg) return std::nullopt;
  for (std::size_t k = end; k-- > 0;) {
    const Instruction& instruction = function.instructions[k];
    if (instruction.opcode != "st" && !instruction.operands.empty() &&
        instruction.operands.front().kind == Operand::Kind::reg && instruction.operands.front().reg == operand.reg)
      return k;
  }
  return std::nullopt;
}

/// Do the instructions between the two use the register?
bool is_used_between(const ptx::Function& function, std::size_t begin, std::size_t end, const Operand& operand) {
  const auto is_it = [&](const Operand& other) { return other.kind == Operand::Kind::reg && other.reg == operand.reg; };
  for (std::size_t k = begin + 1; k < end; ++k)
    if (std::ranges::any_of(function.instructions[k].operands, is_it)) return true;
  return false;
}

/// `ld r, [p]`, `v = r op x` and `st [p], v`, all of the line: becomes `atom.op r, [p], x` in the place of the
/// operation, and `v = r op x` in that of the store, since both values may be used.
bool make_atomic(ptx::Function& function, const std::vector<bool>& is_within, std::size_t store) {
  Instruction& st = function.instructions[store];
  if (st.opcode != "st" || !is_plain(st) || st.operands.size() != 2) return false;
  const std::optional<std::size_t> operation = definition(function, store, st.operands[1]);
  if (!operation || !is_within[*operation]) return false;
  const Instruction& op = function.instructions[*operation];
  static constexpr const char* operations[] = {"add", "min", "max", "and", "or", "xor"};
  if (std::ranges::find(operations, op.opcode) == std::end(operations) || op.operands.size() != 3) return false;
  for (const unsigned old : {1u, 2u}) {
    const std::optional<std::size_t> load = definition(function, *operation, op.operands[old]);
    if (!load || !is_within[*load]) continue;
    Instruction& ld = function.instructions[*load];
    if (ld.opcode != "ld" || !is_plain(ld) || ld.operands.size() != 2 ||
        !is_same_address(ld.operands[1], st.operands[0]))
      continue;
    if (is_used_between(function, *load, *operation, ld.operands[0]) ||
        is_used_between(function, *operation, store, st.operands[1]))
      continue;
    Instruction atom = st;
    atom.opcode = "atom";
    atom.modifiers.clear();
    if (st.has_any({"global", "shared"})) atom.modifiers.push_back(st.has("global") ? "global" : "shared");
    const std::string& type = op.modifiers.back();
    atom.modifiers.push_back(op.opcode);
    atom.modifiers.push_back(op.opcode == "add" && type.starts_with('s') ? "u" + type.substr(1) : type);
    atom.operands = {ld.operands[0], st.operands[0], op.operands[3 - old]};
    ld = nothing_for(ld);
    st = op;
    function.instructions[*operation] = std::move(atom);
    return true;
  }
  return false;
}

bool amend(ptx::Function& function, const std::vector<bool>& within, Change change) {
  const std::vector<bool> is_within = instructions_within(function, within);
  bool is_changed = false;
  for (std::size_t k = 0; k < is_within.size(); ++k) {
    if (!is_within[k]) continue;
    Instruction& instruction = function.instructions[k];
    if (change == Change::strong) {
      is_changed |= make_strong(instruction);
    } else if (change == Change::atomic) {
      is_changed |= make_atomic(function, is_within, k);
    } else if ((instruction.opcode == "bar" || instruction.opcode == "barrier") && !instruction.has("warp")) {
      instruction = nothing_for(instruction);
      is_changed = true;
    }
  }
  return is_changed;
}

bool fill_in_marks(ptx::Function& function, const Amendment& amendment) {
  bool is_changed = false;
  for (Instruction& instruction : function.instructions) {
    if (instruction.opcode != "pmevent" || instruction.operands.empty()) continue;
    const std::uint64_t mark = instruction.operands.front().bits;
    const bool is_besides = std::ranges::find(amendment.barriers, mark) != amendment.barriers.end();
    if (mark != amendment.line && !is_besides) continue;
    fill_in(instruction, mark == amendment.line ? amendment.change : Change::barrier);
    is_changed = true;
  }
  return is_changed;
}

}  // namespace

bool amend(ptx::Module& module, const Amendment& amendment) {
  const bool is_marked = amendment.change == Change::barrier || amendment.change == Change::warp_barrier ||
                         amendment.change == Change::fence;
  const std::vector<bool> within = is_marked ? std::vector<bool>() : places_within(module, amendment);
  // Before the marks are filled in: the same line may have one.
  if (amendment.without && !amend(module, {.change = Change::without_barrier, .line = amendment.without})) return false;
  bool is_changed = false;
  for (ptx::Function& function : module.functions)
    if (function.is_defined)
      is_changed |= is_marked ? fill_in_marks(function, amendment) : amend(function, within, amendment.change);
  return is_changed;
}

}  // namespace scanlab::grade
