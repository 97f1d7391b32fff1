// Points, verdicts and words from measured times, which are data here.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "autograder/timing/timing_cause.hpp"
#include "autograder/timing/timing_decision.hpp"

using namespace scanlab::grade;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Outcome = Decision::Outcome;

namespace {

constexpr TimeLimits limits{1.25, 3, 15};

/// The reference takes 1 ms per round, a copy 0.1 ms; the submission takes this many ms.
Timings timings_of(std::vector<double> milliseconds) {
  Timings timings;
  timings.copy = 1e-4;
  timings.reference_alone = 1e-3;
  for (const double time : milliseconds) {
    timings.submission.push_back(time * 1e-3);
    timings.reference.push_back(1e-3);
  }
  timings.spent = 10;
  return timings;
}

/// 11 rounds around `middle`, `spread` to each side.
Timings around(double middle, double spread) {
  std::vector<double> times;
  for (int i = -5; i <= 5; ++i) times.push_back(middle + spread * i / 5);
  return timings_of(times);
}

CheckPlan check_of_15_points() {
  CheckPlan check;
  check.kind = CheckPlan::Kind::timing;
  check.name = "speed";
  check.n = 1 << 26;
  check.full = limits.full;
  check.none = limits.none;
  check.points = limits.points;
  check.explain = "\nmemory is what takes the time\n";
  return check;
}

Cause cause_of(const Timings& timings, std::size_t cache_bytes = 60'000'000) {
  Plan plan;
  plan.seed = 9;
  plan.again = "grader/scanlab check 02 --device gpu";
  return timing_cause(plan, check_of_15_points(), timings, decide(limits, timings), cache_bytes);
}

std::string details_of(const Cause& cause) {
  std::string text;
  for (const std::string& detail : cause.details) text += detail + "\n";
  return text;
}

}  // namespace

TEST_CASE("points are all up to one ratio, none from another, and in proportion between", "[timing]") {
  CHECK(points_at(limits, 0.2) == 15);
  CHECK(points_at(limits, 1.25) == 15);
  CHECK(points_at(limits, 2.125) == Approx(7.5));
  CHECK(points_at(limits, 2.65) == Approx(3));
  CHECK(points_at(limits, 3) == 0);
  CHECK(points_at(limits, 100) == 0);
}

TEST_CASE("a clear ratio is worth its points, and passes within the limit alone", "[timing]") {
  Decision decision = decide(limits, around(1.0, 0.1));
  CHECK(decision.verdict() == Verdict::pass);
  CHECK(decision.points == 15);
  CHECK(decision.ratio == Approx(1.0));
  decision = decide(limits, around(1.25, 0.01));
  CHECK(decision.verdict() == Verdict::pass);
  decision = decide(limits, around(2.125, 0.02));
  CHECK(decision.verdict() == Verdict::fail);
  CHECK(decision.points == 7.5);
  decision = decide(limits, around(40, 5));
  CHECK(decision.verdict() == Verdict::fail);
  CHECK(decision.points == 0);
}

TEST_CASE("what is just beyond the limit does not get all points", "[timing]") {
  const Decision decision = decide(limits, around(1.2501, 0.0001));
  CHECK(decision.verdict() == Verdict::fail);
  CHECK(decision.points < 15);
}

TEST_CASE("an interval whose ends are worth different points settles nothing, and gives those of the worse",
          "[timing]") {
  const Decision decision = decide(limits, around(1.25, 0.5));
  REQUIRE(decision.interval);
  CHECK(decision.interval->low == Approx(0.85));  // the second of 11
  CHECK(decision.interval->high == Approx(1.65));
  CHECK(decision.outcome == Outcome::unclear);
  CHECK(decision.verdict() == Verdict::inconclusive);
  CHECK_FALSE(decision.is_settled());
  CHECK(decision.points == Approx(15 * (3 - 1.65) / 1.75).margin(0.01));
  CHECK(decide(limits, around(2.9, 0.5)).verdict() == Verdict::inconclusive);
  CHECK(decide(limits, around(2.9, 0.5)).points == 0);
}

TEST_CASE("an interval to one side of the limits may be as wide as it likes", "[timing]") {
  CHECK(decide(limits, around(0.8, 0.4)).verdict() == Verdict::pass);
  CHECK(decide(limits, around(9, 5)).verdict() == Verdict::fail);
}

