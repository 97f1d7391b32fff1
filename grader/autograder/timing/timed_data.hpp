// The data of a timed call: made and compared at the speed of memory, and exact.
//
// A timed call has fresh data, millions of elements of it, and every output is compared whole. The oracle adds in long
// double and knows a tolerance, which takes longer than all the rest. Here the sums are chosen first: P(k), the sum of
// the first k elements, is a random integer from 0 to 2^10 - 1, and element k is P(k + 1) - P(k). Then
//
// - the sum of any elements that adjoin is a difference of two such integers: what a scan must give is known without
//   adding anything, for the whole array and for each section, inclusive and exclusive;
// - whatever the order in which a scan groups its additions, no float rounds, for every partial sum is below 2^10 in
//   absolute value; nor where the sums of sections are added in any order, as by atomics, for 2^14 such sums are below
//   2^24 together: one value is right, and no other;
// - each value comes from a counter alone, so that several threads make and compare parts of an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "autograder/element.hpp"
#include "autograder/scan/scan_oracle.hpp"

namespace scanlab::grade {

class TimedData {
 public:
  explicit TimedData(std::uint64_t seed) : seed_(seed) {}

  /// P(k), the sum of the first k elements.
  std::int32_t sum_of_first(std::size_t k) const;
  /// What element i of this scan of the data is. `scan.operation` is inclusive or exclusive.
  float expected(Scan scan, std::size_t i) const;

  /// Fills `x`, on up to `threads` threads, at least 1.
  void make(std::span<float> x, unsigned threads) const;
  /// Compares all of `y` with this scan of as many elements, on up to `threads` threads, at least 1.
  Comparison compare(std::span<const float> y, Scan scan, unsigned threads) const;

 private:
  std::uint64_t seed_;
};

}  // namespace scanlab::grade
