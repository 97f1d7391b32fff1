// Wrappers that report instructions which are not memory accesses to observers.
#pragma once

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

/// Makes a decoded floating-point addition report itself before it runs. Uses Inst::imm, which arithmetic leaves free.
void observe_addition(Inst& i);

}  // namespace scanlab::vgpu
