#include "vgpu/core/decode/cfg.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "vgpu/core/decode/opcodes.hpp"

namespace scanlab::vgpu {
namespace {

/// Bourdoncle's recursive strategy; appends blocks in reverse order.
class TopologicalOrder {
 public:
  explicit TopologicalOrder(const std::vector<BasicBlock>& blocks) : blocks_(blocks), number_(blocks.size(), 0) {}

  std::vector<std::uint32_t> order() {
    std::vector<std::uint32_t> reversed;
    for (std::uint32_t v = 0; v < blocks_.size(); ++v)
      if (number_[v] == 0) {
        // Unreachable blocks come last: prepend the reachable part before them.
        std::vector<std::uint32_t> part;
        visit(v, part);
        reversed.insert(reversed.begin(), part.begin(), part.end());
      }
    std::reverse(reversed.begin(), reversed.end());
    return reversed;
  }

 private:
  static constexpr std::uint32_t done = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t visit(std::uint32_t v, std::vector<std::uint32_t>& reversed) {
    stack_.push_back(v);
    number_[v] = ++next_;
    std::uint32_t head = number_[v];
    bool is_loop = false;
    for (const std::uint32_t s : blocks_[v].successors) {
      const std::uint32_t low = number_[s] == 0 ? visit(s, reversed) : number_[s];
      if (low <= head) {
        head = low;
        is_loop = true;
      }
    }
    if (head != number_[v]) return head;
    number_[v] = done;
    std::uint32_t element = pop();
    if (is_loop) {
      while (element != v) {
        number_[element] = 0;
        element = pop();
      }
      for (const std::uint32_t s : blocks_[v].successors)
        if (number_[s] == 0) visit(s, reversed);
    }
    reversed.push_back(v);
    return head;
  }

  std::uint32_t pop() {
    const std::uint32_t v = stack_.back();
    stack_.pop_back();
    return v;
  }

  const std::vector<BasicBlock>& blocks_;
  std::vector<std::uint32_t> number_, stack_;
  std::uint32_t next_ = 0;
};

}  // namespace

ControlFlow control_flow(const ptx::Function& function) {
  const auto count = static_cast<std::uint32_t>(function.instructions.size());
  std::vector<bool> leads(count + 1, false);
  if (count) leads[0] = true;
  for (const auto& [label, index] : function.labels)
    if (index >= 0 && static_cast<std::uint32_t>(index) < count) leads[static_cast<std::uint32_t>(index)] = true;
  for (std::uint32_t k = 0; k < count; ++k) {
    const ptx::Instruction& in = function.instructions[k];
    // The lanes may diverge after it.
    if (opcode_of(in).next != Opcode::Next::following || is_branched_around(in)) leads[k + 1] = true;
    if (is_branched_around(in)) leads[k] = true;
  }

  ControlFlow flow;
  flow.block_of.resize(count);
  for (std::uint32_t k = 0; k < count; ++k) {
    if (leads[k]) flow.blocks.push_back({k, k, {}, 0, 0});
    flow.blocks.back().end = k + 1;
    flow.block_of[k] = static_cast<std::uint32_t>(flow.blocks.size() - 1);
  }
  const auto blocks = static_cast<std::uint32_t>(flow.blocks.size());
  for (std::uint32_t b = 0; b < blocks; ++b) {
    BasicBlock& block = flow.blocks[b];
    const ptx::Instruction& last = function.instructions[block.end - 1];
    const auto add = [&](std::uint32_t to) {
      if (to < blocks && std::find(block.successors.begin(), block.successors.end(), to) == block.successors.end())
        block.successors.push_back(to);
    };
    const Opcode::Next next = opcode_of(last).next;
    if (next == Opcode::Next::following || last.guard >= 0) add(b + 1);
    const auto add_target = [&](std::int64_t instruction) {
      if (instruction >= 0 && instruction < count) add(flow.block_of[static_cast<std::size_t>(instruction)]);
    };
    if (next != Opcode::Next::target) continue;
    for (const ptx::Operand& o : last.operands) {
      add_target(o.target);
      if (const auto targets = function.branch_targets.find(o.name); targets != function.branch_targets.end())
        for (const std::string& label : targets->second)
          if (const auto at = function.labels.find(label); at != function.labels.end()) add_target(at->second);
    }
  }
  for (const BasicBlock& block : flow.blocks)
    for (const std::uint32_t s : block.successors) ++flow.blocks[s].predecessors;
  // A block that is branched around is also reached from before itself.
  std::uint32_t rank = 0;
  for (const std::uint32_t b : TopologicalOrder(flow.blocks).order()) flow.blocks[b].rank = rank++;
  return flow;
}

std::vector<Loop> loops_around(const ControlFlow& flow, std::uint32_t block) {
  std::vector<Loop> loops;
  for (std::uint32_t last = 0; last < flow.blocks.size(); ++last)
    for (const std::uint32_t head : flow.blocks[last].successors) {
      if (flow.blocks[head].rank > flow.blocks[last].rank) continue;
      std::vector<bool> is_inside(flow.blocks.size(), false);
      is_inside[head] = is_inside[last] = true;
      for (bool grows = true; std::exchange(grows, false);)
        for (std::uint32_t b = 0; b < flow.blocks.size(); ++b) {
          if (is_inside[b]) continue;
          const auto leads_in = [&](std::uint32_t s) { return s != head && is_inside[s]; };
          if (!std::ranges::any_of(flow.blocks[b].successors, leads_in)) continue;
          is_inside[b] = grows = true;
        }
      if (!is_inside[block]) continue;
      Loop loop{last, {}};
      for (std::uint32_t b = 0; b < flow.blocks.size(); ++b)
        if (is_inside[b]) loop.blocks.push_back(b);
      loops.push_back(std::move(loop));
    }
  std::ranges::stable_sort(loops, {}, [](const Loop& loop) { return loop.blocks.size(); });
  return loops;
}

}  // namespace scanlab::vgpu
