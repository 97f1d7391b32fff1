// What an exploration of all executions is asked, and answers (explore.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/core/explore/trail.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

struct Grid;

struct ExplorationLimits {
  std::uint64_t runs = 200'000;
  double seconds = 10;                                  ///< of processor time; a run that goes on then is ended
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

/// Who sees runs of an exploration. A run begins with kernel_begin(); kernel_end() comes at the end of one that counts,
/// in reversed order.
struct ExplorationObservers {
  std::vector<Observer*> of_runs;         ///< each
  std::vector<Observer*> of_block_paths;  ///< those in which a block does what none has done before, once more
};

/// What an exploration relies on, and the launch does not keep: then the executions that were run are no proof.
struct BrokenAssumption {
  enum class Kind : std::uint8_t {
    race,          ///< two accesses, one of them plain, that nothing orders in one of the executions
    reader_fence,  ///< the same where a fence of the later one's thread would order them
    mixed_sizes,   ///< strong accesses of different sizes to the same bytes: then nothing has been explored
  } kind = Kind::race;
  SourcePlace where, other;  ///< the later access, and the earlier one
  bool writes = false, other_writes = false;
  std::string memory;      ///< the name of the array; empty: not known
  std::string trail = {};  ///< of the execution that shows it

  /// "scan.cu:41 reads d_prefixes, which scan.cu:43 writes, without a fence after the flag"
  std::string text() const;
};

struct Exploration {
  std::uint64_t executions = 0;         ///< different ones
  std::uint64_t runs = 0;               ///< of the launch, those included that turned out to be no other execution
  std::uint64_t warp_instructions = 0;  ///< of all runs
  bool is_exhaustive = false;           ///< those are all
  std::string why_not;                  ///< "out of time: 88 executions run, …", "stopped", …
  std::vector<BrokenAssumption> broken = {};
  bool prints = false;  ///< a kernel, in one of them
};

}  // namespace scanlab::vgpu
