#include "vgpu/core/decode/dependences.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "vgpu/core/decode/image.hpp"
#include "vgpu/core/decode/opcodes.hpp"
#include "vgpu/core/decode/operands.hpp"
#include "vgpu/core/decode/waiting.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

/// The special registers that a launch and a thread's place in it decide; two of %envreg have a grid's barrier.
constexpr std::string_view of_the_launch[] = {"%tid.",
                                              "%ntid.",
                                              "%ctaid.",
                                              "%nctaid.",
                                              "%laneid",
                                              "%lanemask_",
                                              "%cluster",
                                              "%nclusterid.",
                                              "%is_explicit_cluster",
                                              "%dynamic_smem_size"};
constexpr std::string_view of_time[] = {"%clock", "%globaltimer", "%pm"};

/// What a special register says, besides the place of a thread in its launch.
std::optional<Dependence> dependence_of(const Operand& operand) {
  const auto begins = [&](std::string_view prefix) { return operand.name.starts_with(prefix); };
  const bool has_barrier = operand.name == "%envreg1" || operand.name == "%envreg2";
  if (operand.kind == Operand::Kind::special && !has_barrier && !std::ranges::any_of(of_the_launch, begins))
    return std::ranges::any_of(of_time, begins) ? Dependence::clock : Dependence::place;
  for (const Operand& element : operand.elements)
    if (const auto found = dependence_of(element)) return found;
  return std::nullopt;
}

/// Which functions an instruction may call, also by a pointer.
std::vector<const ptx::Function*> callees(const ptx::Module& module, const Instruction& in) {
  std::vector<const ptx::Function*> found;
  if (in.opcode != "call") return found;
  const auto add = [&](const std::string& name) {
    if (const ptx::Function* const callee = module.find_function(name)) found.push_back(callee);
  };
  for (const Operand& operand : in.operands) add(operand.name);
  if (calls_indirectly(in))
    for (const std::string& name : addresses_taken(module)) add(name);
  return found;
}

/// Whether a function may call `target`, or others that do; `seen` are those on the way, and those that do not.
bool reaches(const ptx::Module& module, const ptx::Function& from, const ptx::Function& target,
             std::set<const ptx::Function*>& seen) {
  if (&from == &target) return true;
  if (!seen.insert(&from).second) return false;
  return std::ranges::any_of(from.instructions, [&](const Instruction& in) {
    return std::ranges::any_of(callees(module, in),
                               [&](const ptx::Function* callee) { return reaches(module, *callee, target, seen); });
  });
}

/// Whether a call in `function` may come back to it.
bool recurs(const ptx::Module& module, const ptx::Function& function, const Instruction& call) {
  std::set<const ptx::Function*> seen;
  return std::ranges::any_of(callees(module, call),
                             [&](const ptx::Function* callee) { return reaches(module, *callee, function, seen); });
}

/// Whether all that reads the cache policy that an instruction makes are memory instructions, as their policy.
bool is_only_policy(const ptx::Function& function, const Instruction& made) {
  bool is_only = true;
  for (const Instruction& in : function.instructions)
    for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k)
      for_each_register(in.operands[k], [&](std::int32_t r) {
        if (r != made.operands[0].reg) return;
        is_only = is_only && in.has("L2::cache_hint") && k + 1 == in.operands.size();
      });
  return is_only;
}

/// Does PTX leave open what this does, or may it? All lanes have to agree on a branch that is called uniform and on the
/// address of ldu, fns begins at a lane, the layout of tf32 is the implementation's, and an atomic on a pair of halves
/// is one on each.
bool is_open(const Instruction& in) {
  const bool is_atomic = in.opcode == "atom" || in.opcode == "red";
  const auto is_lane = [](const Operand& base) { return base.kind == Operand::Kind::integer && base.bits < warp_size; };
  if (in.opcode == "ldu" || (in.opcode == "fns" && (in.operands.size() < 3 || !is_lane(in.operands[2])))) return true;
  return (in.has("uni") && in.guard >= 0) || in.has("tf32") || (is_atomic && in.has_any({"f16x2", "bf16x2"}));
}

