// Device functions that CUDA provides and PTX only declares: printf, assert, malloc and free.
#pragma once

#include <string_view>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

/// Handler for a call of extern function `name` (aux: index into Program::calls, as for a call), or null when the
/// virtual GPU has no such function.
Handler select_builtin(std::string_view name);

}  // namespace scanlab::vgpu
