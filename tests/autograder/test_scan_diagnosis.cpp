#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <functional>
#include <limits>

#include "autograder/check/inputs.hpp"
#include "autograder/scan/scan_diagnosis.hpp"

using namespace scanlab::grade;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What the judge says of the output that `spoil` makes from a right one: "wrong.last_section: the last, partial …".
template <typename T>
std::string diagnosis(std::size_t n, Scan scan,
                      const std::function<void(const std::vector<T>& x, std::vector<T>& y)>& spoil,
                      Family family = Family::integers, std::size_t places = 0) {
  const std::vector<T> x = make_input<T>(n, scan.section, family, 7);
  const Reference<T> reference = reference_of<T>(x, scan);
  std::vector<T> y(n);
  for (std::size_t i = 0; i < n; ++i) y[i] = reference.value(i);
  spoil(x, y);
  const Comparison comparison = compare<T>(y, reference);
  REQUIRE_FALSE(comparison.ok());
  const Diagnosis found = recognise<T>({x, y, scan, &reference, comparison, places});
  return found.id + ": " + found.text;
}

template <typename T>
void wipe(std::vector<T>& y, std::size_t first, std::size_t last) {
  std::memset(static_cast<void*>(&y[first]), unwritten_byte, (last - first) * sizeof(T));
}

template <typename T>
void become(std::vector<T>& y, const Reference<T>& other) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = other.value(i);
}

constexpr Scan inclusive{Kind::inclusive, 1024}, exclusive{Kind::exclusive, 1024};
using Floats = std::vector<float>;
using Maps = std::vector<Affine>;

}  // namespace

TEST_CASE("outputs that are not written are reported by where they are", "[diagnosis]") {
  CHECK_THAT(diagnosis<float>(1025, inclusive, [](const Floats&, Floats& y) { wipe(y, 0, 1025); }),
             ContainsSubstring("nothing is ever written"));
  CHECK_THAT(diagnosis<float>(2500, inclusive, [](const Floats&, Floats& y) { wipe(y, 2048, 2500); }),
             ContainsSubstring("last, partial section"));
  CHECK_THAT(diagnosis<Affine>(2048, inclusive, [](const Maps&, Maps& y) { wipe(y, 1024, 2048); }),
             ContainsSubstring("only the first section"));
  CHECK_THAT(diagnosis<float>(33, inclusive, [](const Floats&, Floats& y) { wipe(y, 32, 33); }),
             ContainsSubstring("the last element of d_y, y[32], is never written"));
  CHECK_THAT(diagnosis<float>(1025, exclusive, [](const Floats&, Floats& y) { wipe(y, 0, 1); }),
             ContainsSubstring("y[0] is never written"));
}

TEST_CASE("the scan of the other kind is recognised, for rounded floats too", "[diagnosis]") {
  const auto shift = [](Kind other) {
    return [other](const Floats& x, Floats& y) { become(y, reference_of<float>(x, {other, 1024})); };
  };
  for (const Family family : {Family::integers, Family::magnitudes}) {
    CHECK_THAT(diagnosis<float>(1500, inclusive, shift(Kind::exclusive), family),
               ContainsSubstring("this is the exclusive scan"));
    CHECK_THAT(diagnosis<float>(1500, exclusive, shift(Kind::inclusive), family),
               ContainsSubstring("this is the inclusive scan"));
  }
}

TEST_CASE("an output equal to the input, or all identity, is recognised", "[diagnosis]") {
  CHECK_THAT(diagnosis<float>(100, inclusive, [](const Floats& x, Floats& y) { y = x; }),
             ContainsSubstring("equals the input"));
  CHECK_THAT(diagnosis<Affine>(100, inclusive,
                               [](const Maps&, Maps& y) {
                                 y.assign(100, {1, 0});
                               }),
             ContainsSubstring("identity()"));
}