/// Is this an operation on floats for which the instruction chooses no rounding? ptxas may make one of two such.
bool may_contract(const Instruction& in) {
  constexpr auto is_rounding = [](const std::string& word) {
    return word == "rn" || word == "rz" || word == "rm" || word == "rp";
  };
  return in.has_any({"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"}) &&
         std::ranges::none_of(in.modifiers, is_rounding);
}

/// Does a sum that may become one operation with it take this product, also negated, or by another register?
bool may_be_contracted(const ptx::Function& function, const Instruction& product) {
  if (product.opcode != "mul" || !may_contract(product)) return false;
  static constexpr std::string_view passing[] = {"mov", "neg", "abs", "selp", "copysign"};
  std::set<std::int32_t> holding{product.operands[0].reg};
  const auto takes = [&](const Instruction& in) {
    bool is_taken = false;
    for (std::size_t k = 1; k < in.operands.size(); ++k)
      for_each_register(in.operands[k], [&](std::int32_t r) { is_taken |= holding.contains(r); });
    return is_taken;
  };
  for (std::size_t before = 0; before != holding.size();) {
    before = holding.size();
    for (const Instruction& in : function.instructions)
      if (std::ranges::find(passing, in.opcode) != std::end(passing) && takes(in))
        for_each_definition(in, [&](std::int32_t r) { holding.insert(r); });
  }
  return std::ranges::any_of(function.instructions, [&](const Instruction& in) {
    return (in.opcode == "add" || in.opcode == "sub") && may_contract(in) && takes(in);
  });
}

/// Does the instruction take a carry that nothing before it in its basic block has left?
bool has_lost_carry(const ptx::Function& function, const ControlFlow& flow, std::uint32_t at) {
  const std::string& taker = function.instructions[at].opcode;
  if (taker != "addc" && taker != "subc" && taker != "madc") return false;
  for (std::uint32_t k = at; k > flow.blocks[flow.block_of[at]].begin;) {
    const Instruction& before = function.instructions[--k];
    if (before.opcode == "call") return true;
    if (before.has("cc")) return before.guard >= 0;
  }
  return true;
}

/// Registers that an instruction writes in each lane that comes to it.
void for_each_written(const Instruction& in, const std::function<void(std::int32_t)>& visit) {
  if (in.guard < 0) for_each_definition(in, visit);
}

/// By block of `flow`: which of the registers that may be read before they are written no instruction on some way to
/// the block has written.
std::vector<RegisterSet> unwritten_before(const ptx::Function& function, const ControlFlow& flow,
                                          const std::vector<std::int32_t>& registers) {
  std::vector<RegisterSet> unwritten(flow.blocks.size(), RegisterSet(function.registers.size()));
  if (registers.empty() || flow.blocks.empty()) return unwritten;
  for (const std::int32_t r : registers) {
    std::vector<std::uint32_t> todo{0};
    for (unwritten[0].set(r); !todo.empty();) {
      const BasicBlock& block = flow.blocks[todo.back()];
      todo.pop_back();
      bool is_written = false;
      for (std::uint32_t k = block.begin; k < block.end; ++k)
        for_each_written(function.instructions[k], [&](std::int32_t written) { is_written |= written == r; });
      for (const std::uint32_t next : block.successors) {
        if (is_written || unwritten[next][r]) continue;
        unwritten[next].set(r);
        todo.push_back(next);
      }
    }
  }
  return unwritten;
}

