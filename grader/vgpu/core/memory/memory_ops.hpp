// Loads, stores and atomics: which handler, and what its Inst holds.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "vgpu/core/memory/addressing.hpp"
#include "vgpu/core/warp/convergent.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Inst::aux of a memory instruction.
struct MemoryForm {
  std::uint32_t count : 3;         ///< elements of a vector: 1, 2, 4
  std::uint32_t bytes : 5;         ///< of one element in memory
  std::uint32_t lane_bytes : 5;    ///< of one register lane: 2, 4, 8
  std::uint32_t is_signed : 1;     ///< sign-extend into a wider register
  std::uint32_t space : 3;         ///< ptx::StateSpace
  std::uint32_t order : 3;         ///< Access::Order
  std::uint32_t scope : 2;         ///< Access::Scope
  std::uint32_t has_result : 1;    ///< atom, not red
  std::uint32_t atomic : 6;        ///< atomic_form, of atom and red
  std::uint32_t is_read_only : 1;  ///< Access::is_read_only
  std::uint32_t is_used : 1;       ///< its result, by a later instruction
};
static_assert(sizeof(MemoryForm) == sizeof(std::uint32_t));
inline MemoryForm form_of(const Inst* i) {
  return std::bit_cast<MemoryForm>(i->aux);
}
/// Is it ordered in some way, as no plain access is?
inline bool is_strong(const MemoryForm& form) {
  return form.order != static_cast<std::uint32_t>(Access::Order::weak);
}

/// op[0..3] hold the elements (destination of a load, sources of a store), op[7] the address register, imm the offset.
/// An atomic has op[0] the result, op[1] and op[2] the operands.
struct MemorySelection {
  Handler run = nullptr;
  MemoryForm form{};
  ptx::Type type = ptx::Type::none;  ///< of the elements, for immediates
};

/// The selection for ld, ldu, st, atom and red in global, shared, local, constant, parameter and generic space; nothing
/// for a form that is not known. `space` is where the address lies: a ld.param of a kernel parameter has `param`.
/// `width` is that of the address register; `registers` give the lane width of the element registers.
std::optional<MemorySelection> select_memory(const ptx::Instruction& instruction,
                                             std::span<const ptx::Register> registers, ptx::StateSpace space,
                                             AddressWidth width, const ImageOptions& options);

/// select.template operator()<Width>() for that width.
template <class Select>
auto with_width(AddressWidth width, Select select) {
  return width == AddressWidth::bits32 ? select.template operator()<AddressWidth::bits32>()
                                       : select.template operator()<AddressWidth::bits64>();
}

/// The value of an element of that form, from its bytes in memory.
inline std::uint64_t extend(std::uint64_t value, const MemoryForm& form) {
  if (!form.is_signed || form.bytes >= 8) return value;
  const unsigned shift = 64 - 8 * form.bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

/// Accesses whose addresses are a Pair (pairs.hpp), in op[7]. A uniform load has a Pair in op[0], the others lanes.
/// Null for a form that does not work that way.
enum class RowKind : std::uint8_t { load, load_uniform, store };
StepHandler select_row(const MemoryForm& form, ptx::StateSpace space, AddressWidth width, RowKind kind,
                       Watched watched);

/// ld.param of a kernel parameter at a known offset (imm): every lane gets the same value. Vectors too.
const Inst* load_parameter(Warp& w, const Inst* i);

/// ld.param and st.param of a variable that lives in the frame (arguments and results of calls): op[0..3] elements, imm
/// offset of lane 0 from the frame's registers, op[6] bytes per lane.
const Inst* load_slot(Warp& w, const Inst* i);
const Inst* store_slot(Warp& w, const Inst* i);

/// alloca: op[0]: the address in local space, op[1]: bytes (64-bit lanes), imm: alignment. Lives until the function
/// returns.
const Inst* allocate_on_stack(Warp& w, const Inst* i);
/// op[0]: the top of the function's local memory.
const Inst* save_stack(Warp& w, const Inst* i);
/// op[0]: a saved top, to which the memory is given back once all lanes of the call are here.
const Inst* restore_stack(Warp& w, const Inst* i);

}  // namespace scanlab::vgpu
