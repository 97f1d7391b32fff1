#include "vgpu/checks/line_shape.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "vgpu/core/decode/address_base.hpp"
#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

bool is_load(const Instruction& in) {
  return in.opcode == "ld" && !in.has_any({"param", "const", "local"});
}
bool is_store(const Instruction& in) {
  return in.opcode == "st" && !in.has_any({"param", "local"});
}

bool is_same_address(const Operand& a, const Operand& b) {
  return a.reg == b.reg && a.name == b.name && a.offset == b.offset && a.bits == b.bits;
}

/// Does what the operand holds come from a load of the array?
bool comes_from(const ptx::Function& function, const Operand& operand, const AddressBase& base,
                std::set<std::int32_t>& seen) {
  if (!operand.elements.empty())
    return std::ranges::any_of(operand.elements,
                               [&](const Operand& one) { return comes_from(function, one, base, seen); });
  if (operand.reg < 0 || !seen.insert(operand.reg).second) return false;
  return std::ranges::any_of(function.instructions, [&](const Instruction& in) {
    if (in.operands.empty() || in.opcode == "st" || in.opcode == "red") return false;
    const Operand& to = in.operands.front();
    const auto is_it = [&](const Operand& one) { return one.kind == Operand::Kind::reg && one.reg == operand.reg; };
    if (!is_it(to) && std::ranges::none_of(to.elements, is_it)) return false;
    if (is_load(in)) {
      const Operand* const from = address_of(in);
      const std::optional<AddressBase> of = from ? base_of(function, *from) : std::nullopt;
      return !of || *of == base;
    }
    return std::any_of(in.operands.begin() + 1, in.operands.end(),
                       [&](const Operand& source) { return comes_from(function, source, base, seen); });
  });
}

/// The registers of an operand.
void add_registers(const Operand& operand, std::set<std::int32_t>& to) {
  if (operand.reg >= 0) to.insert(operand.reg);
  for (const Operand& one : operand.elements) add_registers(one, to);
}

bool has_register_of(const Operand& operand, const std::set<std::int32_t>& some) {
  if (operand.reg >= 0 && some.contains(operand.reg)) return true;
  return std::ranges::any_of(operand.elements, [&](const Operand& one) { return has_register_of(one, some); });
}

/// The registers whose values depend on what an instruction puts into its own.
std::set<std::int32_t> depending_on(const ptx::Function& function, const Instruction& from) {
  std::set<std::int32_t> registers;
  add_registers(from.operands.front(), registers);
  for (std::size_t before = 0; before != registers.size();) {
    before = registers.size();
    for (const Instruction& in : function.instructions) {
      if (in.operands.empty() || is_store(in) || in.opcode == "red" || in.opcode == "bra") continue;
      const bool depends = (in.guard >= 0 && registers.contains(in.guard)) ||
                           std::any_of(in.operands.begin() + 1, in.operands.end(),
                                       [&](const Operand& source) { return has_register_of(source, registers); });
      if (depends) add_registers(in.operands.front(), registers);
    }
  }
  return registers;
}

bool decides_a_loop(const ptx::Function& function, const ControlFlow& flow, std::size_t read) {
  const std::vector<Loop> loops = loops_around(flow, flow.block_of[read]);
  if (loops.empty()) return false;
  const std::set<std::int32_t> registers = depending_on(function, function.instructions[read]);
  return std::ranges::any_of(loops, [&](const Loop& loop) {
    return std::ranges::any_of(loop.blocks, [&](std::uint32_t b) {
      const BasicBlock& block = flow.blocks[b];
      const Instruction& last = function.instructions[block.end - 1];
      return last.guard >= 0 && registers.contains(last.guard) &&
             std::ranges::any_of(block.successors,
                                 [&](std::uint32_t to) { return !std::ranges::binary_search(loop.blocks, to); });
    });
  });
}

}  // namespace

bool decides_a_loop(const KernelInfo& kernel, std::uint32_t line) {
  if (!kernel.module) return false;
  // A compiler takes the first turn of a loop out of it: any read of the place counts.
  const auto places = places_of(*kernel.module, line);
  const auto is_there = [&](std::uint32_t other) {
    if (other == line) return true;
    const auto of = places_of(*kernel.module, other);
    return std::ranges::equal(places, of, [](const SourcePlace& a, const SourcePlace& b) {
      return a.is_same_line(b) && a.column == b.column;
    });
  };
  return std::ranges::any_of(kernel.module->functions, [&](const ptx::Function& function) {
    std::optional<ControlFlow> flow;
    for (std::size_t k = 0; k < function.instructions.size(); ++k) {
      const Instruction& in = function.instructions[k];
      if ((!is_load(in) && in.opcode != "atom") || in.operands.empty() || !is_there(in.line)) continue;
      if (!flow) flow = control_flow(function);
      if (decides_a_loop(function, *flow, k)) return true;
    }
    return false;
  });
}

bool combines_elements(const KernelInfo& kernel, const SourcePlace& line) {
  const ptx::Function* const function = kernel.module ? kernel.module->find_function(kernel.name) : nullptr;
  if (!function) return false;
  std::map<AddressBase, std::pair<int, int>> loads_and_stores;
  for (const Instruction& in : function->instructions) {
    if (!is_load(in) && !is_store(in)) continue;
    if (!own_place(*kernel.module, in.line).is_same_line(line)) continue;
    const Operand* const address = address_of(in);
    const std::optional<AddressBase> base = address ? base_of(*function, *address) : std::nullopt;
    if (base) ++(is_load(in) ? loads_and_stores[*base].first : loads_and_stores[*base].second);
  }
  return std::ranges::any_of(loads_and_stores, [](const auto& of) {
    const auto [loads, stores] = of.second;
    return stores > 0 && loads > stores;
  });
}

bool sets_what_it_has_looked_at(const KernelInfo& kernel, const SourcePlace& line) {
  const ptx::Function* const function = kernel.module ? kernel.module->find_function(kernel.name) : nullptr;
  if (!function) return false;
  return std::ranges::any_of(function->instructions, [&](const Instruction& in) {
    if (!is_store(in) || in.operands.size() < 2 || !own_place(*kernel.module, in.line).is_same_line(line)) return false;
    const Operand* const address = address_of(in);
    const std::optional<AddressBase> base = address ? base_of(*function, *address) : std::nullopt;
    if (!base) return false;
    const bool is_looked_at = std::ranges::any_of(function->instructions, [&](const Instruction& other) {
      const Operand* const from = is_load(other) ? address_of(other) : nullptr;
      return from && is_same_address(*from, *address);
    });
    std::set<std::int32_t> seen;
    return is_looked_at && !comes_from(*function, in.operands.back(), *base, seen);
  });
}

}  // namespace scanlab::vgpu
