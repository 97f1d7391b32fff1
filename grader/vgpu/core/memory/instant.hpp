// Moments of a launch, and how threads know of them: as they know of writes, to locations that stand for the blocks,
// warps and lanes.
#pragma once

#include <cstdint>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

/// When a warp does something: `interval` counts the barriers of its whole block, `stamp` the times at which its lanes
/// have made known to others what they had done.
struct Instant {
  std::uint64_t block = 0;
  std::uint32_t warp = 0, interval = 0, stamp = 0;
};

/// Numbers the locations that stand for instants. A write to the location of a block is the interval that has begun;
/// behind it comes one location for each warp, and one for each lane, whose writes are stamps.
class InstantLocations {
 public:
  explicit InstantLocations(std::uint64_t threads_of_block) : warps_((threads_of_block + warp_size - 1) / warp_size) {}

  /// Whether the location stands for instants. The write to such a location is its own rank.
  static bool has(std::uint32_t location) { return location >= first; }

  std::uint32_t of_block(std::uint64_t block) const {
    return first + static_cast<std::uint32_t>(block * (1 + warps_ * of_a_warp));
  }
  std::uint32_t of_warp(std::uint64_t block, std::uint32_t warp) const {
    return of_block(block) + 1 + warp * of_a_warp;
  }
  static std::uint32_t of_lane(std::uint32_t of_warp, unsigned lane) { return of_warp + 1 + lane; }

 private:
  static constexpr std::uint32_t first = 1u << 31, of_a_warp = 1 + warp_size;
  std::uint64_t warps_;
};

}  // namespace scanlab::vgpu
