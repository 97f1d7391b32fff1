#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "autograder/check/inputs.hpp"

using namespace scanlab::grade;

TEST_CASE("integer floats stay exact in every partial sum", "[inputs]") {
  for (const std::size_t n : {0u, 1u, 33u, 1024u, 100000u, 1u << 22}) {
    const std::vector<float> x = integer_floats(n, 0, 7);
    REQUIRE(x.size() == n);
    double absolute = 0;
    for (const float value : x) {
      absolute += std::fabs(value);
      if (value == 0 || std::trunc(value) != value) FAIL("element " << value);
    }
    CHECK(absolute <= 0x1p24);
  }
}

TEST_CASE("the sections' length decides how large integers may be", "[inputs]") {
  const std::vector<float> x = integer_floats(1u << 22, 1024, 7);
  CHECK(*std::max_element(x.begin(), x.end()) == 9);
}

TEST_CASE("inputs have both signs and are not palindromes", "[inputs]") {
  for (const Family family : {Family::integers, Family::magnitudes}) {
    const std::vector<float> x = make_input<float>(1024, 1024, family, 7);
    const auto negative = std::count_if(x.begin(), x.end(), [](float value) { return value < 0; });
    CHECK(negative > 200);
    CHECK(negative < 480);
    CHECK_FALSE(std::equal(x.begin(), x.begin() + 512, x.rbegin()));
  }
}

TEST_CASE("magnitudes vary over 16 powers of two", "[inputs]") {
  const std::vector<float> x = magnitude_floats(4096, 7);
  float least = 1e9f, most = 0;
  for (const float value : x) {
    least = std::min(least, std::fabs(value));
    most = std::max(most, std::fabs(value));
  }
  CHECK(least >= 0x1p-10f);
  CHECK(least < 0x1p-9f);
  CHECK(most < 0x1p6f);
  CHECK(most > 0x1p5f);
}

TEST_CASE("affine maps are invertible", "[inputs]") {
  for (const Affine& map : affine_maps(1000, 7)) CHECK(map.a % 2 == 1);
}

TEST_CASE("a seed gives the same data again, and another seed other data", "[inputs]") {
  CHECK(magnitude_floats(100, 7) == magnitude_floats(100, 7));
  CHECK(magnitude_floats(100, 7) != magnitude_floats(100, 8));
  CHECK(affine_maps(100, 7) == affine_maps(100, 7));
  CHECK(mix(7, "in_order") != mix(7, "reversed"));
  CHECK(mix(7, std::uint64_t{0}) != mix(7, std::uint64_t{1}));
}

TEST_CASE("the generator gives SplitMix64's known numbers", "[inputs]") {
  Random random(0);
  CHECK(random.next() == 0xE220A8397B1DCDAFu);
  CHECK(random.next() == 0x6E789E6AA1B965F4u);
}
