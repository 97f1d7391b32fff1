// Words and registers of an instruction, as its analyses look for them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

inline bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// Calls visit(register) for each register among these operands. The register of an address does not count.
template <class Visit>
void for_each_register(const ptx::Operand& operand, Visit visit) {
  if (operand.kind == ptx::Operand::Kind::reg) visit(operand.reg);
  for (const ptx::Operand& element : operand.elements) for_each_register(element, visit);
}

}  // namespace scanlab::vgpu
