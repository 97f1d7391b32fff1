#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <vector>

#include "autograder/partition/partition_oracle.hpp"
#include "autograder/timing/timed_work.hpp"

using namespace scanlab::grade;

namespace {

std::vector<float> data_of(TimedSplit& split, std::uint64_t seed, std::size_t n) {
  std::vector<float> x(n);
  split.renew(seed, x);
  return x;
}

}  // namespace

TEST_CASE("what a timed split expects is what the oracle finds, with any number of threads", "[timed_split]") {
  for (const std::size_t n : {1u, 2u, 5u, 33u, 1024u, 5001u, 200000u}) {
    for (const unsigned threads : {1u, 2u, 3u, 16u}) {
      TimedSplit split(threads);
      const std::vector<float> x = data_of(split, n, n);
      const Partition<float> right = partition_of<float>(x, Others::behind);
      CHECK(split.kept() == static_cast<std::int32_t>(right.kept));
      CHECK(split.compare(right.y).ok());
      for (const std::size_t i : {std::size_t{0}, n / 2, n - 1}) CHECK(split.expected(i) == right.y[i]);
    }
  }
}

TEST_CASE("every element of a timed split that is elsewhere is found", "[timed_split]") {
  TimedSplit split(3);
  const std::vector<float> x = data_of(split, 7, 10000);
  const std::vector<float> right = partition_of<float>(x, Others::behind).y;
  for (const std::size_t i : {0u, 1u, 3333u, 3334u, 9999u}) {
    std::vector<float> y = right;
    y[i] = std::numeric_limits<float>::quiet_NaN();
    const Comparison comparison = split.compare(y);
    CHECK(comparison.wrong == 1);
    CHECK(comparison.first == i);
    CHECK(comparison.last == i);
  }
  std::vector<float> y = right;
  std::rotate(y.begin() + 100, y.begin() + 101, y.begin() + 200);  // not stable
  const Comparison comparison = split.compare(y);
  CHECK(comparison.wrong == 100);
  CHECK(comparison.first == 100);
  CHECK(comparison.last == 199);
}

TEST_CASE("the data of a timed split depends on its number alone", "[timed_split]") {
  TimedSplit one(1), two(2);
  const std::vector<float> x = data_of(one, 7, 5000);
  CHECK(x == data_of(two, 7, 5000));
  CHECK(x != data_of(two, 8, 5000));
  const auto positive = std::ranges::count_if(x, [](float value) { return value > 0; });
  CHECK(positive > 2000);
  CHECK(positive < 3000);
  CHECK(std::ranges::none_of(x, [](float value) { return value == 0; }));
}
