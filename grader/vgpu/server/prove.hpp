// `vgpu-run --prove`: a program under everything that may happen in each of its launches.
#pragma once

#include <cstdint>

#include "vgpu/core/run/device.hpp"
#include "vgpu/server/child.hpp"

namespace scanlab::server {

/// Exit codes of the kit: for its own fault, and for mistakes that were found.
inline constexpr int exit_kit = 3, exit_findings = 4;

struct ProveOptions {
  vgpu::DeviceProfile profile = vgpu::small_profile();
  vgpu::Schedule schedule;
  std::uint64_t max_warp_instructions = 4'000'000'000;
  /// Of all launches together; the runs with their results may take a quarter of that besides.
  vgpu::ExplorationLimits limits = {200'000, 45};
  bool lists_outcomes = false;  ///< the results, and whether they matter is not asked
  const volatile bool* cancel = nullptr;
};

/// Runs the program once, and explores each of its launches meanwhile. Where a launch has several results, the program
/// runs again with each of them, the other launches as before: it has to print the same and to end the same way. Says
/// on stderr what was found. Returns the program's exit code, or 4 for a refutation, also by a fault, and where
/// plain accesses race in one of the executions; 3 where not everything could be explored, and nothing else was wrong.
int prove(const Program& program, const ProveOptions& options);

}  // namespace scanlab::server
