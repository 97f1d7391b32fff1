#include "vgpu/checks/line_shape.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "vgpu/core/decode/address_base.hpp"
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

}  // namespace

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
