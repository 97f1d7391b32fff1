#include "autograder/timing/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace scanlab::grade {

namespace {

/// The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %; 0 when there is none.
std::size_t rank_of_bound(std::size_t n) {
  if (n > 1000) throw std::invalid_argument("too many values for an exact interval");  // 2^-n is 0 from 1075 on
  double term = std::ldexp(1.0, -static_cast<int>(n));                                 // P(Binomial = 0)
  double sum = 0;
  std::size_t k = 0;
  while (sum + term <= 0.025) {
    sum += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("the median of no values");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<Interval> median_interval(std::vector<double> values) {
  const std::size_t k = rank_of_bound(values.size());
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{values[k - 1], values[values.size() - k]};
}

}  // namespace scanlab::grade
