#include "autograder/timing/timed_work.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include "autograder/check/inputs.hpp"

namespace scanlab::grade {

namespace {

constexpr std::uint64_t sums_below = 1u << 10;  // of scans
constexpr std::uint64_t magnitudes = 1u << 20;  // of splits
constexpr std::size_t piece = 1024;             // each sum is computed once, and several at a time

/// Calls part(number, begin, end) for up to `threads` parts of 0 … n - 1, at least 1, side by side; waits for all.
template <typename Part>
void side_by_side(std::size_t n, unsigned threads, Part part) {
  const std::size_t each = (n + threads - 1) / threads;
  std::vector<std::jthread> others;
  for (unsigned number = 1; number < threads; ++number) {
    const std::size_t begin = std::min(n, number * each), end = std::min(n, begin + each);
    if (begin < end) others.emplace_back([=] { part(number, begin, end); });
  }
  part(0, 0, std::min(n, each));
}

/// P(k)
std::int32_t sum(std::uint64_t seed, std::uint64_t k) {
  return k == 0 ? 0 : static_cast<std::int32_t>(random_number(seed, k) % sums_below);
}

float element_of_split(std::uint64_t seed, std::size_t k) {
  const std::uint64_t number = random_number(seed, k);
  const auto magnitude = static_cast<float>(1 + number % magnitudes);
  return number >> 63 ? magnitude : -magnitude;
}

}  // namespace

Comparison TimedWork::compare(std::span<const float> y) const {
  std::vector<Comparison> parts(threads_);
  side_by_side(y.size(), threads_, [&](unsigned number, std::size_t begin, std::size_t end) {
    Comparison found;  // of the thread's own: neighbours in `parts` share a cache line
    for (std::size_t i = begin; i < end; ++i) {
      if (!(y[i] == y_[i])) found.add(i);  // NaN is never right
    }
    parts[number] = found;
  });
  Comparison whole;
  for (const Comparison& part : parts) {
    whole.wrong += part.wrong;
    whole.first = std::min(whole.first, part.first);
    whole.last = std::max(whole.last, part.last);
  }
  return whole;
}

void TimedScan::renew(std::uint64_t seed, std::span<float> x) {
  y_.resize(x.size());
  const std::size_t section = scan_.section == 0 ? std::max<std::size_t>(x.size(), 1) : scan_.section;
  const std::size_t last = scan_.kind == Kind::inclusive ? 1 : 0;  // y[i] = P(i + last) - P(begin of its section)
  side_by_side(x.size(), threads_, [=, this](unsigned, std::size_t begin, std::size_t end) {
    std::array<std::int32_t, piece + 1> sums;
    for (std::size_t first = begin; first < end;) {
      const std::size_t section_begin = first - first % section;
      const std::size_t count = std::min({end - first, section_begin + section - first, piece});
      const std::int32_t before = sum(seed, section_begin);
      for (std::size_t k = 0; k <= count; ++k) sums[k] = sum(seed, first + k);
      for (std::size_t k = 0; k < count; ++k) x[first + k] = static_cast<float>(sums[k + 1] - sums[k]);
      for (std::size_t k = 0; k < count; ++k) y_[first + k] = static_cast<float>(sums[k + last] - before);
      first += count;
    }
  });
}

void TimedSplit::renew(std::uint64_t seed, std::span<float> x) {
  y_.resize(x.size());
  // Each part counts what it keeps; then all know where theirs begins, among the kept elements and among the others.
  std::vector<std::size_t> kept(threads_ + 1, 0);
  side_by_side(x.size(), threads_, [&](unsigned number, std::size_t begin, std::size_t end) {
    std::size_t count = 0;
    for (std::size_t k = begin; k < end; ++k) {
      x[k] = element_of_split(seed, k);
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

std::unique_ptr<TimedWork> make_timed_work(const Plan& plan, const CheckPlan& check, unsigned threads) {
  if (check.entry == Operation::split) return std::make_unique<TimedSplit>(threads);
  const Kind kind = check.entry == Operation::inclusive ? Kind::inclusive : Kind::exclusive;
  return std::make_unique<TimedScan>(Scan{kind, plan.section}, threads);
}

}  // namespace scanlab::grade
