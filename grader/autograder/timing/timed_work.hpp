// What a timed call is given, and what it must give back: millions of elements, fresh each time, compared whole, bit by
// bit, and both at the speed of memory.
//
// The oracle adds in long double and knows a tolerance, which takes longer than all the rest. Here the sums of a scan
// are chosen first: P(k), the sum of the first k elements, is a random integer from 0 to 2^10 - 1, and element k is P(k
// + 1) - P(k). Then
//
// - the sum of any elements that adjoin is a difference of two such integers: what a scan must give is known without
//   adding anything, for the whole array and for each section, inclusive and exclusive;
// - whatever the order in which a scan groups its additions, no float rounds, for every partial sum is below 2^10 in
//   absolute value; nor where the sums of sections are added in any order, as by atomics, for 2^14 such sums are below
//   2^24 together: one value is right, and no other;
// - each value comes from a counter alone, so that several threads make parts of an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "autograder/plan.hpp"
#include "autograder/scan/scan_oracle.hpp"

namespace scanlab::grade {

class TimedWork {
 public:
  /// On up to `threads` threads of the host, at least 1.
  explicit TimedWork(unsigned threads) : threads_(threads) {}
  virtual ~TimedWork() = default;

  /// Fills `x` with the data of this number; another one gives other data.
  virtual void renew(std::uint64_t seed, std::span<float> x) = 0;
  /// Compares d_y, as large as the input, with what the data of the last renew() asks for.
  Comparison compare(std::span<const float> y) const;
  /// What element i of d_y must be.
  float expected(std::size_t i) const { return y_[i]; }
  /// What *d_kept must be, of entries that have it.
  std::optional<std::int32_t> kept() const { return kept_; }

 protected:
  unsigned threads_;
  std::vector<float> y_;  ///< the right output
  std::optional<std::int32_t> kept_;
};

class TimedScan : public TimedWork {
 public:
  TimedScan(Scan scan, unsigned threads) : TimedWork(threads), scan_(scan) {}
  void renew(std::uint64_t seed, std::span<float> x) override;

 private:
  Scan scan_;
};

/// Element k is a random integer from 1 to 2^20 or its negative, a function of the seed and k: few are alike, so that
/// an element at a wrong place shows.
class TimedSplit : public TimedWork {
 public:
  using TimedWork::TimedWork;
  void renew(std::uint64_t seed, std::span<float> x) override;
};

/// The work of a timing check's entry.
std::unique_ptr<TimedWork> make_timed_work(const Plan& plan, const CheckPlan& check, unsigned threads);

}  // namespace scanlab::grade
