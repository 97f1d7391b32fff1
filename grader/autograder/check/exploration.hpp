// `check --prove`: all executions of a few calls whose blocks talk to each other, as the memory model allows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograder/check/trial.hpp"
#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"

namespace scanlab::grade {

/// What all executions of a check's calls have given.
struct Explored {
  struct Call {
    std::size_t n = 0;
    std::uint64_t blocks = 0, executions = 0;
    std::string why_not;                              ///< empty: those are all
    std::vector<vgpu::BrokenAssumption> broken = {};  ///< by which its executions are no proof
    bool is_each_by_itself = false;                   ///< its launches, one of which leaves different memory
    std::vector<vgpu::Breach> breaches = {};          ///< of what an exploration assumes
  };
  std::vector<Call> calls;  ///< with a rising number of blocks, until one cannot be explored whole
  /// The first that fails, in the execution of its `trail`.
  std::optional<Case> failed;
  TrialResult tried;  ///< of `failed`

  /// Of the smallest call, whose blocks talk to each other, and are too many at once; 0: there is a call of one block.
  std::uint64_t least_blocks = 0;

  /// "right in all executions that PTX's memory model allows of n = 1025, 2048 (up to 2 blocks, all of them
  /// resident, 3 executions)", and where it ended; or "tested, not proved: …" where an assumption does not hold. None
  /// where no two blocks talk: then there is nothing to explore. `condition` is put behind the first: ", if …", or
  /// nothing.
  std::vector<std::string> sentences(const std::string& condition = {}) const;
  /// The assumptions that do not hold, in sentences; none where all do.
  std::vector<std::string> tested_only() const;
};

/// Explores calls of two blocks and more, within the limits of `check.prove`: the smallest of two blocks, and for each
/// number of blocks that of as many whole tiles. A tile is what one block takes: the largest n whose launch has one
/// block. Throws KitFault.
Explored explore(const Plan& plan, const CheckPlan& check, Device& device);

/// The case in which n elements are explored, and one execution of it is shown: floats are integers, whose sums are
/// exact in any order.
Case explored_case(std::size_t n, std::string trail);

}  // namespace scanlab::grade
