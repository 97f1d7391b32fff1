#include "vgpu/core/decode/address_base.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace scanlab::vgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

bool defines(const Operand& operand, std::int32_t reg) {
  if (operand.kind == Operand::Kind::reg) return operand.reg == reg;
  return (operand.kind == Operand::Kind::vector || operand.kind == Operand::Kind::pair) &&
         std::ranges::any_of(operand.elements, [&](const Operand& element) { return defines(element, reg); });
}

class Search {
 public:
  explicit Search(const ptx::Function& function) : function_(function) {}

  /// `is_pointer`: what the operand holds is used as a pointer, where another operand may be an index.
  void follow(const Operand& operand, bool is_pointer) {
    if (operand.kind == Operand::Kind::symbol) pointers_.insert({false, operand.name});
    if (operand.kind != Operand::Kind::reg || !seen_.emplace(operand.reg, is_pointer).second) return;
    for (const Instruction& in : function_.instructions)
      if (!in.operands.empty() && in.opcode != "st" && in.opcode != "red" && defines(in.operands.front(), operand.reg))
        follow(in, is_pointer);
  }

  std::optional<AddressBase> found() const {
    if (is_lost_) return std::nullopt;
    const std::set<AddressBase>& candidates = pointers_.empty() ? numbers_ : pointers_;
    return candidates.size() == 1 ? std::optional(*candidates.begin()) : std::nullopt;
  }

 private:
  /// Of an instruction what may be a pointer among its sources.
  void follow(const Instruction& in, bool is_pointer) {
    const std::vector<Operand>& of = in.operands;
    const auto source = [&](std::size_t k, bool is_one) {
      if (k < of.size()) follow(of[k], is_one);
    };
    if (in.opcode == "ld") {
      is_lost_ |= is_pointer && !in.has("param");
      if (in.has("param") && of.size() > 1 && of[1].kind == Operand::Kind::address && !of[1].name.empty() &&
          is_parameter(of[1].name) && of[0].kind == Operand::Kind::reg)
        (is_pointer ? pointers_ : numbers_).insert({true, of[1].name, of[1].offset});
    } else if (in.opcode == "cvta") {
      source(1, true);
    } else if (in.opcode == "mov" || in.opcode == "sub" || (in.opcode == "cvt" && is_pointer)) {
      source(1, is_pointer);
    } else if (in.opcode == "add" || in.opcode == "selp") {
      source(1, is_pointer && in.opcode == "selp");
      source(2, is_pointer && in.opcode == "selp");
    } else if (in.opcode == "mad") {
      source(3, false);
    } else if (is_pointer) {
      is_lost_ = true;
    }
  }

  bool is_parameter(const std::string& name) const {
    return std::ranges::find(function_.parameters, name, &ptx::Variable::name) != function_.parameters.end();
  }

  const ptx::Function& function_;
  std::set<std::pair<std::int32_t, bool>> seen_;
  std::set<AddressBase> pointers_;  ///< what is known to be a pointer
  std::set<AddressBase> numbers_;   ///< what may be one, or an index
  bool is_lost_ = false;            ///< a pointer comes from somewhere else: from memory, or from a function
};

}  // namespace

const Operand* address_of(const Instruction& instruction) {
  const auto address = std::ranges::find(instruction.operands, Operand::Kind::address, &Operand::kind);
  return address == instruction.operands.end() ? nullptr : &*address;
}

std::optional<AddressBase> base_of(const ptx::Function& function, const Operand& address) {
  if (!address.name.empty()) return AddressBase{false, address.name};
  if (address.reg < 0) return std::nullopt;
  Search search(function);
  Operand reg;
  reg.kind = Operand::Kind::reg;
  reg.reg = address.reg;
  search.follow(reg, false);
  return search.found();
}

}  // namespace scanlab::vgpu
