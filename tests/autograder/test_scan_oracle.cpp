#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograder/check/inputs.hpp"
#include "autograder/scan/scan_oracle.hpp"

using namespace scanlab::grade;

namespace {

/// Scans of float data as submissions make them: in very different orders of additions.
std::vector<float> sequential(const std::vector<float>& x) {
  std::vector<float> y(x);
  for (std::size_t i = 1; i < y.size(); ++i) y[i] = y[i - 1] + y[i];
  return y;
}

std::vector<float> kogge_stone(const std::vector<float>& x) {
  std::vector<float> y(x);
  for (std::size_t stride = 1; stride < y.size(); stride *= 2) {
    for (std::size_t i = y.size(); i-- > stride;) y[i] = y[i - stride] + y[i];
  }
  return y;
}

/// Each sum from right to left: the worst association for the prefix sums.
std::vector<float> from_the_right(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    float sum = 0;
    for (std::size_t j = i + 1; j-- > 0;) sum = x[j] + sum;
    y[i] = sum;
  }
  return y;
}

}  // namespace

TEST_CASE("scans of integers are exact", "[oracle]") {
  const std::vector<float> x = {3, 1, 7, 0, 4, 1, 6, 3};
  const auto inclusive = reference_of<float>(x, {Kind::inclusive, 0});
  CHECK(inclusive.exact == std::vector<double>{3, 4, 11, 11, 15, 16, 22, 25});
  const auto exclusive = reference_of<float>(x, {Kind::exclusive, 0});
  CHECK(exclusive.exact == std::vector<double>{0, 3, 4, 11, 11, 15, 16, 22});
  for (const double tolerance : inclusive.tolerance) CHECK(tolerance == 0);
  CHECK_FALSE(inclusive.accepts(7, std::nextafter(25.0f, 26.0f)));
}

TEST_CASE("sections are scanned on their own, the last one partial", "[oracle]") {
  const std::vector<float> x = {1, 2, 3, 4, 5};
  CHECK(reference_of<float>(x, {Kind::inclusive, 2}).exact == std::vector<double>{1, 3, 3, 7, 5});
  CHECK(reference_of<float>(x, {Kind::exclusive, 2}).exact == std::vector<double>{0, 1, 0, 3, 0});
}

TEST_CASE("an empty array has an empty scan", "[oracle]") {
  CHECK(reference_of<float>({}, {Kind::inclusive, 1024}).size() == 0);
  CHECK(reference_of<Affine>({}, {Kind::exclusive, 0}).size() == 0);
  CHECK(compare<float>({}, reference_of<float>({}, {})).ok());
}

TEST_CASE("affine maps apply the earlier one first", "[oracle]") {
  const std::vector<Affine> x = {{3, 1}, {5, 4}, {7, 4}};
  const auto y = reference_of<Affine>(x, {Kind::inclusive, 0});
  // 5 * (3 * v + 1) + 4 = 15 * v + 9; the other way round, 3 * (5 * v + 4) + 1 = 15 * v + 13
  CHECK(y.exact == std::vector<Affine>{{3, 1}, {15, 9}, {105, 67}});
  CHECK(reference_of<Affine>(x, {Kind::exclusive, 0}).exact == std::vector<Affine>{{1, 0}, {3, 1}, {15, 9}});
  const std::vector<Range> ranges = ranges_of({Kind::inclusive, 0}, 3);
  CHECK(sums_of(std::span<const Affine>(x), ranges, Operands::swapped).exact[1] == Affine{15, 13});
}

TEST_CASE("the bound holds for every order of additions, and is not far off", "[oracle]") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u);
  const std::size_t n = GENERATE(2u, 33u, 1000u, 3000u);
  const std::vector<float> x = magnitude_floats(n, seed);
  const auto reference = reference_of<float>(x, {Kind::inclusive, 0});
  CHECK(compare<float>(sequential(x), reference).ok());
  CHECK(compare<float>(kogge_stone(x), reference).ok());
  CHECK(compare<float>(from_the_right(x), reference).ok());
  CHECK(reference.tolerance[0] == 0);
  for (std::size_t i = 1; i < n; ++i) {
    double absolute = 0;
    for (std::size_t j = 0; j <= i; ++j) absolute += std::fabs(x[j]);
    const double bound = static_cast<double>(i) * 0x1p-24 * absolute;
    if (!(reference.tolerance[i] >= bound && reference.tolerance[i] <= 1.001 * bound + 1e-12)) {
      FAIL("tolerance " << reference.tolerance[i] << " at " << i << ", bound " << bound);
    }
  }
}

