#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "autograder/check/inputs.hpp"
#include "autograder/timing/timing_decision.hpp"

using namespace scanlab::grade;

namespace {

/// 1, 2 … n in some other order.
std::vector<double> shuffled(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  Random random(n);
  for (std::size_t i = n; i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  return values;
}

}  // namespace

TEST_CASE("the median is the middle one, or between the two in the middle", "[statistics]") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 2}) == 2);
  CHECK(median({8, 1, 4, 2}) == 3);
  CHECK(median(shuffled(31)) == 16);
  CHECK_THROWS_AS(median({}), std::invalid_argument);
}

TEST_CASE("the interval's ranks are those of the sign test's tables", "[statistics]") {
  // Printed in statistics books for 95 %: the ranks of the two bounds among n values.
  const std::vector<std::pair<std::size_t, Interval>> table = {{6, {1, 6}},   {8, {1, 8}},   {9, {2, 8}},
                                                               {10, {2, 9}},  {11, {2, 10}}, {12, {3, 10}},
                                                               {20, {6, 15}}, {21, {6, 16}}, {31, {10, 22}}};
  for (const auto& [n, ranks] : table) {
    CAPTURE(n);
    const std::optional<Interval> interval = median_interval(shuffled(n));
    REQUIRE(interval);
    CHECK(interval->low == ranks.low);
    CHECK(interval->high == ranks.high);
  }
}

TEST_CASE("too few values have no interval", "[statistics]") {
  for (std::size_t n = 0; n < least_for_interval; ++n) CHECK_FALSE(median_interval(std::vector<double>(n, 1.0)));
  CHECK(median_interval(std::vector<double>(least_for_interval, 1.0)));
  CHECK_THROWS_AS(median_interval(std::vector<double>(1001, 1.0)), std::invalid_argument);
}

TEST_CASE("the interval misses the true median in at most 5 % of all cases", "[statistics]") {
  // A skewed distribution, as times have: the square of a uniform number, whose median is 1/4.
  Random random(7);
  constexpr int cases = 20000;
  for (const std::size_t n : {6u, 11u, 21u, 31u}) {
    int missed = 0;
    for (int i = 0; i < cases; ++i) {
      std::vector<double> values(n);
      for (double& value : values) {
        const double uniform = static_cast<double>(random.next() >> 11) * 0x1p-53;
        value = uniform * uniform;
      }
      const Interval interval = *median_interval(values);
      missed += interval.low > 0.25 || interval.high < 0.25;
    }
    CAPTURE(n, missed);
    CHECK(missed < cases * 0.055);
    CHECK(missed > 0);
  }
}
