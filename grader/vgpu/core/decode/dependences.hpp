// What the results of a function may depend on, besides its input and the order of blocks and warps.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/liveness.hpp"
#include "vgpu/core/run/observer.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// By instruction of `function`: what its result depends on. A loop that only waits for a barrier object depends on
/// nothing, nor does a clock that only decides how long such a loop sleeps.
std::vector<std::optional<Dependence>> dependences(const ptx::Module& module, const ptx::Function& function,
                                                   const ControlFlow& flow, const Liveness& liveness);

/// The instructions with which the rounds of loops begin that have a barrier to which all lanes of a warp have to come.
std::set<std::uint32_t> heads_around_barriers(const ptx::Function& function, const ControlFlow& flow);

}  // namespace scanlab::vgpu
