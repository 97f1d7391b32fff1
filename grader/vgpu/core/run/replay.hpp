// A launch that has just been run can be run again, whole or some blocks of it, with other observers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/schedule.hpp"

namespace scanlab::vgpu {

class Memory;
class Observer;
struct Grid;
struct RunLimits;

/// For observers that ask for it (Observer::may_replay). Blocks begin as in the launch itself, but with global memory
/// as it is now: an observer that needs it as it was then restores it first, and afterwards what the replay has
/// changed. Device printf prints nothing, and nothing is reported to the launch's own observers and counts.
class Replay {
 public:
  /// To be used while the launch's memory and parameters are there. `fault`: how it ended.
  Replay(const Grid& grid, const Schedule& schedule, const RunLimits& limits, const std::optional<Fault>& fault);

  struct Run {
    Observer* observer = nullptr;           ///< gets everything but kernel_begin and kernel_end
    std::span<const std::uint64_t> blocks;  ///< by index, ascending; none: all
    std::uint64_t max_warp_instructions = 0;
    /// See Grid::prepare_shared.
    std::function<void(std::uint64_t block, std::span<std::byte> window)> prepare_shared;
  };
  struct Result {
    std::optional<Fault> fault;
    std::uint64_t warp_instructions = 0;
  };
  /// All blocks take the launch's schedule. Some of them have to be independent of the others, and run one by one.
  Result run(const Run& what) const;

  Memory& memory() const;
  const std::optional<Fault>& fault() const { return fault_; }
  std::uint64_t warp_instructions() const;

 private:
  const Grid& grid_;
  const Schedule& schedule_;
  const RunLimits& limits_;
  const std::optional<Fault>& fault_;
};

}  // namespace scanlab::vgpu