TEST_CASE("sections that are carried on, or not, are recognised", "[diagnosis]") {
  CHECK_THAT(diagnosis<Affine>(2049, inclusive,
                               [](const Maps& x, Maps& y) {
                                 become(y, reference_of<Affine>(x, {Kind::inclusive, 0}));
                               }),
             ContainsSubstring("from one section into the next"));
  CHECK_THAT(diagnosis<float>(2049, {Kind::inclusive, 0},
                              [](const Floats& x, Floats& y) { become(y, reference_of<float>(x, inclusive)); }),
             ContainsSubstring("each section of 1024"));
  CHECK_THAT(diagnosis<float>(2049, exclusive,
                              [](const Floats& x, Floats& y) {
                                for (std::size_t i = 1024; i < y.size(); ++i) y[i] += x[i - i % 1024 - 1];
                              }),
             ContainsSubstring("also counts the element before it"));
}

TEST_CASE("what a hierarchical scan adds to its sections is recognised", "[diagnosis]") {
  // A section's scan of its own, what the sections before it sum up to, and all sums up to its end.
  struct Section {
    Affine own, before, through, previous;
  };
  const auto diagnosed = [](Kind kind, std::size_t n, const std::function<Affine(const Section&)>& result) {
    return diagnosis<Affine>(n, {kind, 0}, [&](Maps x, Maps& y) {
      if (kind == Kind::exclusive) x.insert(x.begin(), {1, 0});
      x.resize(n);
      const auto own = reference_of<Affine>(x, {Kind::inclusive, 1024});
      const auto all = reference_of<Affine>(x, {Kind::inclusive, 0});
      for (std::size_t i = 1024; i < n; ++i) {
        const std::size_t first = i - i % 1024;
        y[i] = result(
            {own.value(i), all.value(first - 1), all.value(std::min(first + 1024, n) - 1), own.value(first - 1)});
      }
    });
  };
  for (const Kind kind : {Kind::inclusive, Kind::exclusive}) {
    const auto diagnosis_for = [&](const std::function<Affine(const Section&)>& result) {
      return diagnosed(kind, 2500, result);
    };
    CHECK_THAT(diagnosis_for([](const Section& s) { return s.own; }), ContainsSubstring("is scanned on its own"));
    CHECK_THAT(diagnosis_for([](const Section& s) { return combine(s.own, s.before); }), ContainsSubstring("swapped"));
    CHECK_THAT(diagnosis_for([](const Section& s) { return combine(s.through, s.own); }),
               ContainsSubstring("a section's own sum"));
    CHECK_THAT(diagnosis_for([](const Section& s) { return combine(s.previous, s.own); }),
               ContainsSubstring("the one section"));
  }
}

TEST_CASE("hierarchical scans that lack something are recognised, for rounded floats too", "[diagnosis]") {
  const Scan whole{Kind::inclusive, 0}, moved{Kind::exclusive, 0};
  for (const Family family : {Family::integers, Family::magnitudes}) {
    CHECK_THAT(diagnosis<float>(
                   2500, moved,
                   [](Floats x, Floats& y) {
                     for (std::size_t last = 1023; last < x.size(); last += 1024) x[last] = 0;
                     become(y, reference_of<float>(x, {Kind::exclusive, 0}));
                   },
                   family),
               ContainsSubstring("the last element of each section is missing"));
    CHECK_THAT(diagnosis<float>(
                   3500, whole,
                   [](const Floats& x, Floats& y) {
                     const auto own = reference_of<float>(x, inclusive);
                     for (std::size_t i = 1024; i < y.size(); ++i) y[i] -= own.value(i - i % 1024 - 1);
                   },
                   family),
               ContainsSubstring("lacks the sum of the section just before it"));
  }
  for (const Kind kind : {Kind::inclusive, Kind::exclusive})
    CHECK_THAT(diagnosis<float>(3000, {kind, 0},
                                [&](const Floats& x, Floats& y) {
                                  const auto all = reference_of<float>(x, {Kind::inclusive, 0});
                                  for (std::size_t i = 1024; i < y.size(); ++i)
                                    if (i % 1024 >= 128)
                                      y[i] -= all.value(i - i % 1024 - (kind == Kind::exclusive ? 2 : 1));
                                }),
               ContainsSubstring("only the first 128 elements of a section get the sum"));
  for (const std::size_t left_out : {std::size_t{1}, std::size_t{8}})
    CHECK_THAT(diagnosis<float>(3000, whole,
                                [whole, left_out](const Floats& x, Floats& y) {
                                  const auto all = reference_of<float>(x, whole);
                                  for (std::size_t i = 1024; i < y.size(); ++i)
                                    if (i % 1024 < left_out) y[i] -= all.value(i - i % 1024 - 1);
                                }),
               ContainsSubstring(left_out == 1 ? "the first element of a section does not get the sum"
                                               : "the first 8 elements of a section do not get the sum"));
  CHECK_THAT(diagnosis<float>(1024 * 1025 + 1, whole,
                              [whole](const Floats& x, Floats& y) {
                                const auto first = reference_of<float>(x, whole).value(1024 * 1024 - 1);
                                y.back() -= first;
                              }),
             ContainsSubstring("more sums of sections than the 1024"));
  CHECK_THAT(diagnosis<float>(2500, whole, [](const Floats&, Floats& y) { wipe(y, 2048, 2500); }),
             ContainsSubstring("last, partial section"));
  CHECK_THAT(diagnosis<float>(4096, whole,
                              [](const Floats&, Floats& y) {
                                for (std::size_t i = 1024; i < y.size(); ++i) y[i] += static_cast<float>(i);
                              }),
             ContainsSubstring("the first 1024 elements (1 * 1024) are right"));
}

