// Reads that have returned an old value under the schedule `weak`, and what would have forbidden it. None is a mistake
// by itself: a right program may read an old value, and look again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vgpu/core/memory/stale_accesses.hpp"
#include "vgpu/core/run/fault.hpp"

namespace scanlab::vgpu {

struct Grid;

struct StaleRead {
  struct Place {
    bool is_initial = false;  ///< no access: what was in memory when the launch began
    std::uint64_t block = 0;  ///< by linear index
    std::uint32_t thread = 0;
    SourcePlace where;  ///< the learner's own line
  };
  std::string kernel;    ///< as the learner wrote it
  std::string variable;  ///< "cudaMalloc #2 (64 bytes) at byte 4"
  std::uint32_t bytes = 0;
  Place read;             ///< this read
  Place returned;         ///< has returned the value of this write,
  Place newer;            ///< and not of this one, which comes next in modification order
  bool has_flag = false;  ///< The reader had seen a later write by the thread of `newer`:
  Place flag, flag_read;  ///< this one, with this read
  Dim3 grid, block;       ///< of the launch
  using Missing = StaleAccess::Missing;
  Missing missing = Missing::unknown;  ///< what would have ordered them
  std::uint64_t count = 1;             ///< reads of these lines

  /// What to do about it; empty: nothing is known to be missing.
  std::string cure() const;
  /// Several lines, without a trailing newline.
  std::string text() const;
};

/// Describes the stale reads of a launch. Its memory and code have to be there still.
std::vector<StaleRead> describe_stale(const Grid& grid, std::span<const StaleAccess> accesses);

}  // namespace scanlab::vgpu
