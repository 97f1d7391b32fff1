#include "vgpu/core/decode/waiting.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/decode/operands.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

/// Whether the instruction reads one of the registers.
bool uses(const Instruction& in, const std::vector<bool>& registers) {
  bool found = in.guard >= 0 && registers[static_cast<std::size_t>(in.guard)];
  for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k) {
    const Operand& operand = in.operands[k];
    if (operand.kind == Operand::Kind::address && operand.reg >= 0)
      found = found || registers[static_cast<std::size_t>(operand.reg)];
    for_each_register(operand, [&](std::int32_t r) { found = found || registers[static_cast<std::size_t>(r)]; });
  }
  return found;
}

}  // namespace

Waiting::Waiting(const ptx::Function& function, const ControlFlow& flow, const Liveness& liveness)
    : function_(function), flow_(flow), liveness_(liveness), waits_(function.instructions.size(), false) {
  for (std::uint32_t k = 0; k < waits_.size(); ++k)
    if (const Instruction& in = function.instructions[k];
        in.opcode == "mbarrier" && in.has_any({"test_wait", "try_wait"}))
      mark_loop_of(k);
}

bool Waiting::is_only_for_waiting(std::uint32_t instruction) const {
  Registers follows(function_.registers.size(), false);
  const auto marks = [&](const Instruction& in) {
    bool is_new = false;
    for_each_register(in.operands[0], [&](std::int32_t r) {
      is_new = is_new || !follows[static_cast<std::size_t>(r)];
      follows[static_cast<std::size_t>(r)] = true;
    });
    return is_new;
  };
  for (bool has_changed = marks(function_.instructions[instruction]); has_changed;) {
    has_changed = false;
    for (std::uint32_t i = 0; i < waits_.size(); ++i) {
      const Instruction& in = function_.instructions[i];
      if (waits_[i] || !uses(in, follows)) continue;
      if (!is_one_of(in.opcode, {"mov", "add", "sub", "cvt"})) return false;
      has_changed = marks(in) || has_changed;
    }
  }
  return true;
}

/// Marks the loop around the test, if it only waits.
void Waiting::mark_loop_of(std::uint32_t test) {
  const Blocks body = body_around(test);
  if (has_effect(body, test)) return;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> exits;
  for (const std::uint32_t b : body)
    for (const std::uint32_t next : flow_.blocks[b].successors)
      if (!std::ranges::binary_search(body, next)) exits.emplace_back(b, next);
  if (exits.size() != 1) return;
  const auto [from, to] = exits.front();
  Registers set = set_in(body);
  forget_invariants(body, set);
  for (const std::int32_t r : liveness_.live_before(flow_.blocks[to].begin))
    if (set[static_cast<std::size_t>(r)]) return;  // what is behind the loop knows how it waited
  if (!is_left_by_test(from, test)) return;
  for (const std::uint32_t b : body)
    for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i) waits_[i] = true;
}

/// The innermost loop around an instruction, with all of its ways back.
Waiting::Blocks Waiting::body_around(std::uint32_t instruction) const {
  Blocks body;
  std::uint32_t head = 0;
  for (const Loop& loop : loops_around(flow_, flow_.block_of[instruction])) {
    const std::uint32_t head_of_loop = head_of(loop.blocks);
    if (!body.empty() && head_of_loop != head) break;
    head = head_of_loop;
    Blocks both;
    std::ranges::set_union(body, loop.blocks, std::back_inserter(both));
    body = std::move(both);
  }
  return body;
}

/// The block at which control enters these blocks. Returns the number of all blocks if there are several.
std::uint32_t Waiting::head_of(const Blocks& body) const {
  const auto none = static_cast<std::uint32_t>(flow_.blocks.size());
  std::uint32_t head = none;
  for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
    if (std::ranges::binary_search(body, b)) continue;
    for (const std::uint32_t next : flow_.blocks[b].successors) {
      if (!std::ranges::binary_search(body, next) || next == head) continue;
      if (head != none) return none;
      head = next;
    }
  }
  return head;
}

/// Whether a loop around the test does more than compute, sleep and jump.
bool Waiting::has_effect(const Blocks& body, std::uint32_t test) const {
  for (const std::uint32_t b : body)
    for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i) {
      const Instruction& in = function_.instructions[i];
      const bool computes = is_one_of(
          in.opcode, {"mov", "selp", "setp", "not", "and", "or", "add", "sub", "shr", "shl", "cvt", "min", "max"});
      if (!computes && !is_one_of(in.opcode, {"bra", "nanosleep"}) && i != test) return true;
      if (in.guard >= 0 && in.opcode != "bra") return true;
    }
  return false;
}

/// The registers that the blocks set.
Waiting::Registers Waiting::set_in(const Blocks& body) const {
  Registers set(function_.registers.size(), false);
  for (const std::uint32_t b : body)
    for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i)
      if (const Instruction& in = function_.instructions[i]; has_destination(in))
        for_each_register(in.operands[0], [&](std::int32_t r) { set[static_cast<std::size_t>(r)] = true; });
  return set;
}

/// Removes from `set`, the registers that a loop sets, those that get the same value in each turn.
void Waiting::forget_invariants(const Blocks& body, Registers& set) const {
  std::vector<unsigned> definitions(set.size(), 0);
  const auto for_each_in_body = [&](auto visit) {
    for (const std::uint32_t b : body)
      for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i)
        if (const Instruction& in = function_.instructions[i]; has_destination(in)) visit(in);
  };
  for_each_in_body([&](const Instruction& in) {
    for_each_register(in.operands[0], [&](std::int32_t r) { ++definitions[static_cast<std::size_t>(r)]; });
  });
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for_each_in_body([&](const Instruction& in) {
      const auto is_special = [](const Operand& operand) { return operand.kind == Operand::Kind::special; };
      if (in.opcode == "mbarrier" || uses(in, set) || std::ranges::any_of(in.operands, is_special)) return;
      for_each_register(in.operands[0], [&](std::int32_t r) {
        const auto at = static_cast<std::size_t>(r);
        if (definitions[at] != 1 || !set[at]) return;
        set[at] = false;
        has_changed = true;
      });
    });
  }
}

/// Whether the branch at the end of the block depends on what the test says, and on nothing else.
bool Waiting::is_left_by_test(std::uint32_t block, std::uint32_t test) const {
  Registers of_test(function_.registers.size(), false);
  const auto mark = [&](const Instruction& in, bool value) {
    for_each_register(in.operands[0], [&](std::int32_t r) { of_test[static_cast<std::size_t>(r)] = value; });
  };
  for (std::uint32_t i = flow_.blocks[block].begin; i < flow_.blocks[block].end; ++i) {
    const Instruction& in = function_.instructions[i];
    bool is_of_test = i == test;
    if (!is_of_test && is_one_of(in.opcode, {"mov", "selp", "setp", "not"})) is_of_test = uses(in, of_test);
    if (has_destination(in)) mark(in, is_of_test);
    for (std::size_t k = 1; is_of_test && i != test && k < in.operands.size(); ++k)
      for_each_register(in.operands[k], [&](std::int32_t r) {
        if (!of_test[static_cast<std::size_t>(r)]) mark(in, false);
      });
  }
  const Instruction& last = function_.instructions[flow_.blocks[block].end - 1];
  return last.opcode == "bra" && last.guard >= 0 && of_test[static_cast<std::size_t>(last.guard)];
}

}  // namespace scanlab::vgpu
