// What measured times are worth: a function of numbers alone, without a device or a clock. Of the median of a few
// measurements, how sure it is, without assuming anything of how they are distributed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "autograder/result.hpp"

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

/// What a ratio is worth: all points up to `full`, none above `none`, in proportion between.
struct TimeLimits {
  double full = 1, none = 2;  ///< times the reference solution's time; full < none
  double points = 0;
};
double points_at(const TimeLimits& limits, double ratio);

/// What a check has measured so far. All times are in seconds.
struct Timings {
  double copy = 0;             ///< of an array to another in the device's memory; the judge's own, median
  double reference_alone = 0;  ///< the reference solution's time before the submission was started, median
  std::vector<double> submission, reference;  ///< one call of each per round
  std::size_t repeated = 0;                   ///< rounds that do not count: the device had slowed itself down
  std::vector<std::string> slowdowns;         ///< … because of this, each reason once
  bool slowdowns_known = true;                ///< false: the device does not report them
  double spent = 0;                           ///< wall time of the whole check
};

/// Below this part of the copy's time nothing can have read and written all elements. A copy reaches nearly what the
/// memory can do; the rest allows for what it leaves.
inline constexpr double floor_of_copy = 0.8;
/// The reference solution may take so many times longer beside the submission than alone: more than noise, and the
/// submission uses the device while it is not its turn, or another program does.
inline constexpr double most_disturbed = 1.5;
/// The result is settled when the points at both ends of the interval differ by no more than this part of all points.
inline constexpr double clear_part = 0.2;

struct Decision {
  enum class Outcome {
    full,          ///< within the limit for all points
    slow,          ///< beyond it
    impossible,    ///< faster than the memory allows
    disturbed,     ///< the reference solution was slower than alone
    unclear,       ///< the interval is too wide
    slowed_down,   ///< too few rounds: the device slowed itself down
    out_of_time,   ///< too few rounds, and the submission's calls took the time
    machine_slow,  ///< too few rounds, and they did not
  };
  Outcome outcome = Outcome::unclear;
  double points = 0;
  double ratio = 0;                  ///< median over the rounds; 0 when there are none
  std::optional<Interval> interval;  ///< where that median lies, wrong in at most 5 % of all cases

  Verdict verdict() const;
  /// False: more rounds may change it.
  bool is_settled() const;
};

/// An interval that is too wide gives the points of its worse end: noise, however it was made, wins nothing.
Decision decide(const TimeLimits& limits, const Timings& timings);

}  // namespace scanlab::grade
