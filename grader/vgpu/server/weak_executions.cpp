#include "vgpu/server/weak_executions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "vgpu/checks/global/stale_read_finding.hpp"
#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/run/stale_reads.hpp"

namespace scanlab::server {
namespace {

/// Has a thread seen a write, and then an old value of what the same writer had written before? No order of all
/// accesses gives that.
bool has_late_value(const vgpu::Views& views) {
  return std::ranges::any_of(views.stale(), &vgpu::StaleAccess::has_flag);
}

/// The first such read for which it is known what is missing.
std::optional<vgpu::Finding> finding_in(const vgpu::Grid& grid) {
  const auto reads = vgpu::describe_stale(grid, *grid.views);
  const auto found =
      std::ranges::find_if(reads, [](const vgpu::StaleRead& read) { return read.has_flag && !read.cure().empty(); });
  if (found == reads.end()) return std::nullopt;
  return vgpu::finding_of(*found);
}

}  // namespace

void WeakExecutions::look_at(const vgpu::LaunchRequest& launch) {
  // What the host writes meanwhile would be taken back.
  if (launch.grid.count() < 2 ||
      launch.grid.count() > most_threads / std::max<std::uint64_t>(1, launch.block.count()) || left_ == 0 ||
      device_.memory().shared_with_host())
    return;
  if (unsigned& launches = launches_[launch.kernel]; ++launches > most_launches) return;
  std::set<std::string> usual;                         // results of executions in which no value is late
  std::map<std::string, vgpu::Finding> of_late_value;  // the first finding for each result of the others
  const auto visit = [&](const vgpu::Execution& execution, const std::string&) {
    if (execution.fault && execution.fault->kind == vgpu::Fault::Kind::budget) return false;
    const std::string result = execution.fault ? execution.fault->headline : fmt::format("{:016x}", execution.memory);
    if (!has_late_value(*execution.grid->views))
      usual.insert(result);
    else if (!of_late_value.contains(result))
      if (std::optional<vgpu::Finding> found = finding_in(*execution.grid)) of_late_value.emplace(result, *found);
    return true;
  };
  const std::uint64_t before =
      std::exchange(device_.max_warp_instructions, std::min(device_.max_warp_instructions, most_of_a_run));
  const vgpu::ExplorationLimits limits{most_runs, std::numeric_limits<double>::infinity(),
                                       std::min(left_, most_of_a_launch)};
  const auto explored = device_.explore(launch, limits, visit);
  device_.max_warp_instructions = before;
  if (!explored) return;
  left_ -= std::min(left_, explored->warp_instructions);
  // Where the order of blocks decides as well, only all executions show that a result is due to a late value.
  if (usual.empty() || (usual.size() > 1 && !explored->is_exhaustive)) return;
  for (auto& [result, finding] : of_late_value)
    if (!usual.contains(result)) findings_.add(std::move(finding));
}

}  // namespace scanlab::server
