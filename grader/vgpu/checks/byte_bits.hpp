// A bit for each byte of memory, in words of 64; and an access of a warp as runs of bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Visits the words that hold the bits [from, from + count), count > 0: visit(index, mask). Stops when that returns
/// false, and then returns false.
template <class Visit>
bool for_each_word(std::uint64_t from, std::uint64_t count, Visit visit) {
  const std::uint64_t last = from + count - 1, end = last / 64;
  const std::uint64_t low = ~std::uint64_t{0} << from % 64, high = ~std::uint64_t{0} >> (63 - last % 64);
  std::uint64_t k = from / 64;
  if (k == end) return visit(k, low & high);
  if (!visit(k, low)) return false;
  while (++k < end)
    if (!visit(k, ~std::uint64_t{0})) return false;
  return visit(end, high);
}

inline void set_bits(std::uint64_t* words, std::uint64_t from, std::uint64_t count) {
  for_each_word(from, count, [&](std::uint64_t k, std::uint64_t mask) { return words[k] |= mask, true; });
}
inline void clear_bits(std::uint64_t* words, std::uint64_t from, std::uint64_t count) {
  for_each_word(from, count, [&](std::uint64_t k, std::uint64_t mask) { return words[k] &= ~mask, true; });
}
inline bool all_bits(const std::uint64_t* words, std::uint64_t from, std::uint64_t count) {
  return for_each_word(from, count, [&](std::uint64_t k, std::uint64_t mask) { return (words[k] & mask) == mask; });
}
/// The `count` bits (at most 64) from `from` on, the first lowest.
inline std::uint64_t bits_at(const std::uint64_t* words, std::uint64_t from, unsigned count) {
  const unsigned shift = from % 64;
  std::uint64_t value = words[from / 64] >> shift;
  if (shift + count > 64) value |= words[from / 64 + 1] << (64 - shift);
  return count == 64 ? value : value & ((std::uint64_t{1} << count) - 1);
}

/// Visits what the lanes access, elements side by side at once: visit(first address, bytes).
template <class Visit>
void for_each_span(const Access& a, Visit visit) {
  if (a.is_pattern() && a.mask == full_mask) return a.for_each_piece(a.bytes, visit);
  std::uint64_t first = 0, end = 0;
  for (const unsigned lane : lanes_in(a.mask)) {
    const std::uint64_t at = a.at(lane);
    if (at != end || first == end) {
      if (first != end) visit(first, end - first);
      first = at;
    }
    end = at + a.bytes;
  }
  if (first != end) visit(first, end - first);
}
/// The same for several warps.
template <class Visit>
void for_each_span(const AccessRun& run, Visit visit) {
  const Access& a = run.first;
  if (!a.mask) return;
  const auto skipped = first_lane(a.mask);
  if (a.is_affine() && a.mask == full_mask << skipped && a.stride == a.bytes &&
      (run.step == a.stride * warp_size || run.count == 1))
    return visit(a.at(skipped), std::uint64_t{a.bytes} * (warp_size * run.count - skipped));
  if (!a.is_pattern() || a.mask != full_mask) {
    for (unsigned k = 0; k < run.count; ++k) for_each_span(run.of(k), visit);
    return;
  }
  Pattern pattern = a;
  for (unsigned k = 0; k < run.count; ++k, pattern.first += static_cast<std::uint64_t>(run.step))
    pattern.for_each_piece(a.bytes, visit);
}

/// The lowest byte that the run accesses, and the one after the highest.
struct Extent {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
};
inline Extent extent_of(const AccessRun& run) {
  const Access& a = run.first;
  Extent e;
  const auto include = [&](std::uint64_t begin, std::uint64_t end) {
    e.begin = std::min(e.begin, begin);
    e.end = std::max(e.end, end);
  };
  // `lanes` of a row, all rows, of `warps`.
  const auto include_pattern = [&](std::uint64_t first, int lanes, unsigned warps) {
    std::int64_t low = 0, high = 0;
    const auto extend = [&](std::int64_t step, std::int64_t times) {
      low += std::min<std::int64_t>(step * times, 0);
      high += std::max<std::int64_t>(step * times, 0);
    };
    extend(a.stride, lanes - 1);
    if (!a.is_one_row()) extend(a.row_step, warp_size / a.row_lanes - 1);
    extend(run.step, warps - 1);
    include(first + static_cast<std::uint64_t>(low), first + static_cast<std::uint64_t>(high) + a.bytes);
  };
  if (a.is_pattern() && a.mask == full_mask) {
    include_pattern(a.first, static_cast<int>(a.row_lanes), run.count);
    return e;
  }
  if (a.is_affine() && a.mask) {
    const int low = std::countr_zero(a.mask);
    include_pattern(a.at(static_cast<unsigned>(low)), 32 - std::countl_zero(a.mask) - low, 1);
  } else {
    for (const unsigned lane : lanes_in(a.mask)) {
      const std::uint64_t at = a.at(lane);
      include(at, at + a.bytes);
    }
  }
  if (run.count > 1)
    include_pattern(a.first + static_cast<std::uint64_t>(run.step), static_cast<int>(a.row_lanes), run.count - 1);
  return e;
}

}  // namespace scanlab::vgpu
