// Barriers that live in shared memory: mbarrier, and cp.async's arrival at one (PTX ISA, "mbarrier").
#pragma once

#include <cstdint>
#include <optional>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Inst::aux of an instruction on a barrier object.
struct MbarrierForm {
  std::uint8_t address_is_64 = 0;  ///< width of the address register
  std::uint8_t is_generic = 0;     ///< a generic address, which has to lie in shared memory
  std::uint8_t drops = 0;          ///< arrive_drop: later phases expect so many arrivals less
  std::uint8_t unused = 0;
};

/// op[0] the destination (a state, a count or a predicate) where there is one, op[1] the number of arrivals, the state
/// or the parity, op[7] the address register, imm the address offset.
struct MbarrierSelection {
  Handler run = nullptr;
  bool drops = false;
  int result = -1;                  ///< place of the destination among the PTX operands, or -1
  int address = -1;                 ///< place of the barrier object, or -1
  int source = -1;                  ///< place of the operand for op[1], or -1: then it is the constant 1
  ptx::Type type = ptx::Type::u32;  ///< of the source
  ptx::Type result_type = ptx::Type::b64;
};

/// The selection for mbarrier.* and cp.async.mbarrier.arrive as sm_80 has them; nothing for other forms.
std::optional<MbarrierSelection> select_mbarrier(const ptx::Instruction& instruction);

/// True for an instruction that tests whether a phase is complete.
bool is_mbarrier_wait(const Inst* i);

}  // namespace scanlab::vgpu