TEST_CASE("swapped operands are recognised", "[diagnosis]") {
  CHECK_THAT(diagnosis<Affine>(64, inclusive,
                               [](const Maps& x, Maps& y) {
                                 for (std::size_t i = 1; i < y.size(); ++i) y[i] = combine(x[i], y[i - 1]);
                               }),
             ContainsSubstring("swapped"));
}

TEST_CASE("missing steps, warps on their own and reversed scans are recognised", "[diagnosis]") {
  CHECK_THAT(diagnosis<float>(
                 1024, inclusive,
                 [](const Floats& x, Floats& y) {
                   Floats next = x;
                   for (std::size_t stride = 1; stride < 256; stride *= 2) {
                     y = next;
                     for (std::size_t i = stride; i < y.size(); ++i) next[i] = y[i - stride] + y[i];
                   }
                   y = next;
                 },
                 Family::integers, 1),
             ContainsSubstring("stride of 256 and more"));
  CHECK_THAT(diagnosis<float>(1024, inclusive,
                              [](const Floats& x, Floats& y) {
                                become(y, reference_of<float>(x, {Kind::inclusive, 32}));
                              }),
             ContainsSubstring("each 32 elements, one for each lane"));
  CHECK_THAT(diagnosis<float>(100, inclusive,
                              [](const Floats& x, Floats& y) {
                                float sum = 0;
                                for (std::size_t i = y.size(); i-- > 0;) y[i] = sum += x[i];
                              }),
             ContainsSubstring("from right to left"));
}

TEST_CASE("what trees leave out is recognised", "[diagnosis]") {
  const auto trees = [](std::size_t highest, std::size_t lowest) {
    return [=](const Floats& x, Floats& y) {
      y = x;
      for (std::size_t s = 1; s < 1024; s *= 2)
        for (std::size_t p = 2 * s - 1; p < 1024; p += 2 * s) y[p] += y[p - s];
      for (std::size_t s = highest; s >= lowest && s > 0; s /= 2)
        for (std::size_t p = 2 * s - 1; p + s < 1024; p += 2 * s) y[p + s] += y[p];
    };
  };
  CHECK_THAT(diagnosis<float>(1024, inclusive, trees(128, 1), Family::integers, 2),
             ContainsSubstring("level with a stride of 256 of the distribution tree is missing"));
  CHECK_THAT(diagnosis<float>(1024, inclusive, trees(256, 4), Family::integers, 2),
             ContainsSubstring("levels with strides of 1 to 2 of the distribution tree are missing"));
  CHECK_THAT(diagnosis<float>(1024, inclusive, trees(0, 1), Family::integers, 2),
             ContainsSubstring("the distribution tree is missing"));
  // Of three elements, places that are off by one look the same.
  const auto of_three = [](const Floats& x, Floats& y) {
    y = x;
    y[1] += x[0];
  };
  CHECK_THAT(diagnosis<float>(3, inclusive, of_three, Family::integers, 2),
             ContainsSubstring("a level of the trees is missing, or their places are off by one"));
}

