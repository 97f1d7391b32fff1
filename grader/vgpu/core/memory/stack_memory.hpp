// Local memory that a thread allocates while it runs: alloca, stacksave and stackrestore (PTX ISA, "alloca").
#pragma once

#include "vgpu/core/warp/warp.hpp"

namespace scanlab::vgpu {

/// op[0]: the address in local space, op[1]: bytes (64-bit lanes), imm: alignment. Lives until the function returns.
const Inst* allocate_on_stack(Warp& w, const Inst* i);
/// op[0]: the top of the function's local memory.
const Inst* save_stack(Warp& w, const Inst* i);
/// op[0]: a saved top, to which the memory is given back once all lanes of the call are here.
const Inst* restore_stack(Warp& w, const Inst* i);

}  // namespace scanlab::vgpu
