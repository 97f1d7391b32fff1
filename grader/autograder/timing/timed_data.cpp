#include "autograder/timing/timed_data.hpp"

#include <algorithm>
#include <array>

#include "autograder/check/inputs.hpp"
#include "autograder/check/side_by_side.hpp"

namespace scanlab::grade {

namespace {

constexpr std::uint64_t sums_below = 1u << 10;

inline std::int32_t sum(std::uint64_t seed, std::uint64_t k) {
  return k == 0 ? 0 : static_cast<std::int32_t>(random_number(seed, k) % sums_below);
}

/// How many elements before i end what y[i] is the sum of: y[i] = P(i + end_of) - P(begin of its section).
std::size_t end_of(Kind kind) {
  return kind == Kind::inclusive ? 1 : 0;
}

/// Compares y[i] for i from `begin` to `end` - 1, which lie in one section.
void compare_run(std::uint64_t seed, std::span<const float> y, std::size_t begin, std::size_t end, std::int32_t before,
                 std::size_t shift, Comparison& found) {
  const auto is_right = [&](std::size_t i) { return y[i] == static_cast<float>(sum(seed, i + shift) - before); };
  std::size_t wrong = 0;
  for (std::size_t i = begin; i < end; ++i) wrong += !is_right(i);  // NaN is never right
  if (wrong == 0) return;
  for (std::size_t i = begin; i < end; ++i) {
    if (!is_right(i)) found.add(i);
  }
}

}  // namespace

std::int32_t TimedData::sum_of_first(std::size_t k) const {
  return sum(seed_, k);
}

float TimedData::expected(Scan scan, std::size_t i) const {
  const std::size_t begin = scan.section == 0 ? 0 : i - i % scan.section;
  return static_cast<float>(sum(seed_, i + end_of(scan.kind)) - sum(seed_, begin));
}

void TimedData::make(std::span<float> x, unsigned threads) const {
  const std::uint64_t seed = seed_;
  side_by_side(x.size(), threads, [=](unsigned, std::size_t begin, std::size_t end) {
    // In pieces, so that each sum is computed once, and several at a time.
    std::array<std::int32_t, 1025> sums;
    for (std::size_t first = begin; first < end; first += sums.size() - 1) {
      const std::size_t count = std::min(end - first, sums.size() - 1);
      for (std::size_t k = 0; k <= count; ++k) sums[k] = sum(seed, first + k);
      for (std::size_t k = 0; k < count; ++k) x[first + k] = static_cast<float>(sums[k + 1] - sums[k]);
    }
  });
}

Comparison TimedData::compare(std::span<const float> y, Scan scan, unsigned threads) const {
  constexpr std::size_t most_at_once = 1u << 16;  // a section of the whole array is compared piece by piece as well
  return compare_parts(y.size(), threads, [&, seed = seed_](Comparison& found, std::size_t begin, std::size_t end) {
    while (begin < end) {
      const std::size_t section_begin = scan.section == 0 ? 0 : begin - begin % scan.section;
      const std::size_t section_end = scan.section == 0 ? y.size() : section_begin + scan.section;
      const std::size_t stop = std::min({end, section_end, begin + most_at_once});
      compare_run(seed, y, begin, stop, sum(seed, section_begin), end_of(scan.kind), found);
      begin = stop;
    }
  });
}

}  // namespace scanlab::grade