TEST_CASE("alternating between fast and slow wins nothing over being slow", "[timing]") {
  const Decision mixed = decide(limits, timings_of({1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
  CHECK(mixed.verdict() == Verdict::inconclusive);
  CHECK(mixed.points == decide(limits, around(2, 0)).points);
}

TEST_CASE("a single hiccup decides nothing", "[timing]") {
  CHECK(decide(limits, timings_of({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1000})).verdict() == Verdict::pass);
}

TEST_CASE("rounds compare what ran side by side: a device that speeds up does not matter", "[timing]") {
  Timings timings = timings_of({});
  for (int i = 0; i < 11; ++i) {
    timings.submission.push_back(2e-3 / (1 + i));
    timings.reference.push_back(1e-3 / (1 + i));
  }
  timings.copy = 1e-5;
  const Decision decision = decide(limits, timings);
  CHECK(decision.ratio == Approx(2));
  CHECK(decision.interval->low == Approx(2));
  CHECK(decision.interval->high == Approx(2));
}

TEST_CASE("faster than a copy is not a time of a scan", "[timing]") {
  CHECK(decide(limits, around(0.09, 0.001)).verdict() == Verdict::pass);
  const Timings timings = around(0.079, 0.001);
  const Decision decision = decide(limits, timings);
  CHECK(decision.outcome == Outcome::impossible);
  CHECK(decision.verdict() == Verdict::fail);
  CHECK(decision.points == 0);
  const Cause cause = cause_of(timings);
  CHECK(cause.actual == "79.0 µs in the median");
  CHECK(cause.expected == "at least 80.0 µs");
  CHECK_THAT(cause.rationale, ContainsSubstring("faster than the memory allows"));
}

TEST_CASE("a reference solution that is held up beside the submission is not a measure", "[timing]") {
  Timings timings = around(1, 0.01);
  timings.reference_alone = 0.6e-3;
  const Decision decision = decide(limits, timings);
  CHECK(decision.outcome == Outcome::disturbed);
  CHECK(decision.verdict() == Verdict::inconclusive);
  CHECK(decision.points == 0);
  CHECK_THAT(cause_of(timings).rationale, ContainsSubstring("took 1.00 ms beside your program and 600 µs before"));
  timings.reference_alone = 0.7e-3;
  CHECK(decide(limits, timings).verdict() == Verdict::pass);
  timings = around(9, 1);
  timings.reference_alone = 0.6e-3;  // alone it would have made the submission look even slower
  CHECK(decide(limits, timings).verdict() == Verdict::fail);
}

TEST_CASE("too few rounds are explained by what took the time", "[timing]") {
  Timings timings = timings_of({3000, 3000});
  CHECK(decide(limits, timings).verdict() == Verdict::timeout);
  CHECK_THAT(cause_of(timings).rationale, ContainsSubstring("only 2 of 6 rounds fitted into 60 s, and most of that"));
  timings = timings_of({3, 3});
  CHECK(decide(limits, timings).outcome == Outcome::machine_slow);
  CHECK(decide(limits, timings).verdict() == Verdict::inconclusive);
  timings = timings_of({});
  timings.repeated = 11;
  timings.slowdowns = {"hardware slowdown: too hot"};
  CHECK(decide(limits, timings).outcome == Outcome::slowed_down);
  CHECK(decide(limits, timings).verdict() == Verdict::inconclusive);
  CHECK_THAT(details_of(cause_of(timings)),
             ContainsSubstring("11 rounds do not count, for the device had slowed itself down (hardware slowdown: too "
                               "hot)"));
}

TEST_CASE("a slow submission gets the ratio, the limits, all times, and what usually costs it", "[timing]") {
  const Cause cause = cause_of(around(1.83, 0.05));
  CHECK(cause.headline == "time of inclusive_scan, n = 67108864");
  CHECK(cause.actual == "1.83 times the reference solution's time (95 % interval 1.79 to 1.87)");
  CHECK(cause.expected == "at most 1.25");
  CHECK(cause.rationale == "memory is what takes the time");
  REQUIRE(cause.details.size() == 2);
  CHECK(cause.details[0] ==
        "10.02 of 15 points: all up to 1.25 times the reference solution's time, none from 3 times on");
  // 2 * 4 * 2^26 bytes are 0.537 GB
  CHECK(cause.details[1] ==
        "medians of 11 rounds: yours 1.83 ms (293 GB/s), the reference solution 1.00 ms (537 GB/s); a copy of the "
        "array 100 µs (5.37 TB/s)");
  CHECK(cause.next == "grader/scanlab check 02 --device gpu --seed 9");
}

TEST_CASE("a ratio is shown so that it differs from the limit", "[timing]") {
  CHECK_THAT(cause_of(around(1.2503, 0)).actual, ContainsSubstring("1.2503 times"));
}

TEST_CASE("arrays within the cache, and a device that does not report slowdowns, are mentioned", "[timing]") {
  Timings timings = around(2, 0.01);
  timings.slowdowns_known = false;
  CHECK_THAT(details_of(cause_of(timings)), ContainsSubstring("does not report whether it slows itself down"));
  CHECK_THAT(details_of(cause_of(timings, 600'000'000)),
             ContainsSubstring("537 MB, fit into the device's L2 cache, 600 MB: it is emptied before each call"));
  CHECK_THAT(details_of(cause_of(timings)), !ContainsSubstring("L2"));
}

TEST_CASE("the numbers of a check are named", "[timing]") {
  const Timings timings = around(2, 0.1);
  const auto numbers = timing_numbers(check_of_15_points(), timings, decide(limits, timings));
  const auto value = [&](std::string_view name) {
    for (const auto& [known, number] : numbers) {
      if (known == name) return number;
    }
    return -1.0;
  };
  CHECK(value("ratio") == Approx(2));
  CHECK(value("ratio_low") == Approx(1.92));
  CHECK(value("ratio_high") == Approx(2.08));
  CHECK(value("submission_seconds") == Approx(2e-3));
  CHECK(value("reference_seconds") == Approx(1e-3));
  CHECK(value("reference_alone_seconds") == Approx(1e-3));
  CHECK(value("copy_seconds") == Approx(1e-4));
  CHECK(value("bytes") == 536870912);
  CHECK(value("rounds") == 11);
  CHECK(value("repeated_rounds") == 0);
}

TEST_CASE("times and rates have three digits and a unit", "[timing]") {
  CHECK(time_text(1.5e-6) == "1.50 µs");
  CHECK(time_text(612.4e-6) == "612 µs");
  CHECK(time_text(999.6e-6) == "1.00 ms");
  CHECK(time_text(12.74e-3) == "12.7 ms");
  CHECK(time_text(1.834) == "1.83 s");
  CHECK(rate_text(877.2e9) == "877 GB/s");
  CHECK(rate_text(4.1e12) == "4.10 TB/s");
}
