#include "autograder/timing/timing_cause.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace scanlab::grade {

namespace {

using Outcome = Decision::Outcome;

/// What a scan has to read and write at least.
double least_bytes(const CheckPlan& check) {
  return 2.0 * static_cast<double>(check.n) * static_cast<double>(bytes_of(check.element));
}

/// Two decimals, or as many more as it takes to distinguish `ratio` from `limit`.
std::string ratio_text(double ratio, double limit) {
  for (int decimals = 2;; ++decimals) {
    const std::string text = fmt::format("{:.{}f}", ratio, decimals);
    if (ratio == limit || decimals == 6 || text != fmt::format("{:.{}f}", limit, decimals)) return text;
  }
}

std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string megabytes(double bytes) {
  return fmt::format("{} MB", three_digits(bytes / 1e6));
}

std::string times_text(const CheckPlan& check, const Timings& timings) {
  const auto both = [&](double seconds) {
    return fmt::format("{} ({})", time_text(seconds), rate_text(least_bytes(check) / seconds));
  };
  return fmt::format("medians of {} rounds: yours {}, the reference solution {}; a copy of the array {}",
                     timings.submission.size(), both(median(timings.submission)), both(median(timings.reference)),
                     both(timings.copy));
}

std::string limits_text(const CheckPlan& check, const Decision& decision) {
  return fmt::format("{:g} of {:g} points: all up to {:g} times the reference solution's time, none from {:g} times on",
                     decision.points, check.points, check.full, check.none);
}

/// What made rounds invalid, empty when none was.
std::string repeated_text(const Timings& timings) {
  if (timings.repeated == 0) return {};
  return fmt::format("{} not count, for the device had slowed itself down ({})",
                     timings.repeated == 1 ? "1 round does" : fmt::format("{} rounds do", timings.repeated),
                     fmt::join(timings.slowdowns, ", "));
}

/// The meaning of an outcome; of `slow`, what usually costs the time in this lab.
std::string rationale_of(const CheckPlan& check, const Timings& timings, Outcome outcome) {
  switch (outcome) {
    case Outcome::full:
      return {};
    case Outcome::slow:
      return check.explain.empty() ? "the results are right, but they take longer than they should" : check.explain;
    case Outcome::impossible:
      return fmt::format(
          "faster than the memory allows: a copy, which reads and writes each element once and does nothing else, "
          "takes {}; the results were right, but not computed in this time",
          time_text(timings.copy));
    case Outcome::disturbed:
      return fmt::format(
          "the reference solution took {} beside your program and {} before it was started: something else uses the "
          "device while the reference solution runs. If it is your program, wait for all of its work before the entry "
          "returns",
          time_text(median(timings.reference)), time_text(timings.reference_alone));
    case Outcome::unclear:
      return "the times vary too much to settle the points; these are the ones that are certain";
    case Outcome::slowed_down:
      return "the device slowed itself down, so that the times mean nothing";
    case Outcome::out_of_time:
      return fmt::format("only {} of {} rounds fitted into {:g} s, and most of that time passed in your calls",
                         timings.submission.size(), least_for_interval, check.seconds);
    case Outcome::machine_slow:
      return fmt::format(
          "only {} of {} rounds fitted into {:g} s: this machine takes too long to make and compare the data",
          timings.submission.size(), least_for_interval, check.seconds);
  }
  return {};
}

}  // namespace

std::string timing_headline(const CheckPlan& check) {
  return fmt::format("time of {}, n = {}", entry_name(check.entry), check.n);
}

std::string time_text(double seconds) {
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " µs";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string rate_text(double bytes_a_second) {
  return bytes_a_second < 0.9995e12 ? three_digits(bytes_a_second / 1e9) + " GB/s"
                                    : three_digits(bytes_a_second / 1e12) + " TB/s";
}

Cause timing_cause(const Plan& plan, const CheckPlan& check, const Timings& timings, const Decision& decision,
                   std::size_t cache_bytes) {
  Cause cause;
  cause.headline = timing_headline(check);
  cause.rationale = trimmed(rationale_of(check, timings, decision.outcome));
  if (decision.interval) {
    const bool is_too_fast = decision.outcome == Outcome::impossible;
    cause.actual = is_too_fast ? fmt::format("{} in the median", time_text(median(timings.submission)))
                               : fmt::format("{} times the reference solution's time (95 % interval {:.2f} to {:.2f})",
                                             ratio_text(decision.ratio, check.full), decision.interval->low,
                                             decision.interval->high);
    cause.expected = is_too_fast ? fmt::format("at least {}", time_text(floor_of_copy * timings.copy))
                                 : fmt::format("at most {:g}", check.full);
    cause.details.push_back(limits_text(check, decision));
    cause.details.push_back(times_text(check, timings));
  }
  if (const std::string text = repeated_text(timings); !text.empty()) cause.details.push_back(text);
  if (!timings.slowdowns_known) cause.details.push_back("the device does not report whether it slows itself down");
  if (least_bytes(check) < static_cast<double>(cache_bytes)) {
    cause.details.push_back(
        fmt::format("input and output, {}, fit into the device's L2 cache, {}: it is emptied before "
                    "each call",
                    megabytes(least_bytes(check)), megabytes(static_cast<double>(cache_bytes))));
  }
  cause.next = plan.again.empty() ? std::string() : fmt::format("{} --seed {}", plan.again, plan.seed);
  return cause;
}

std::vector<std::pair<std::string, double>> timing_numbers(const CheckPlan& check, const Timings& timings,
                                                           const Decision& decision) {
  std::vector<std::pair<std::string, double>> numbers;
  if (decision.interval) {
    numbers = {{"ratio", decision.ratio},
               {"ratio_low", decision.interval->low},
               {"ratio_high", decision.interval->high},
               {"submission_seconds", median(timings.submission)},
               {"reference_seconds", median(timings.reference)}};
  }
  numbers.insert(numbers.end(), {{"reference_alone_seconds", timings.reference_alone},
                                 {"copy_seconds", timings.copy},
                                 {"bytes", least_bytes(check)},
                                 {"rounds", static_cast<double>(timings.submission.size())},
                                 {"repeated_rounds", static_cast<double>(timings.repeated)}});
  return numbers;
}

}  // namespace scanlab::grade
