#include "vgpu/core/decode/liveness.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "vgpu/core/decode/opcodes.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Operand;
using Kind = ptx::Operand::Kind;

void registers_of(const Operand& o, const std::function<void(std::int32_t)>& visit) {
  if ((o.kind == Kind::reg || o.kind == Kind::address) && o.reg >= 0) visit(o.reg);
  for (const Operand& e : o.elements) registers_of(e, visit);
}

/// Which bytes of the .param variables of a function have been written within a basic block.
class WrittenSlots {
 public:
  explicit WrittenSlots(const ptx::Function& function) {
    for (const ptx::Variable& v : function.variables)
      if (v.space == ptx::StateSpace::param) written_[v.name].assign(v.size, false);
  }

  void clear() {
    for (auto& [name, bytes] : written_) std::fill(bytes.begin(), bytes.end(), false);
  }
  void write(const std::string& name, std::uint64_t offset, std::uint64_t count) {
    if (const auto it = written_.find(name); it != written_.end())
      for (std::uint64_t k = offset; k < std::min<std::uint64_t>(offset + count, it->second.size()); ++k)
        it->second[k] = true;
  }
  void write_all(const std::string& name) { write(name, 0, ~std::uint64_t{0}); }
  bool has(const std::string& name, std::uint64_t offset, std::uint64_t count) const {
    const auto it = written_.find(name);
    if (it == written_.end()) return true;
    for (std::uint64_t k = offset; k < std::min<std::uint64_t>(offset + count, it->second.size()); ++k)
      if (!it->second[k]) return false;
    return true;
  }
  bool has_all(const std::string& name) const { return has(name, 0, ~std::uint64_t{0}); }

 private:
  std::map<std::string, std::vector<bool>> written_;
};

bool is_of_slot(const ptx::Instruction& in, std::size_t operand) {
  return in.operands.size() > operand && in.operands[operand].kind == Kind::address && in.operands[operand].reg < 0 &&
         std::any_of(in.modifiers.begin(), in.modifiers.end(), [](const auto& m) { return m.starts_with("param"); });
}

}  // namespace

std::uint64_t bytes_moved(const ptx::Instruction& in) {
  std::uint64_t bytes = 0;
  for (const std::string& word : in.modifiers)
    if (const ptx::Type t = ptx::type_from_suffix(word); t != ptx::Type::none) bytes = ptx::size_of(t);
  for (const auto& [word, elements] : {std::pair{"v2", 2}, {"v4", 4}, {"v8", 8}})
    if (in.has(word)) bytes *= elements;
  return bytes;
}

void for_each_definition(const ptx::Instruction& in, const std::function<void(std::int32_t)>& visit) {
  if (has_destination(in)) registers_of(in.operands[0], visit);
}

void for_each_use(const ptx::Instruction& in, const std::function<void(std::int32_t)>& visit) {
  if (in.guard >= 0) visit(in.guard);
  for (std::size_t k = has_destination(in) ? 1 : 0; k < in.operands.size(); ++k) registers_of(in.operands[k], visit);
}

/// Before an instruction of the block, as far as is known by now of those that follow it.
RegisterSet Liveness::live_at(const BasicBlock& block, std::uint32_t instruction) const {
  RegisterSet live(function_.registers.size());
  for (const std::uint32_t s : block.successors) live.unite(live_in_[s]);
  for (std::uint32_t k = block.end; k-- > instruction;) {
    const ptx::Instruction& in = function_.instructions[k];
    if (in.guard < 0) for_each_definition(in, [&](std::int32_t r) { live.reset(r); });
    for_each_use(in, [&](std::int32_t r) { live.set(r); });
  }
  return live;
}

Liveness::Liveness(const ptx::Function& function, const ControlFlow& flow) : function_(function), flow_(flow) {
  live_in_.assign(flow_.blocks.size(), RegisterSet(function_.registers.size()));
  for (bool changes = true; changes;) {
    changes = false;
    for (std::size_t b = flow_.blocks.size(); b-- > 0;) {
      RegisterSet live = live_at(flow_.blocks[b], flow_.blocks[b].begin);
      if (live == live_in_[b]) continue;
      live_in_[b] = std::move(live);
      changes = true;
    }
  }
}

std::vector<std::int32_t> Liveness::live_before(std::uint32_t instruction) const {
  const RegisterSet live = live_at(flow_.blocks[flow_.block_of[instruction]], instruction);
  std::vector<std::int32_t> registers;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(function_.registers.size()); ++r)
    if (live[r]) registers.push_back(r);
  return registers;
}

bool Liveness::is_used(std::uint32_t instruction) const {
  const RegisterSet live = live_at(flow_.blocks[flow_.block_of[instruction]], instruction + 1);
  bool is_used = false;
  for_each_definition(function_.instructions[instruction], [&](std::int32_t r) { is_used |= live[r]; });
  return is_used;
}

std::vector<std::string> slots_read_unwritten(const ptx::Function& function, const ControlFlow& flow) {
  std::set<std::string> found;
  WrittenSlots written(function);
  for (const BasicBlock& block : flow.blocks) {
    written.clear();
    for (std::uint32_t k = block.begin; k < block.end; ++k) {
      const ptx::Instruction& in = function.instructions[k];
      if (in.opcode == "st" && is_of_slot(in, 0)) {
        const Operand& to = in.operands[0];
        if (in.guard < 0) written.write(to.name, static_cast<std::uint64_t>(to.offset), bytes_moved(in));
      } else if (in.opcode == "ld" && is_of_slot(in, 1)) {
        const Operand& from = in.operands[1];
        if (!written.has(from.name, static_cast<std::uint64_t>(from.offset), bytes_moved(in))) found.insert(from.name);
      } else if (in.opcode == "call") {
        // (results), callee, (arguments)
        const bool has_results = !in.operands.empty() && in.operands[0].kind == Kind::vector;
        for (std::size_t o = has_results ? 1 : 0; o < in.operands.size(); ++o)
          for (const Operand& argument : in.operands[o].elements)
            if (!written.has_all(argument.name)) found.insert(argument.name);
        if (has_results && in.guard < 0)
          for (const Operand& result : in.operands[0].elements) written.write_all(result.name);
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace scanlab::vgpu
