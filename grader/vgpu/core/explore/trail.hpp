// One execution of a launch, written down: whose turn it was at each strong access, and what was chosen there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/core/memory/strong_access.hpp"

namespace scanlab::vgpu {

/// The turn of a warp: it makes its next strong access to global memory, or fence.sc, and goes on up to the one after.
struct TrailStep {
  std::uint64_t block = 0;
  std::uint32_t warp = 0;
  /// Of each lane's access in turn: the write that it reads, or behind which it writes; nothing: the newest.
  std::vector<std::optional<StrongOperation>> choices;
};

/// When the steps are done, the first warp that can goes on, and every choice is the newest.
struct Trail {
  std::vector<TrailStep> steps;

  /// "0.0*3 1.0=i 2.1=0.32.1": block and warp; i is the initial value, 0.32.1 the first write of thread 32 of block 0.
  std::string text() const;
  /// Throws std::invalid_argument for what text() does not write.
  static Trail parse(std::string_view text);
};

}  // namespace scanlab::vgpu
