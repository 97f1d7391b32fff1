// Faults from inside handlers.
#pragma once

#include <string>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/warp.hpp"

namespace scanlab::vgpu {

/// Stops the kernel: lane `lane` of the running warp did it. The scheduler adds kernel, line, block and thread.
/// `id` as in Fault.
[[noreturn]] void raise(Fault::Kind kind, unsigned lane, std::string headline, std::string advice = {},
                        std::string id = {});

}  // namespace scanlab::vgpu
