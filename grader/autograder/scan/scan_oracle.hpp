// The scans' oracle: what a scan's output must be, element by element, and how far a float may be off.
//
// Integers in floats and affine maps are compared exactly. Other floats are compared within a bound that holds for
// every order of additions. Let y be the exact sum of the k terms that belong to an element, and A the sum of their
// absolute values. An algorithm that adds these terms, in whatever association, subjects each term to at most k - 1
// additions that round, and each of them multiplies what it rounds by 1 + d with |d| <= u = 2^-24. (Adding the
// identity, 0, does not round. Nor does an addition underflow with an error: sums of floats are multiples of the
// smallest float.) Therefore
//
//     |computed - y| <= gamma(k - 1, u) * A        with gamma(m, u) = m * u / (1 - m * u)     (Higham 2002, 3.1
//     and 4.2)
//
// and for k = 1 the result is x itself. The reference is a sequential sum in long double, whose own error is bounded in
// the same way, by gamma(k - 1, u') * A, plus one rounding to double; the tolerance is the sum of all three. Where the
// terms are integers and A <= 2^24, every partial sum is an integer that a float holds, nothing rounds, and the
// tolerance is 0. A tolerance is never compared by `difference > tolerance`, for that would let NaN through.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "autograder/element.hpp"

namespace scanlab::grade {

/// Where an output is wrong.
struct Comparison {
  std::size_t wrong = 0;
  std::size_t first = std::numeric_limits<std::size_t>::max();  ///< index of the first wrong element
  std::size_t last = 0;                                         ///< … and of the last
  bool ok() const { return wrong == 0; }

  /// Element i is wrong, and comes after all that have been added.
  void add(std::size_t i) {
    if (wrong++ == 0) first = i;
    last = i;
  }
};

/// gamma(m, u) of the error analysis; infinite when m * u >= 1.
double gamma(double m, double u);

enum class Kind { inclusive, exclusive };  ///< as in scanlab.cuh

/// A scan of each section of `section` elements, or of the whole array when it is 0.
struct Scan {
  Kind kind = Kind::inclusive;
  std::size_t section = 0;
};

/// What an output of n elements must be.
template <typename T>
struct Reference;

template <>
struct Reference<float> {
  std::vector<double> exact;      ///< n reference sums
  std::vector<double> tolerance;  ///< n bounds on |actual - exact|

  std::size_t size() const { return exact.size(); }
  float value(std::size_t i) const { return static_cast<float>(exact[i]); }
  bool accepts(std::size_t i, float actual) const;
};

template <>
struct Reference<Affine> {
  std::vector<Affine> exact;

  std::size_t size() const { return exact.size(); }
  Affine value(std::size_t i) const { return exact[i]; }
  bool accepts(std::size_t i, Affine actual) const { return actual == exact[i]; }
};

/// The terms of one output element: x[begin] + … + x[end - 1]; the identity when it is empty.
struct Range {
  std::size_t begin = 0, end = 0;
};
/// That of element i.
Range range_of(Scan scan, std::size_t i);
/// The ranges that a scan of n elements sums.
std::vector<Range> ranges_of(Scan scan, std::size_t n);

enum class Operands { in_order, swapped };  ///< earlier + later, or (a common mistake) later + earlier

/// The sums of these ranges of `x`, one per output element. Fast when a range extends the one before it.
Reference<float> sums_of(std::span<const float> x, std::span<const Range> ranges, Operands operands);
Reference<Affine> sums_of(std::span<const Affine> x, std::span<const Range> ranges, Operands operands);

/// The scan of `x` as `scan` asks for it.
template <typename T>
Reference<T> reference_of(std::span<const T> x, Scan scan) {
  return sums_of(x, ranges_of(scan, x.size()), Operands::in_order);
}

/// Would compare(y, sums_of(x, ranges, operands)) find nothing? It looks no further than to the first wrong one.
bool are_sums_of(std::span<const float> x, std::span<const Range> ranges, std::span<const float> y, Operands operands);
bool are_sums_of(std::span<const Affine> x, std::span<const Range> ranges, std::span<const Affine> y,
                 Operands operands);

/// Would compare(y, reference_of(x, scan)) find nothing? It needs no memory to say so.
bool is_scan_of(std::span<const float> x, Scan scan, std::span<const float> y);
bool is_scan_of(std::span<const Affine> x, Scan scan, std::span<const Affine> y);

/// Compares all of `actual`, which has the reference's size.
template <typename T>
Comparison compare(std::span<const T> actual, const Reference<T>& reference) {
  Comparison result;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!reference.accepts(i, actual[i])) result.add(i);
  }
  return result;
}

}  // namespace scanlab::grade
