// What an exploration of all executions is asked, and answers (explore.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vgpu/core/explore/trail.hpp"
#include "vgpu/core/run/fault.hpp"

namespace scanlab::vgpu {

struct Grid;

struct ExplorationLimits {
  std::uint64_t runs = 200'000;
  double seconds = 10;
  std::uint64_t warp_instructions = ~std::uint64_t{0};  ///< of all runs; unlike seconds, the same on every machine
  bool prunes = true;  ///< does not run what is known to come to nothing new; false: to test that nothing is lost
};

/// One execution, while memory stands as at its end.
struct Execution {
  const std::optional<Fault>& fault;  ///< a deadlock too
  const Trail& trail;                 ///< shows it again
  std::uint64_t memory = 0;           ///< a hash of what global memory holds: equal where it holds the same
  const Grid* grid = nullptr;         ///< with its views: what it has read that was not the latest (stale_reads.hpp)
};

struct Exploration {
  std::uint64_t executions = 0;         ///< different ones
  std::uint64_t runs = 0;               ///< of the launch, those included that turned out to be no other execution
  std::uint64_t warp_instructions = 0;  ///< of all runs
  bool is_exhaustive = false;           ///< those are all
  /// An atomic operation has changed nothing: it has read the newest write, while PTX allows others, too.
  bool assumes_newest = false;
  std::string why_not;  ///< "out of time after 88 executions", "stopped", …
};

}  // namespace scanlab::vgpu