/// Marks the instructions that may read a register that nothing has written.
void find_blanks(const ptx::Function& function, const ControlFlow& flow, const Liveness& liveness,
                 std::vector<std::optional<Dependence>>& found) {
  if (function.instructions.empty()) return;
  const std::vector<std::int32_t> registers = liveness.live_before(0);
  if (registers.empty()) return;
  std::vector<RegisterSet> unwritten = unwritten_before(function, flow, registers);
  for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
    std::map<std::int32_t, const Instruction*> under;  // what a predicate lets write a register, of the same block
    for (std::uint32_t k = flow.blocks[b].begin; k < flow.blocks[b].end; ++k) {
      const Instruction& in = function.instructions[k];
      for_each_use(in, [&](std::int32_t r) {
        const auto written = under.find(r);
        const bool is_under_same = written != under.end() && written->second->guard == in.guard &&
                                   written->second->guard_negated == in.guard_negated;
        if (unwritten[b][r] && !is_under_same && !found[k]) found[k] = Dependence::blank;
      });
      for_each_written(in, [&](std::int32_t r) { unwritten[b].reset(r); });
      for_each_definition(in, [&](std::int32_t r) {
        std::erase_if(under, [&](const auto& one) { return one.second->guard == r; });
        if (in.guard >= 0) under[r] = &in;
      });
    }
  }
}

}  // namespace

std::vector<std::optional<Dependence>> dependences(const ptx::Module& module, const ptx::Function& function,
                                                   const ControlFlow& flow, const Liveness& liveness) {
  const Waiting waiting(function, flow, liveness);
  std::vector<std::optional<Dependence>> found(function.instructions.size());
  for (std::uint32_t k = 0; k < found.size(); ++k) {
    const Instruction& in = function.instructions[k];
    if (waiting.has(k)) continue;
    for (const Operand& operand : in.operands)
      if (!found[k]) found[k] = dependence_of(operand);
    if (found[k]) {
      if (found[k] == Dependence::clock && waiting.is_only_for_waiting(k)) found[k].reset();
    } else if (in.opcode == "activemask" || in.opcode == "elect") {
      found[k] = Dependence::active_lanes;
    } else if (in.opcode == "mbarrier" && in.has_any({"test_wait", "try_wait", "pending_count"})) {
      found[k] = Dependence::barrier_state;
    } else if (in.opcode == "mbarrier" && in.has_any({"arrive", "arrive_drop"}) && has_destination(in)) {
      // The phase that it returns says how many are missing.
      if (!waiting.is_only_for_waiting(k)) found[k] = Dependence::barrier_state;
    } else if (in.opcode == "call" && std::ranges::find(in.operands, "malloc", &Operand::name) != in.operands.end()) {
      found[k] = Dependence::heap_place;
    } else if (in.opcode == "alloca" || in.opcode == "stacksave" || recurs(module, function, in)) {
      found[k] = Dependence::stack;
    } else if (in.opcode == "createpolicy" && !is_only_policy(function, in)) {
      found[k] = Dependence::opaque_bits;
    } else if (is_open(in)) {
      found[k] = Dependence::open_form;
    } else if (in.has_any({"approx", "full"})) {
      found[k] = Dependence::approximation;
    } else if (may_be_contracted(function, in)) {
      found[k] = Dependence::contraction;
    } else if (has_lost_carry(function, flow, k)) {
      found[k] = Dependence::lost_carry;
    } else if (in.opcode == "discard") {
      found[k] = Dependence::discarded;
    }
  }
  find_blanks(function, flow, liveness, found);
  return found;
}

std::set<std::uint32_t> heads_around_barriers(const ptx::Function& function, const ControlFlow& flow) {
  std::set<std::uint32_t> heads;
  for (std::uint32_t k = 0; k < function.instructions.size(); ++k) {
    const Instruction& in = function.instructions[k];
    const bool is_barrier = (in.opcode == "bar" || (in.opcode == "barrier" && in.has("aligned"))) && !in.has("warp");
    // A call may have one in its function.
    if (!is_barrier && in.opcode != "call") continue;
    for (const Loop& loop : loops_around(flow, flow.block_of[k]))
      for (const std::uint32_t next : flow.blocks[loop.last].successors)
        if (std::ranges::binary_search(loop.blocks, next) && flow.blocks[next].rank <= flow.blocks[loop.last].rank)
          heads.insert(flow.blocks[next].begin);
  }
  return heads;
}

}  // namespace scanlab::vgpu
