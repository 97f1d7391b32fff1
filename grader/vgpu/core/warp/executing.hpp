// The warp whose instructions and additions are reported to the observers.
#pragma once

#include <cstdint>

namespace scanlab::vgpu {

struct Executing {
  std::uint64_t block = 0;  ///< linear index in the grid
  std::uint32_t warp = 0;   ///< within the block
};

/// Valid inside Observer::executed, on the thread that calls it. Few observers ask, so it is not a parameter.
const Executing& executing();
void set_executing(const Executing& current);

}  // namespace scanlab::vgpu
