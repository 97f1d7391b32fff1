#include "vgpu/checks/shared/access_log.hpp"

#include <algorithm>
#include <bit>

#include "vgpu/checks/byte_bits.hpp"

namespace scanlab::vgpu {
namespace {

/// What the log may hold, and compare, until the shadow memory is the better place.
constexpr std::size_t most_entries = 512, most_scattered = 512;
constexpr std::uint32_t most_comparisons = 2048;
/// Entries to which a row of the next warp may belong.
constexpr std::size_t last_entries = 16;

/// True when the addresses of the lanes that take part are a pattern.
bool find_pattern(const Access& a, Pattern& p) {
  if (a.is_pattern()) {
    p = a;
    return true;
  }
  const auto at = [&](unsigned lane) { return static_cast<std::int64_t>(a.address[lane]); };
  // Usually a look at a few lanes is enough.
  if (a.mask == full_mask && (at(2) - at(1) != at(1) - at(0) || at(31) - at(0) != (at(1) - at(0)) * 31)) return false;
  const auto low = first_lane(a.mask);
  if (const Mask rest = a.mask & (a.mask - 1)) {
    const auto next = first_lane(rest);
    const std::int64_t distance = at(next) - at(low), lanes = next - low;
    if (distance % lanes) return false;
    p.stride = distance / lanes;
  }
  p.first = static_cast<std::uint64_t>(at(low) - p.stride * low);
  return !lanes_where(a.mask, [&](unsigned l) { return a.address[l] != p.at(l); });
}

}  // namespace

void AccessLog::clear() {
  reads_.clear();
  writes_.clear();
  strong_.clear();
  scattered_count_ = 0;
  compared_ = 0;
}

std::int64_t AccessLog::Entry::last_thread() const {
  return (what.warp + count - 1) * std::int64_t{warp_size} + (count > 1 ? 31 : 31 - std::countl_zero(what.lanes));
}

bool AccessLog::make(const AccessRun& run, Footprint what, Entry& e) {
  const Access& a = run.first;
  e.what = what;
  e.count = static_cast<std::uint16_t>(run.count);
  e.step = run.step;
  const Extent extent = extent_of(run);
  e.low = static_cast<std::uint32_t>(extent.begin);
  e.high = static_cast<std::uint32_t>(extent.end);
  if (find_pattern(a, e.lanes)) return true;
  if (scattered_count_ == most_scattered) return false;
  if (scattered_count_ == scattered_.size()) scattered_.resize(2 * scattered_.size() + 16);
  e.scattered = scattered_count_;
  std::uint32_t* const to = scattered_[scattered_count_++].data();
  for (unsigned l = 0; l < warp_size; ++l) to[l] = static_cast<std::uint32_t>(a.address[l]);
  return true;
}

/// Of even rows: no thread of one accesses what another thread of the other does.
bool AccessLog::meet_only_in_threads(const Entry& a, const Entry& b) {
  const std::int64_t stride = a.is_single() ? b.lanes.stride : a.lanes.stride;
  if (stride == 0 || (stride != b.lanes.stride && !b.is_single())) return false;
  const std::int64_t shift = a.origin(stride) - b.origin(stride);
  const std::int64_t size_a = a.what.bytes, size_b = b.what.bytes, distance = stride < 0 ? -stride : stride;
  if (shift == 0 && size_a <= distance && size_b <= distance) return true;
  // Thread t of a meets thread t + k of b where -size_a < shift - stride * k < size_b, which leaves few numbers k.
  const auto floor_of = [&](std::int64_t n) { return (n < 0 ? n - distance + 1 : n) / distance; };
  for (std::int64_t n = floor_of(shift - size_b) + 1; n * distance < shift + size_a; ++n) {
    const std::int64_t k = stride < 0 ? -n : n;
    if (k != 0 && std::max(a.first_thread(), b.first_thread() - k) <= std::min(a.last_thread(), b.last_thread() - k))
      return false;
  }
  return true;
}

bool AccessLog::are_apart(const Entry& a, const Entry& b, const BlockClocks& clocks) {
  if (a.high <= b.low || b.high <= a.low) return true;
  if (!can_race(a.what.how, b.what.how)) return true;
  if (a.count == 1 && b.count == 1 && a.what.warp == b.what.warp && clocks.is_known_in(a.what.warp, a.what.stamp))
    return true;
  return a.is_even() && b.is_even() && meet_only_in_threads(a, b);
}

bool AccessLog::is_apart_from(const std::vector<Entry>& others, const Entry& e, const BlockClocks& clocks) {
  compared_ += static_cast<std::uint32_t>(others.size());
  if (compared_ > most_comparisons) return false;
  return std::ranges::all_of(others, [&](const Entry& other) { return are_apart(other, e, clocks); });
}

/// True when `e`, a row of one warp, goes on or precedes `to`, which then holds it too.
bool AccessLog::joins(Entry& to, const Entry& e) {
  const Footprint &a = to.what, &b = e.what;
  if (a.line != b.line || a.lanes != full_mask || b.lanes != full_mask || a.stamp != b.stamp || !(a.how == b.how) ||
      a.bytes != b.bytes || to.lanes.stride != e.lanes.stride || !to.is_even() || !e.is_even() ||
      to.origin(to.lanes.stride) != e.origin(e.lanes.stride))
    return false;
  if (b.warp == a.warp + to.count) {
  } else if (b.warp + 1 == a.warp) {
    to.what.warp = b.warp;
    to.lanes.first = e.lanes.first;
  } else {
    return false;
  }
  ++to.count;
  to.step = to.lanes.stride * warp_size;
  to.low = std::min(to.low, e.low);
  to.high = std::max(to.high, e.high);
  return true;
}

bool AccessLog::add(const AccessRun& run, Footprint what, const BlockClocks& clocks) {
  Entry e;
  if (reads_.size() + writes_.size() + strong_.size() >= most_entries || !make(run, what, e)) return false;
  std::vector<Entry>& entries = !what.how.writes()                           ? reads_
                                : what.how.strength == How::Strength::strong ? strong_
                                                                             : writes_;
  if (!writes_.empty() && !is_apart_from(writes_, e, clocks)) return false;
  if (!strong_.empty() && &entries != &strong_ && !is_apart_from(strong_, e, clocks)) return false;
  if (!reads_.empty() && &entries != &reads_ && !is_apart_from(reads_, e, clocks)) return false;
  if (e.count == 1 && e.scattered == none) {
    const std::size_t oldest = entries.size() - std::min(entries.size(), last_entries);
    for (std::size_t k = entries.size(); k-- > oldest;)
      if (joins(entries[k], e)) return true;
  }
  entries.push_back(e);
  return true;
}

}  // namespace scanlab::vgpu
