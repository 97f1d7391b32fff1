#include "autograder/timing/rounds.hpp"

#include <algorithm>

#include "autograder/check/inputs.hpp"

namespace scanlab::grade {

namespace {

using Program = Bench::Program;

/// Adds the device's reasons to the timings'. True when it runs slower than it could.
bool is_slowed_down(Bench& bench, Timings& timings) {
  const std::optional<std::vector<std::string>> reasons = bench.slowdowns();
  timings.slowdowns_known = timings.slowdowns_known && reasons.has_value();
  if (!reasons) return false;
  for (const std::string& reason : *reasons) {
    if (std::find(timings.slowdowns.begin(), timings.slowdowns.end(), reason) == timings.slowdowns.end()) {
      timings.slowdowns.push_back(reason);
    }
  }
  return !reasons->empty();
}

/// One round. Its times count only when the device was itself before and after.
std::optional<Failure> take_round(Bench& bench, bool submission_first, Timings& timings) {
  bench.renew_data();
  bool slowed_down = is_slowed_down(bench, timings);
  double submission = 0, reference = 0;
  for (const bool is_submission : {submission_first, !submission_first}) {
    std::variant<double, Failure> timed = bench.time(is_submission ? Program::submission : Program::reference);
    if (Failure* failure = std::get_if<Failure>(&timed)) return std::move(*failure);
    (is_submission ? submission : reference) = std::get<double>(timed);
  }
  slowed_down = is_slowed_down(bench, timings) || slowed_down;
  if (slowed_down) {
    ++timings.repeated;
  } else {
    timings.submission.push_back(submission);
    timings.reference.push_back(reference);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Failure> take_rounds(Bench& bench, const TimeLimits& limits, std::uint64_t seed, Timings& timings) {
  Random random(seed);
  for (std::size_t look = first_look; look <= most_rounds; look += rounds_between_looks) {
    while (timings.submission.size() < look) {
      if (bench.is_time_up() || timings.repeated > most_repeated) return std::nullopt;
      if (auto failure = take_round(bench, random.below(2) == 0, timings)) return failure;
    }
    if (decide(limits, timings).is_settled()) break;
  }
  return std::nullopt;
}

}  // namespace scanlab::grade
