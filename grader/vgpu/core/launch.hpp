// Runs a grid: which block and warp goes next, until all are done or it is proven that none can go on.
#pragma once

#include <optional>

#include "vgpu/core/device.hpp"
#include "vgpu/core/grid.hpp"

namespace scanlab::vgpu {

struct RunLimits {
  std::uint64_t max_warp_instructions = 0;
  const volatile bool* cancel = nullptr;
  unsigned resident_blocks = 1;  ///< alive at once
};

/// Runs every block of `grid`. Returns the fault that stopped it, complete with kernel, line, block and thread; or
/// nothing. The result depends on (grid, schedule) alone.
std::optional<Fault> run_grid(Grid& grid, const Schedule& schedule, const RunLimits& limits);

}  // namespace scanlab::vgpu
