#include "autograder/timing/timed_split.hpp"

#include <algorithm>
#include <numeric>

#include "autograder/check/inputs.hpp"
#include "autograder/check/side_by_side.hpp"
#include "autograder/element.hpp"

namespace scanlab::grade {

namespace {

constexpr std::uint64_t magnitudes = 1u << 20;

float element(std::uint64_t seed, std::size_t k) {
  const std::uint64_t number = random_number(seed, k);
  const auto magnitude = static_cast<float>(1 + number % magnitudes);
  return number >> 63 ? magnitude : -magnitude;
}

}  // namespace

void TimedSplit::renew(std::uint64_t seed, std::span<float> x) {
  y_.resize(x.size());
  // Each part counts what it keeps; then all know where theirs begins, among the kept elements and among the others.
  std::vector<std::size_t> kept(threads_ + 1, 0);
  side_by_side(x.size(), threads_, [&](unsigned number, std::size_t begin, std::size_t end) {
    std::size_t count = 0;
    for (std::size_t k = begin; k < end; ++k) {
      x[k] = element(seed, k);
      count += is_kept(x[k]);
    }
    kept[number + 1] = count;
  });
  std::partial_sum(kept.begin(), kept.end(), kept.begin());
  kept_ = static_cast<std::int32_t>(kept.back());
  side_by_side(x.size(), threads_, [&](unsigned number, std::size_t begin, std::size_t end) {
    std::size_t next_kept = kept[number], next_other = kept.back() + begin - kept[number];
    for (std::size_t k = begin; k < end; ++k) y_[is_kept(x[k]) ? next_kept++ : next_other++] = x[k];
  });
}

Comparison TimedSplit::compare(std::span<const float> y) const {
  return compare_parts(y.size(), threads_, [&](Comparison& found, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!(y[i] == y_[i])) found.add(i);
    }
  });
}

}  // namespace scanlab::grade
