// Runs a grid: which block and warp goes next, until all are done or it is proven that none can go on.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "vgpu/core/memory/memory_chooser.hpp"
#include "vgpu/core/run/device.hpp"
#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {

/// Says whose turn it is at strong accesses, and what they see, where all blocks are resident: see explore.hpp.
class Guide : public MemoryChooser {
 public:
  /// Does the warp stand before a strong access, until it is picked?
  virtual bool holds_back(const Warp& w) const = 0;
  /// Has the warp been picked, and not made its access yet?
  virtual bool is_pending(const Warp& w) const = 0;
  struct Pick {
    Warp* warp = nullptr;      ///< goes on
    bool is_deadlock = false;  ///< none can; else, without a warp, the run ends here
  };
  /// `able`: all warps that could go on, by block and number. Each of them is held back.
  virtual Pick pick(std::span<Warp* const> able) = 0;
};

struct RunLimits {
  std::uint64_t max_warp_instructions = 0;
  const volatile bool* cancel = nullptr;
  const std::function<bool()>* host_waits = nullptr;  ///< see Device::host_waits
  unsigned resident_blocks = 1;                       ///< alive at once
  /// May run blocks in place of the launch's own thread (parallel.hpp), not for a random schedule. Called when no block
  /// runs, and the block that comes `next`-th in the schedule is the next to start: runs some blocks from there on, all
  /// to their ends, and returns the place of the first that it has not run; `next` when none.
  std::function<std::uint64_t(std::uint64_t next)> help;
  Guide* guide = nullptr;  ///< for a schedule `weak`; null: a random one
  /// With `guide`: blocks of an earlier run of the same grid to run in, and those of this one afterwards.
  std::vector<std::unique_ptr<Block>>* kept_blocks = nullptr;
};

/// Runs every block of `grid`. Returns the fault that stopped it, complete with kernel, line, block and thread; or
/// nothing. The result depends on (grid, schedule) alone.
std::optional<Fault> run_grid(Grid& grid, const Schedule& schedule, const RunLimits& limits);

/// Runs blocks of a grid one after the other, each alone.
class BlockRunner {
 public:
  enum class Outcome : std::uint8_t {
    ended,
    slow,    ///< it lives so long that other blocks would have been started beside it
    failed,  ///< it has faulted, waits for other blocks, or was cancelled: this is no longer of use
  };
  virtual ~BlockRunner() = default;
  /// Runs the block that comes `k`-th in the schedule.
  virtual Outcome run(std::uint64_t k) = 0;
  /// Runs a slow block further. It fails when the instructions that it executes may depend on what runs beside it.
  virtual Outcome go_on() = 0;
};
/// `grid` has to outlive it. The schedule must not be random.
std::unique_ptr<BlockRunner> make_block_runner(Grid& grid, const Schedule& schedule, const RunLimits& limits);

}  // namespace scanlab::vgpu
