#include "autograder/timing/timing_decision.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace scanlab::grade {

namespace {

using Outcome = Decision::Outcome;

/// The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %; 0 when there is none.
std::size_t rank_of_bound(std::size_t n) {
  if (n > 1000) throw std::invalid_argument("too many values for an exact interval");  // 2^-n is 0 from 1075 on
  double term = std::ldexp(1.0, -static_cast<int>(n));                                 // P(Binomial = 0)
  double sum = 0;
  std::size_t k = 0;
  while (sum + term <= 0.025) {
    sum += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

std::vector<double> ratios_of(const Timings& timings) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < timings.submission.size(); ++i) {
    ratios.push_back(timings.submission[i] / timings.reference[i]);
  }
  return ratios;
}

Outcome outcome_of_too_few(const Timings& timings) {
  if (timings.repeated > 0) return Outcome::slowed_down;
  const double in_submission = std::accumulate(timings.submission.begin(), timings.submission.end(), 0.0);
  return in_submission > timings.spent / 2 ? Outcome::out_of_time : Outcome::machine_slow;
}

/// Hundredths, so that what is shown is what counts; downwards, so that all points are shown only for all points.
double in_hundredths(double points) {
  return std::floor(points * 100 + 1e-6) / 100;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("the median of no values");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<Interval> median_interval(std::vector<double> values) {
  const std::size_t k = rank_of_bound(values.size());
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{values[k - 1], values[values.size() - k]};
}

double points_at(const TimeLimits& limits, double ratio) {
  if (ratio <= limits.full) return limits.points;
  if (!(ratio < limits.none)) return 0;
  return limits.points * (limits.none - ratio) / (limits.none - limits.full);
}

Verdict Decision::verdict() const {
  switch (outcome) {
    case Outcome::full:
      return Verdict::pass;
    case Outcome::slow:
    case Outcome::impossible:
      return Verdict::fail;
    case Outcome::out_of_time:
      return Verdict::timeout;
    case Outcome::disturbed:
    case Outcome::unclear:
    case Outcome::slowed_down:
    case Outcome::machine_slow:
      return Verdict::inconclusive;
  }
  return Verdict::inconclusive;
}

bool Decision::is_settled() const {
  return outcome == Outcome::full || outcome == Outcome::slow || outcome == Outcome::impossible;
}

Decision decide(const TimeLimits& limits, const Timings& timings) {
  Decision decision;
  const std::vector<double> ratios = ratios_of(timings);
  if (!ratios.empty()) decision.ratio = median(ratios);
  decision.interval = median_interval(ratios);
  if (!decision.interval) {
    decision.outcome = outcome_of_too_few(timings);
    return decision;
  }
  if (median(timings.submission) < floor_of_copy * timings.copy) {
    decision.outcome = Outcome::impossible;
    return decision;
  }
  const double at_best = points_at(limits, decision.interval->low);
  const double at_worst = points_at(limits, decision.interval->high);
  // A submission that is too slow even beside a reference solution that was held up is too slow.
  if (at_best > 0 && median(timings.reference) > most_disturbed * timings.reference_alone) {
    decision.outcome = Outcome::disturbed;
    return decision;
  }
  if (at_best - at_worst <= clear_part * limits.points) {
    decision.outcome = decision.ratio <= limits.full ? Outcome::full : Outcome::slow;
    decision.points = in_hundredths(points_at(limits, decision.ratio));
  } else {
    decision.outcome = Outcome::unclear;
    decision.points = in_hundredths(at_worst);
  }
  return decision;
}

}  // namespace scanlab::grade