TEST_CASE("what runs lack is recognised", "[diagnosis]") {
  const auto runs = [](bool is_own) {
    return [=](const Floats& x, Floats& y) {
      float before = 0;
      for (std::size_t first = 0; first < x.size(); first += 8) {
        float own = 0;
        for (std::size_t k = 0; k < 8; ++k) y[first + k] = before + (own += x[first + k]);
        if (is_own && first > 0)
          for (std::size_t k = 0; k < 8; ++k) y[first + k] += own;
        before = is_own ? before + own : own;
      }
    };
  };
  CHECK_THAT(diagnosis<float>(1024, inclusive, runs(false), Family::integers, 8),
             ContainsSubstring("only the sum of the one run before it"));
  CHECK_THAT(diagnosis<float>(1024, inclusive, runs(true), Family::integers, 8),
             ContainsSubstring("a run's own sum is added to it, too"));
}

TEST_CASE("strides that grow in another way are recognised", "[diagnosis]") {
  CHECK_THAT(diagnosis<Affine>(
                 64, inclusive,
                 [](const Maps& x, Maps& y) {
                   y = x;
                   for (std::size_t s = 512; s > 0; s /= 2)
                     for (std::size_t i = y.size(); i-- > s;) y[i] = combine(y[i - s], y[i]);
                 },
                 Family::integers, 1),
             ContainsSubstring("the strides go from large to small"));
}

TEST_CASE("other mistakes are recognised by their places", "[diagnosis]") {
  const auto add_from = [](std::size_t first) {
    return [first](const Floats&, Floats& y) {
      for (std::size_t i = first; i < y.size(); ++i) y[i] += static_cast<float>(i);
    };
  };
  CHECK_THAT(diagnosis<float>(1000, inclusive, add_from(64)), ContainsSubstring("warps 0 to 1"));
  const Scan whole{Kind::inclusive, 0};  // which warp has which elements is up to the learner
  CHECK_THAT(diagnosis<float>(1000, whole, add_from(32)),
             ContainsSubstring("32 elements are right, as many as a warp"));
  CHECK_THAT(diagnosis<float>(1000, whole, add_from(512)), ContainsSubstring("right, 16 times as many as a warp"));
  CHECK_THAT(diagnosis<float>(2500, inclusive, add_from(2100)), ContainsSubstring("last, partial section is wrong"));
  CHECK_THAT(diagnosis<float>(4096, inclusive, add_from(1024)), ContainsSubstring("the first section is right"));
  CHECK_THAT(diagnosis<float>(100, inclusive, add_from(7)), ContainsSubstring("before y[7] are right"));
  CHECK_THAT(diagnosis<float>(2048, exclusive,
                              [](const Floats&, Floats& y) {
                                y[0] = 5;
                                y[1024] = 5;
                              }),
             ContainsSubstring("it must be identity()"));
  CHECK_THAT(diagnosis<float>(1500, inclusive, [](const Floats&, Floats& y) { y[1023] = 0.5; }),
             ContainsSubstring("only the last element of a section"));
}

TEST_CASE("a number made from unwritten memory is recognised", "[diagnosis]") {
  CHECK_THAT(diagnosis<float>(100, inclusive,
                              [](const Floats&, Floats& y) { y[3] = std::numeric_limits<float>::quiet_NaN(); }),
             ContainsSubstring("had not been written yet"));
  CHECK_THAT(diagnosis<float>(100, inclusive, [](const Floats&, Floats& y) { y[3] -= 1.7e38f; }),
             ContainsSubstring("y[3] is far larger than any sum of the input"));
}

TEST_CASE("every wrong output has a sentence", "[diagnosis]") {
  for (const std::size_t n : {1u, 2u, 31u, 33u, 1023u, 1025u}) {
    for (std::size_t at = 0; at < n; at += 11) {
      CHECK_FALSE(diagnosis<float>(n, inclusive, [&](const Floats&, Floats& y) { y[at] += 1; }).empty());
      CHECK_FALSE(diagnosis<Affine>(n, exclusive, [&](const Maps&, Maps& y) { y[at].b += 1; }).empty());
    }
  }
}
