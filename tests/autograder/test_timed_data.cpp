#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "autograder/scan/scan_oracle.hpp"
#include "autograder/timing/timed_work.hpp"

using namespace scanlab::grade;

namespace {

const std::vector<Scan> scans = {{Kind::inclusive, 0},    {Kind::exclusive, 0},  {Kind::inclusive, 1024},
                                 {Kind::exclusive, 1024}, {Kind::inclusive, 1},  {Kind::exclusive, 1},
                                 {Kind::inclusive, 1000}, {Kind::exclusive, 33}, {Kind::inclusive, 1 << 20}};

constexpr Scan whole{Kind::inclusive, 0};

std::vector<float> data_of(TimedWork& work, std::uint64_t seed, std::size_t n) {
  std::vector<float> x(n);
  work.renew(seed, x);
  return x;
}

std::vector<float> data_of(std::uint64_t seed, std::size_t n, unsigned threads = 3) {
  TimedScan work(whole, threads);
  return data_of(work, seed, n);
}

std::vector<float> right_output(const TimedWork& work, std::size_t n) {
  std::vector<float> y(n);
  for (std::size_t i = 0; i < n; ++i) y[i] = work.expected(i);
  return y;
}

}  // namespace

TEST_CASE("what timed data expects is what the oracle finds", "[timed_data]") {
  for (const std::size_t n : {1u, 2u, 33u, 1024u, 5000u, 200000u}) {
    for (const Scan scan : scans) {
      TimedScan work(scan, 3);
      const std::vector<float> x = data_of(work, n, n);
      CHECK(x == data_of(n, n));
      const Reference<float> reference = reference_of<float>(x, scan);
      for (std::size_t i = 0; i < n; ++i) {
        if (reference.exact[i] == static_cast<double>(work.expected(i))) continue;
        FAIL((scan.kind == Kind::inclusive ? "inclusive" : "exclusive")
             << ", section " << scan.section << ", n = " << n << ": y[" << i << "] is " << reference.exact[i]
             << ", expected " << work.expected(i));
      }
    }
  }
}

TEST_CASE("no order of additions rounds", "[timed_data]") {
  TimedScan work(whole, 3);
  constexpr std::size_t n = 1 << 15;
  const std::vector<float> x = data_of(work, 5, n);

  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += x[i];
    REQUIRE(sum == work.expected(i));
  }
  std::vector<float> steps = x;  // Kogge-Stone: every sum of 2^k neighbours
  for (std::size_t stride = 1; stride < n; stride *= 2) {
    for (std::size_t i = n - 1; i >= stride; --i) steps[i] = steps[i - stride] + steps[i];
  }
  CHECK(work.compare(steps).ok());
  for (const std::size_t end : {1u, 1000u, 32768u}) {  // and from the right to the left
    float backwards = 0;
    for (std::size_t i = end; i-- > 0;) backwards += x[i];
    CHECK(backwards == work.expected(end - 1));
  }
}

TEST_CASE("sums of 2^14 stretches that do not adjoin are exact in a float", "[timed_data]") {
  const std::vector<float> x = data_of(11, 100000);
  CHECK(std::all_of(x.begin(), x.end(), [](float value) { return std::fabs(value) < 0x1p10f; }));
  CHECK(std::all_of(x.begin(), x.end(), [](float value) { return std::trunc(value) == value; }));
}

TEST_CASE("data is a function of the seed, whatever the threads", "[timed_data]") {
  const std::vector<float> x = data_of(1, 1000, 1);
  CHECK(x == data_of(1, 1000, 7));
  CHECK(x != data_of(2, 1000, 1));
  CHECK(data_of(1, 3, 16).size() == 3);
  CHECK(data_of(1, 0, 2).empty());
}

TEST_CASE("every wrong element is found and counted", "[timed_data]") {
  constexpr std::size_t n = 5000;
  for (const Scan scan : scans) {
    for (const unsigned threads : {1u, 2u, 5u}) {
      TimedScan work(scan, threads);
      data_of(work, 3, n);
      std::vector<float> y = right_output(work, n);
      CHECK(work.compare(y).ok());
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{2500}, n - 1}) {
        const float kept = y[i];
        for (const float wrong : {kept + 1, std::numeric_limits<float>::quiet_NaN()}) {
          y[i] = wrong;
          const Comparison found = work.compare(y);
          CHECK((found.wrong == 1 && found.first == i && found.last == i));
        }
        y[i] = kept;
      }
      y[7] += 1;
      y[4321] -= 1;
      const Comparison found = work.compare(y);
      CHECK((found.wrong == 2 && found.first == 7 && found.last == 4321));
    }
  }
}

TEST_CASE("an output that was never written is wrong everywhere", "[timed_data]") {
  std::vector<float> y(1000);
  std::memset(y.data(), unwritten_byte, y.size() * sizeof(float));
  TimedScan work(whole, 4);
  data_of(work, 1, y.size());
  const Comparison found = work.compare(y);
  CHECK((found.wrong == 1000 && found.first == 0 && found.last == 999));
  CHECK(work.compare({}).ok());
}

TEST_CASE("the output of other data is wrong", "[timed_data]") {
  TimedScan work(whole, 2);
  data_of(work, 1, 1000);
  const std::vector<float> y = right_output(work, 1000);
  data_of(work, 2, 1000);
  CHECK(work.compare(y).wrong > 990);
}
