#include "vgpu/checks/block_clocks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {
namespace {

using Stamp = BlockClocks::Stamp;

/// Learns what another row knows. With bounds that no store can change, so that compilers use vectors.
void learn(Stamp* stamps, const Stamp* to, const unsigned count) {
  for (unsigned u = 0; u < count; ++u) stamps[u] = std::max(stamps[u], to[u]);
}

unsigned count_above(const Stamp* row, const Stamp* other, const unsigned count) {
  unsigned above = 0;
  for (unsigned u = 0; u < count; ++u) above += row[u] > other[u];
  return above;
}

}  // namespace

void BlockClocks::begin_block(unsigned threads) {
  threads_ = threads;
  warps_ = (threads + warp_size - 1) / warp_size;
  has_ticked_ = true;
  begin_interval();
}

void BlockClocks::begin_interval() {
  if (!has_ticked_) return;
  has_ticked_ = is_wide_ = false;
  split_ = 0;
  clock_.assign(warps_, 1);
  known_.assign(warps_, 0);
}

Mask BlockClocks::lanes_of(unsigned warp) const {
  const unsigned lanes = std::min(warp_size, threads_ - warp * warp_size);
  return full_mask >> (warp_size - lanes);
}

/// What `thread` knows of each lane of a warp, where that is not one number.
const BlockClocks::Stamp* BlockClocks::row_of(unsigned thread, unsigned warp) const {
  if (is_wide_) return wide_row(thread) + warp * warp_size;
  return &tables_[warp][thread % warp_size * warp_size];
}

BlockClocks::Stamp BlockClocks::knows(unsigned thread, unsigned other) const {
  const unsigned warp = thread / warp_size;
  if (!is_wide_ && other / warp_size != warp) return 0;
  if (!is_wide_ && !(split_ >> warp & 1)) return known_[warp];
  return row_of(thread, other / warp_size)[other % warp_size];
}

Mask BlockClocks::below(const Stamp* row, Stamp stamp) {
  return mask_where<Stamp>([&](auto& is_below, unsigned chunk) {
    Vector<Stamp> some;
    std::memcpy(&some, row + chunk * VectorOf<Stamp>::width, sizeof some);
    is_below = some < stamp;
  });
}

Mask BlockClocks::unordered(unsigned warp, Mask lanes, Stamp stamp, unsigned thread) const {
  const bool is_own = thread / warp_size == warp;
  if (is_own) lanes &= ~(Mask{1} << thread % warp_size);
  if (!is_wide_ && !is_own) return lanes;
  if (!is_wide_ && !(split_ >> warp & 1)) return stamp <= known_[warp] ? 0 : lanes;
  return lanes & below(row_of(thread, warp), stamp);
}

bool BlockClocks::is_known_to_all(unsigned by, unsigned warp, Mask lanes, Stamp stamp) const {
  if (!is_wide_) return by == warp && is_known_in(warp, stamp);
  return is_together(by) && !(lanes & below(row_of(by * warp_size, warp), stamp));
}

void BlockClocks::meet(unsigned warp, Mask lanes) {
  const Mask all = lanes_of(warp);
  lanes &= all;
  if (std::popcount(lanes) < 2) return;
  if (!is_wide_ && lanes == all) {
    known_[warp] = clock_[warp];
    split_ &= ~(1u << warp);
  } else if (!is_wide_) {
    split(warp);
    Table& table = tables_[warp];
    Stamp joined[warp_size] = {};
    for (const unsigned lane : lanes_in(lanes)) {
      for (unsigned k = 0; k < warp_size; ++k) joined[k] = std::max(joined[k], table[lane * warp_size + k]);
    }
    for (const unsigned lane : lanes_in(lanes)) joined[lane] = clock_[warp];
    for (const unsigned lane : lanes_in(lanes)) std::copy_n(joined, warp_size, &table[lane * warp_size]);
  } else if (is_together(warp) && lanes == all) {
    // None of them has learnt anything since they last met, except what the others have done.
    std::fill_n(wide_row(warp * warp_size) + warp * warp_size, std::popcount(all), clock_[warp]);
  } else {
    Row joined(threads_);
    const unsigned first = warp * warp_size;
    for (const unsigned lane : lanes_in(lanes)) release(first + lane, joined);
    if (lanes == all) {
      together_ |= 1u << warp;
      std::copy(joined.begin(), joined.end(), wide_row(first));
    } else {
      part(warp);
      for (const unsigned lane : lanes_in(lanes)) std::copy(joined.begin(), joined.end(), wide_row(first + lane));
    }
  }
  tick(warp);
}

void BlockClocks::tick(unsigned warp) {
  ++clock_[warp];
  has_ticked_ = true;
}

void BlockClocks::release(unsigned thread, Row& row) const {
  const unsigned warp = thread / warp_size;
  row.resize(threads_);
  if (is_wide_) {
    learn(row.data(), wide_row(thread), threads_);
  } else {
    const unsigned end = std::min(threads_, (warp + 1) * warp_size);
    for (unsigned u = warp * warp_size; u < end; ++u) row[u] = std::max(row[u], knows(thread, u));
  }
  row[thread] = std::max(row[thread], clock_[warp]);
}

bool BlockClocks::has_news(unsigned thread, const Row& row) const {
  if (is_wide_ && !row.empty()) {
    const Stamp* const own = wide_row(thread);
    return count_above(row.data(), own, threads_) > (row[thread] > own[thread] ? 1 : 0);
  }
  for (unsigned u = 0; u < row.size(); ++u)
    if (row[u] && u != thread && row[u] > knows(thread, u)) return true;
  return false;
}

void BlockClocks::acquire(unsigned thread, const Row& row) {
  if (!has_news(thread, row)) return;
  has_ticked_ = true;
  if (!is_wide_) widen();
  part(thread / warp_size);
  learn(wide_row(thread), row.data(), threads_);
}

void BlockClocks::acquire(unsigned warp, Mask lanes, const Row& row) {
  const unsigned first = warp * warp_size;
  if (is_wide_ && is_together(warp) && (lanes & lanes_of(warp)) == lanes_of(warp)) {
    has_ticked_ = true;
    if (!row.empty()) learn(wide_row(first), row.data(), threads_);
    return;
  }
  for (const unsigned lane : lanes_in(lanes & lanes_of(warp))) acquire(first + lane, row);
}

void BlockClocks::split(unsigned warp) {
  if (split_ >> warp & 1) return;
  tables_.resize(warps_);
  tables_[warp].fill(known_[warp]);
  split_ |= 1u << warp;
}

/// Each lane has a row of its own again.
void BlockClocks::part(unsigned warp) {
  if (!is_together(warp)) return;
  together_ &= ~(1u << warp);
  const unsigned first = warp * warp_size, end = std::min(threads_, first + warp_size);
  for (unsigned t = first + 1; t < end; ++t) std::copy_n(wide_row(first), threads_, wide_row(t));
}

void BlockClocks::widen() {
  together_ = 0;
  wide_.assign(std::size_t{threads_} * warps_ * warp_size, 0);
  for (unsigned t = 0; t < threads_; ++t) {
    const unsigned first = t / warp_size * warp_size, end = std::min(threads_, first + warp_size);
    for (unsigned u = first; u < end; ++u) wide_row(t)[u] = knows(t, u);
  }
  is_wide_ = true;
}

}  // namespace scanlab::vgpu
