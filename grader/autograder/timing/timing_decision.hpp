// What measured times are worth: a function of numbers alone, without a device or a clock.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "autograder/result.hpp"
#include "autograder/timing/statistics.hpp"

namespace scanlab::grade {

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
