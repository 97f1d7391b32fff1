// All executions of a launch: every order in which its threads may make their strong accesses, and everything that the
// memory model lets these return.
//
// Between two strong accesses to global memory a thread of a race-free program does what it does whatever the others
// do. So an execution is known by which write each read returns, and the modification order of each location: its
// graph. The explorer runs the launch again and again, from the same memory. From each execution it derives others
// (Kokologiannakis et al., "Truly stateless, optimal dynamic partial order reduction", POPL 2022): a read returns
// another write that was there; a write takes another place; a read returns a write that came later, which is then made
// first, with all that led to it, and nothing else that came after the read; the second of two read-modify-writes, or
// of two fence.sc, comes first. What has the same graph is run once; unlike there, that is known from a table of all
// graphs. README.md, "Exploration", says what is not explored.
#pragma once

#include <functional>

#include "vgpu/core/explore/exploration.hpp"
#include "vgpu/core/run/launch.hpp"

namespace scanlab::vgpu {

/// Runs all executions of `grid`, whose image is for the schedule `weak`, with all its blocks resident. `visit` is
/// called for each different one, and ends the exploration by returning false. Afterwards memory holds what it held
/// before. `info` is of the launch.
Exploration explore_grid(Grid& grid, const KernelInfo& info, const RunLimits& limits,
                         const ExplorationLimits& exploration, const std::function<bool(const Execution&)>& visit,
                         const ExplorationObservers& observers = {});

}  // namespace scanlab::vgpu
