#include "vgpu/core/run/replay.hpp"

#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/run/launch.hpp"

namespace scanlab::vgpu {

Replay::Replay(const Grid& grid, const Schedule& schedule, const RunLimits& limits, const std::optional<Fault>& fault)
    : grid_(grid), schedule_(schedule), limits_(limits), fault_(fault) {}

Replay::Result Replay::run(const Run& what) const {
  const std::function<void(std::string_view)> print = [](std::string_view) {};
  Grid grid = grid_;
  grid.set_observers({&what.observer, 1});
  grid.chosen = what.blocks;
  grid.prepare_shared = what.prepare_shared;
  grid.print = &print;
  grid.executed = grid.slept = 0;
  RunLimits limits = limits_;
  limits.max_warp_instructions = what.max_warp_instructions;
  Schedule schedule = schedule_;
  if (!what.blocks.empty()) {
    limits.resident_blocks = 1;
    if (schedule.is_interleaved()) schedule.order = Schedule::Order::in_order;
  }
  Result result;
  result.fault = run_grid(grid, schedule, limits);
  result.warp_instructions = grid.executed;
  return result;
}

Memory& Replay::memory() const {
  return *grid_.memory;
}

std::uint64_t Replay::warp_instructions() const {
  return grid_.executed;
}

}  // namespace scanlab::vgpu
