// The median of a few measurements, and how sure it is, without assuming anything of how they are distributed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace scanlab::grade {

/// The middle one of `values`, or the mean of the two in the middle. Throws std::invalid_argument when there are none.
double median(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};

/// Fewer measurements than this have no interval: even from the least to the greatest it would be too often wrong.
inline constexpr std::size_t least_for_interval = 6;

/// Where the median of what is measured lies, wrong in at most 5 % of all cases: from the k-th least to the k-th
/// greatest value, with the largest k that keeps this promise. The median lies below the k-th least value when fewer
/// than k measurements fell below it, and each of n independent ones does so with probability 1/2. Hence the promise:
/// P(Binomial(n, 1/2) < k) is at most 2.5 %, on either side. Nothing when there are fewer than least_for_interval.
/// Throws std::invalid_argument for more than 1000.
std::optional<Interval> median_interval(std::vector<double> values);

}  // namespace scanlab::grade
