// The data of a timed split: random numbers, about half of them positive, and where they have to go.
#pragma once

#include <vector>

#include "autograder/timing/timed_work.hpp"

namespace scanlab::grade {

/// Element k is a random integer from 1 to 2^20 or its negative, a function of the seed and k: few are alike, so that
/// an element at a wrong place shows.
class TimedSplit : public TimedWork {
 public:
  /// On up to `threads` threads of the host, at least 1.
  explicit TimedSplit(unsigned threads) : threads_(threads) {}

  void renew(std::uint64_t seed, std::span<float> x) override;
  Comparison compare(std::span<const float> y) const override;
  float expected(std::size_t i) const override { return y_[i]; }
  std::optional<std::int32_t> kept() const override { return kept_; }

 private:
  unsigned threads_;
  std::vector<float> y_;  ///< the right output
  std::int32_t kept_ = 0;
};

}  // namespace scanlab::grade
