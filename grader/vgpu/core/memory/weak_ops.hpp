// Strong accesses to global memory under the schedule `weak`: what they see is chosen by the view machine (views.hpp).
#pragma once

#include "vgpu/core/memory/memory_ops.hpp"

namespace scanlab::vgpu {

/// Does the warp have to wait before its strong access, or fence.sc, at `i`? Then its turn ends there.
bool is_held_back(Warp& w, const Inst* i);

/// The handler in place of `selection.run`, where the access is strong and may be to global memory; else that one.
Handler select_weak(const ptx::Instruction& instruction, const MemorySelection& selection, AddressWidth width);

}  // namespace scanlab::vgpu
