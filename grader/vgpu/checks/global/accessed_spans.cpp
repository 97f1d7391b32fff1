#include "vgpu/checks/global/accessed_spans.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace scanlab::vgpu {
namespace {

/// The first byte of a span that lies in [low, high).
std::optional<Address> first_byte_in(const Span& s, Address low, Address high) {
  low = std::max(low, s.begin);
  high = std::min(high, s.end);
  if (low >= high) return {};
  if (s.period == 0) return low;
  const std::uint64_t into = (low - s.begin) % s.period;
  const Address at = into < s.length ? low : low - into + s.period;
  return at < high ? std::optional(at) : std::nullopt;
}

/// One span where the second goes on from the first.
bool join(Span& a, const Span& b) {
  if (a.period != b.period || a.length != b.length || b.begin < a.begin) return false;
  if (a.period == 0) {
    if (b.begin > a.end) return false;
  } else if ((b.begin - a.begin) % a.period != 0 || b.begin > a.end - a.length + a.period) {
    return false;
  }
  a.end = std::max(a.end, b.end);
  return true;
}

/// Joins what belongs together.
void tidy(std::vector<Span>& spans) {
  std::ranges::sort(spans, [](const Span& a, const Span& b) {
    const auto key = [](const Span& s) {
      return std::tuple(s.period, s.length, s.period == 0 ? 0 : s.begin % s.period, s.begin);
    };
    return key(a) < key(b);
  });
  std::size_t kept = 0;
  for (std::size_t k = 1; k < spans.size(); ++k)
    if (!join(spans[kept], spans[k])) spans[++kept] = spans[k];
  if (!spans.empty()) spans.resize(kept + 1);
}

}  // namespace

std::optional<Address> first_common_byte(const Span& a, const Span& b) {
  const Address low = std::max(a.begin, b.begin), high = std::min(a.end, b.end);
  if (low >= high) return {};
  if (a.period == 0) return first_byte_in(b, low, high);
  if (b.period == 0) return first_byte_in(a, low, high);
  // Piece by piece of the one with fewer of them, until the two are offset as at the beginning.
  const Span &wide = a.period >= b.period ? a : b, &narrow = a.period >= b.period ? b : a;
  const std::uint64_t steps = narrow.period / std::gcd(wide.period, narrow.period);
  Address piece = low - (low - wide.begin) % wide.period;
  for (std::uint64_t k = 0; k <= steps && piece < high; ++k, piece += wide.period)
    if (const auto found = first_byte_in(narrow, std::max(low, piece), std::min(high, piece + wide.length)))
      return found;
  return {};
}

AccessedSpans::Group& AccessedSpans::group_of(const AccessSite& site) {
  if (last_ < used_ && groups_[last_].site == site) return groups_[last_];
  for (last_ = 0; last_ < used_; ++last_)
    if (groups_[last_].site == site) return groups_[last_];
  if (used_++ == groups_.size()) groups_.emplace_back();
  groups_[last_].site = site;
  return groups_[last_];
}

void AccessedSpans::add(Address first, std::int64_t stride, std::uint64_t count, std::uint64_t length,
                        const AccessSite& site) {
  if (count == 0 || length == 0 || is_too_large_) return;
  if (stride < 0) {
    first -= static_cast<std::uint64_t>(-stride) * (count - 1);
    stride = -stride;
  }
  const auto distance = static_cast<std::uint64_t>(stride);
  const bool is_even = count == 1 || distance <= length;
  const Span span{first, first + distance * (count - 1) + length, is_even ? 0 : distance, is_even ? 0 : length};
  Group& group = group_of(site);
  std::vector<Span>& spans = is_even ? group.even : group.strided;
  if (!spans.empty()) {
    Span& last = spans.back();
    if (join(last, span)) return;
    Span joined = span;  // blocks may run by descending index
    if (join(joined, last)) {
      last = joined;
      return;
    }
  }
  spans.push_back(span);
  if (++count_ <= most) return;
  tidy_all();
  is_too_large_ = count_ > most / 2;
}

void AccessedSpans::tidy_all() {
  count_ = 0;
  for (std::size_t k = 0; k < used_; ++k)
    for (std::vector<Span>* spans : {&groups_[k].even, &groups_[k].strided}) {
      if (spans->size() > 1) tidy(*spans);
      count_ += spans->size();
    }
}

std::vector<AccessedSpan> AccessedSpans::list() {
  tidy_all();
  std::vector<AccessedSpan> result;
  result.reserve(count_);
  for (std::size_t k = 0; k < used_; ++k)
    for (const std::vector<Span>* spans : {&groups_[k].even, &groups_[k].strided})
      for (const Span& span : *spans) result.push_back({span, groups_[k].site});
  const auto begin = [](const AccessedSpan& t) { return t.span.begin; };
  if (!std::ranges::is_sorted(result, {}, begin)) std::ranges::stable_sort(result, {}, begin);
  return result;
}

void AccessedSpans::clear() {
  for (std::size_t k = 0; k < used_; ++k) {
    groups_[k].even.clear();
    groups_[k].strided.clear();
  }
  used_ = count_ = 0;
  is_too_large_ = false;
}

}  // namespace scanlab::vgpu
