// Numbers of pairs: how they grow, and whether they stay within the range of their type from the first lane to the
// last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "vgpu/core/warp/pairs.hpp"
#include "vgpu/core/warp/warp.hpp"

namespace scanlab::vgpu {

inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t scaled(std::int64_t growth, std::uint64_t by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(growth) * by);
}

/// The values of lanes 0 and 31 of a pair without jumps, when no lane between them leaves the range of T.
template <class T>
inline bool ends_of(const Pair& a, std::int64_t& first, std::int64_t& last) {
  first = static_cast<std::int64_t>(static_cast<T>(a.value));
  if constexpr (sizeof(T) == 8) {
    const __int128 exact = (std::is_signed_v<T> ? __int128{first} : __int128{a.value}) + __int128{a.stride} * 31;
    last = static_cast<std::int64_t>(exact);
    return exact >= std::numeric_limits<T>::min() && exact <= std::numeric_limits<T>::max();
  } else {
    last = first + a.stride * 31;
    return last >= std::numeric_limits<T>::min() && last <= std::numeric_limits<T>::max();
  }
}

/// Does no lane leave the range of T? Rows begin and end with the lowest and the highest lanes.
template <class T>
inline bool is_within(const Pair& a, unsigned row_lanes) {
  static_assert(sizeof(T) == 4, "so that no sum of 64 bits wraps");
  std::int64_t first = 0, last = 0;
  if (!a.jump) [[likely]]
    return ends_of<T>(a, first, last);
  const std::int64_t row = a.stride * (row_lanes - 1),
                     rows = a.stride * (warp_size - row_lanes) + a.jump * (warp_size / row_lanes - 1);
  first = static_cast<std::int64_t>(static_cast<T>(a.value));
  const auto [low, high] = std::minmax({first, first + row, first + rows, first + rows + row});
  return low >= std::numeric_limits<T>::min() && high <= std::numeric_limits<T>::max();
}
template <class T>
inline std::int64_t extended(std::uint64_t value) {
  return static_cast<std::int64_t>(static_cast<T>(value));
}

}  // namespace scanlab::vgpu