TEST_CASE("a value outside the bound is refused", "[oracle]") {
  const std::vector<float> x = magnitude_floats(1000, 7);
  const auto reference = reference_of<float>(x, {Kind::inclusive, 0});
  std::vector<float> y = kogge_stone(x);
  y[999] = static_cast<float>(reference.exact[999] + 2 * reference.tolerance[999]);
  const Comparison comparison = compare<float>(y, reference);
  CHECK(comparison.wrong == 1);
  CHECK(comparison.first == 999);
  CHECK(comparison.last == 999);
}

TEST_CASE("a scan is seen to be right or wrong as by comparing it with its reference", "[oracle]") {
  const auto check = [](const auto& x, Scan scan, auto y, std::size_t place, auto value) {
    using T = std::decay_t<decltype(value)>;
    const auto agree = [&] { return is_scan_of(x, scan, y) == compare<T>(y, reference_of<T>(x, scan)).ok(); };
    CHECK(agree());
    if (y.empty()) return;
    y[place % y.size()] = value;
    CHECK(agree());
  };
  for (const std::size_t n : {0u, 1u, 2u, 31u, 32u, 33u, 1000u})
    for (const Scan scan :
         {Scan{Kind::inclusive, 0}, Scan{Kind::exclusive, 0}, Scan{Kind::inclusive, 32}, Scan{Kind::exclusive, 32}}) {
      const std::vector<float> floats = magnitude_floats(n, 7);
      const std::vector<Affine> maps = affine_maps(n, 7);
      const auto of_floats = reference_of<float>(floats, scan);
      std::vector<float> right;
      for (std::size_t i = 0; i < n; ++i) right.push_back(of_floats.value(i));
      CHECK(is_scan_of(floats, scan, right));
      CHECK(is_scan_of(maps, scan, reference_of<Affine>(maps, scan).exact));
      for (const std::size_t place : {std::size_t{0}, n / 2, n ? n - 1 : 0}) {
        const float near = n ? static_cast<float>(of_floats.exact[place] + of_floats.tolerance[place]) : 0;
        for (const float value :
             {near, 2 * near + 1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
          check(floats, scan, right, place, value);
        check(floats, scan, kogge_stone(floats), place, near);
        check(maps, scan, reference_of<Affine>(maps, scan).exact, place, Affine{3, 4});
      }
    }
}

TEST_CASE("NaN and infinity are never accepted", "[oracle]") {
  const std::vector<float> x = magnitude_floats(100, 7);
  const auto reference = reference_of<float>(x, {Kind::inclusive, 0});
  for (const std::size_t i : {0u, 50u}) {
    CHECK_FALSE(reference.accepts(i, std::numeric_limits<float>::quiet_NaN()));
    CHECK_FALSE(reference.accepts(i, std::numeric_limits<float>::infinity()));
    CHECK_FALSE(reference.accepts(i, -std::numeric_limits<float>::infinity()));
  }
}

TEST_CASE("gamma is infinite where the analysis says nothing", "[oracle]") {
  CHECK(gamma(0, 0x1p-24) == 0);
  CHECK(gamma(1, 0x1p-24) > 0x1p-24);
  CHECK(std::isinf(gamma(0x1p24, 0x1p-24)));
}

TEST_CASE("what the judge wrote into an output is distinguished from any result", "[oracle]") {
  float value;
  std::memset(&value, unwritten_byte, sizeof value);
  CHECK(std::isnan(value));
  CHECK(is_unwritten(value));
  CHECK_FALSE(is_unwritten(std::numeric_limits<float>::quiet_NaN()));
  CHECK(text_of(value) == "unwritten");
  CHECK(text_of(523776.0f) == "523776");
  CHECK(text_of(-0.0f) == "0");
  CHECK(text_of(Affine{3, 17}) == "(a = 3, b = 17)");
}
