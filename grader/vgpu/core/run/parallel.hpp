// Blocks of one launch on several host threads, with the result of one thread.
//
// Speculate and verify: in rounds of a few milliseconds the threads run the next blocks of the schedule at the same
// time, each its own in their order. Then it is verified that no thread has touched what another wrote (claims.hpp):
// every block has seen what it would have seen in its turn. A block that lives long would on one thread have others
// beside it; so it must not conflict with any that comes later, and its round lasts to the end of the launch. Where
// that fails, or a block faults, waits or is stopped, memory becomes again what it was before the round, and the rest
// of the launch runs on one thread, which then finds the same once more. So results, faults and counts do not depend on
// the number of threads.
//
// Where it is known before that the blocks are apart (affine_accesses.hpp), nothing is proven afterwards or kept. After
// a fault the round runs again, on one thread, and finds the same; only what blocks after the faulty one have written
// stays, which no program can see.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "vgpu/core/run/launch.hpp"

namespace scanlab::vgpu {

/// How many host threads suit a launch: what SCANLAB_THREADS says, else the processors that this process may use, at
/// most Team::most_threads.
unsigned default_threads();

/// Whether to run blocks on several threads, and how.
struct ParallelOptions {
  double least_ns = 0;  ///< blocks that take less together stay on one thread
  /// Nothing has to be proven afterwards, or kept to be put back (AffineAccesses::blocks_are_apart).
  bool apart = false;
};

/// Host threads that run launches together. They wait between launches.
class Team {
 public:
  /// `threads` in all, of which one is the caller's; at least 1, at most `most_threads`, and fewer than wanted where
  /// the system gives no more.
  explicit Team(unsigned threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  static constexpr unsigned most_threads = 16;

  struct Result {
    std::optional<Fault> fault;
    std::uint64_t rounds = 0;
    bool has_failed = false;  ///< the last round had to be undone: better not to try with this kernel again
  };
  /// Does what run_grid does. The image of `grid` reports its global accesses, and each of the observers can be forked.
  Result run(Grid& grid, const Schedule& schedule, RunLimits limits, const ParallelOptions& options);

 private:
  struct Shared;
  class Launch;
  std::unique_ptr<Shared> shared_;
};

}  // namespace scanlab::vgpu
