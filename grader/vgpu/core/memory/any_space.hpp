// Accesses in any space, of any width, lane by lane. Under the schedule `weak`, what strong ones to global memory see
// is chosen by the view machine (views.hpp).
#pragma once

#include "vgpu/core/memory/memory_ops.hpp"

namespace scanlab::vgpu {

/// The handler of a load or a store, or of the atomic operation that `form` names; null where there is none.
Handler select_any(AccessKind kind, const MemoryForm& form, AddressWidth width);

/// With a view machine: does the warp have to wait before its strong access, or fence.sc, at `i`? Then its turn ends
/// there.
bool is_held_back(Warp& w, const Inst* i);

}  // namespace scanlab::vgpu
