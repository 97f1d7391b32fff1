// What an address was made from: the kernel's parameter, or the variable, whose address an index was added to. Read off
// the PTX, without running it: from the address back over the additions to what holds a pointer.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

struct AddressBase {
  bool is_parameter = false;  ///< of the function; otherwise a variable
  std::string name;           ///< as in PTX, mangled
  std::int64_t offset = 0;    ///< of a parameter: where in it the pointer stands, as a struct has several

  auto operator<=>(const AddressBase&) const = default;
};

/// That of an operand [register + offset] or [name + offset]; nothing where there are several, or where the pointer
/// comes from memory.
std::optional<AddressBase> base_of(const ptx::Function& function, const ptx::Operand& address);
/// The operand of a memory instruction that is its address, or null.
const ptx::Operand* address_of(const ptx::Instruction& instruction);

}  // namespace scanlab::vgpu
