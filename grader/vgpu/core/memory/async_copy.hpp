// Copies from global to shared memory that do not pass through registers: cp.async.
#pragma once

#include <optional>

#include "vgpu/core/memory/addressing.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Inst::aux of a copy.
struct AsyncCopyForm {
  std::uint8_t bytes = 0;      ///< written in shared memory: 4, 8 or 16
  std::uint8_t to_is_64 = 0;   ///< width of the destination's address register
  std::uint8_t has_count = 0;  ///< op[2] holds the bytes to read; the rest becomes zero
  std::uint8_t ignores = 0;    ///< op[2] is a predicate: 1 to read nothing where it holds, 2 where it does not
};
/// Inst::imm of a copy: what is added to the two addresses.
struct AsyncCopyOffsets {
  std::int32_t to = 0, from = 0;
};

/// True for the instructions that group copies and wait for them. They change nothing here: a copy is complete when it
/// has been issued, which is one of the orders that a GPU may choose. They are reported to the observers, which know of
/// the others.
bool is_async_wait(const ptx::Instruction& instruction);

/// The bytes a cp.async writes; nothing for a form that is not known.
std::optional<std::uint32_t> async_copy_bytes(const ptx::Instruction& instruction);

/// Reports to the observers, and does nothing else: aux is 1 for commit_group; else imm is the number of groups that
/// need not be complete, or Observer::wait_for_all.
const Inst* async_wait(Warp& w, const Inst* i);

/// op[0] the shared address, op[1] the global one, op[2] the bytes to read.
const Inst* async_copy(Warp& w, const Inst* i);

}  // namespace scanlab::vgpu
