#include "autograder/timing/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "autograder/check/inputs.hpp"
#include "autograder/check/trial.hpp"
#include "autograder/process/messages.hpp"
#include "autograder/process/submission.hpp"
#include "autograder/timing/rounds.hpp"
#include "autograder/timing/timed_work.hpp"
#include "autograder/timing/timing_cause.hpp"
#include "autograder/timing/timing_decision.hpp"
#include "vgpu/core/run/parallel.hpp"

namespace scanlab::grade {

namespace {

constexpr int warm_up_calls = 2;   // contexts, modules, clocks
constexpr int calls_alone = 5;     // of the reference solution, before the submission is started
constexpr int warm_up_copies = 5;  // the first one loads what copies
constexpr int timed_copies = 21;
constexpr double least_time = 1e-9;        // seconds: what is left of a time when the copy's is taken off is above 0
constexpr std::size_t default_row = 1024;  // elements, where the scan has no sections

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Clock::time_point in_seconds(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Nothing that a submission could know beforehand: a program that knows the data's seed need not read the data.
std::uint64_t secret_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// A program with memory of its own, which no other program uses.
struct Lane {
  Lane(Plan own_plan, Device& device, const CheckPlan& check, double seconds)
      : plan(std::move(own_plan)),
        memory(device, check.entry, check.n, sizeof(float)),
        limit(seconds, device.counted_time()),
        program(plan, device, check.element, limit) {}

  Plan plan;
  CallMemory memory;
  TimeLimit limit;
  Submission program;
};

/// The plan with these runners.
Plan with(Plan plan, std::map<std::string, std::filesystem::path> runners) {
  plan.runners = std::move(runners);
  return plan;
}

/// Both programs on a device.
class DeviceBench : public Bench, CheckOnDevice {
 public:
  DeviceBench(const Plan& plan, const CheckPlan& check, Device& device)
      : CheckOnDevice{plan, check, device},
        work_(make_timed_work(plan, check, vgpu::default_threads())),
        last_round_(in_seconds(check.seconds)),
        random_(mix(plan.seed, secret_number())),
        hidden_x_(device, check.n * sizeof(float), "the input, before it is the program's"),
        taken_y_(device, check.n * sizeof(float), "the output, as it was taken"),
        cache_(device, std::max<std::size_t>(2 * device.cache_bytes(), 1), "what displaces the cache's content"),
        // A call that was begun in time may end: as long as any call of this lab.
        reference_(with(plan, plan.reference), device, check, limit(plan, check)),
        submission_(with(plan, plan.runners), device, check, limit(plan, check)),
        host_x_(check.n),
        host_y_(check.n) {}

  void renew_data() override {
    work_->renew(random_.next(), host_x_);
    device_.write(hidden_x_, host_x_.data());
  }

  std::variant<double, Failure> time(Program program) override {
    Lane& lane = program == Program::submission ? submission_ : reference_;
    lane.memory.blank();
    give_input(lane);

    const Clock::time_point start = Clock::now();
    CallReport report = lane.program.call(check_.entry, lane.memory, {});
    if (!report.failure) device_.copy(taken_y_, lane.memory.y);
    const double elapsed = seconds_since(start);

    std::optional<Failure> failure = std::move(report.failure);
    if (failure && !failure->cause.next.empty()) failure->cause.details.push_back(failure->cause.next);
    if (!failure) failure = output_failure(lane);
    if (!failure) failure = memory_failure(lane);
    if (!failure) return std::max(elapsed - copy_, least_time);
    complete(*failure, lane);
    return program == Program::submission ? std::move(*failure) : beside_the_submission(std::move(*failure));
  }

  std::optional<std::vector<std::string>> slowdowns() override { return device_.slowdowns(); }
  bool is_time_up() const override { return Clock::now() >= last_round_; }

  /// The median time of a copy of the array, which all times are taken off from now on.
  double time_copy() {
    renew_data();
    std::vector<double> times;
    for (int i = 0; i < warm_up_copies + timed_copies; ++i) {
      empty_cache();
      const Clock::time_point start = Clock::now();
      device_.copy(taken_y_, hidden_x_);
      if (i >= warm_up_copies) times.push_back(seconds_since(start));
    }
    return copy_ = median(times);
  }

  /// The median of `calls` times of one program, or the first failure.
  std::variant<double, Failure> time_alone(Program program, int calls) {
    std::vector<double> times;
    for (int i = 0; i < calls; ++i) {
      renew_data();
      std::variant<double, Failure> timed = time(program);
      if (std::holds_alternative<Failure>(timed)) return timed;
      times.push_back(std::get<double>(timed));
    }
    return median(times);
  }

 private:
  static double limit(const Plan& plan, const CheckPlan& check) { return check.seconds + plan.limits.seconds; }

  /// Writes the input and empties the cache. The first element of each section, on which all of its results depend,
  /// comes last: whatever is still at work for the program, and sees the input before the clock starts, can finish
  /// nothing.
  void give_input(Lane& lane) {
    const std::size_t row = sizeof(float) * (plan_.section > 0 ? plan_.section : default_row);
    device_.copy_columns(lane.memory.x, hidden_x_, row, sizeof(float), row);
    empty_cache();
    device_.copy_columns(lane.memory.x, hidden_x_, row, 0, sizeof(float));
  }

  void empty_cache() {
    if (device_.cache_bytes() > 0) device_.fill(cache_, 0);
  }

  /// The output as it was when the clock stopped.
  std::optional<Failure> output_failure(const Lane& lane) {
    device_.read(taken_y_, host_y_.data());
    const Comparison comparison = work_->compare(host_y_);
    if (comparison.ok()) return count_failure(lane);
    const std::size_t first = comparison.first;
    const char* rationale = is_unwritten(host_y_[first])
                                ? "this element was not written when the entry had returned and the device had "
                                  "finished; only right results have a time"
                                : "a timed call gave a wrong result; only right results have a time";
    return Failure{Verdict::fail,
                   {.rationale = rationale,
                    .expected = text_of(work_->expected(first)),
                    .actual = fmt::format("y[{}] = {}", first, text_of(host_y_[first])),
                    .details = {wrong_text(comparison.wrong, check_.n, comparison.last)}}};
  }

  /// The number of kept elements is wrong.
  std::optional<Failure> count_failure(const Lane& lane) {
    const std::optional<std::int32_t> right = work_->kept();
    if (!right) return std::nullopt;
    std::int32_t kept = 0;
    device_.read(*lane.memory.kept, &kept);
    if (kept == *right) return std::nullopt;
    return Failure{Verdict::fail,
                   {.rationale = "a timed call gave a wrong number of kept elements; only right results have a time",
                    .expected = std::to_string(*right),
                    .actual = fmt::format("*d_kept = {}", text_of_count(kept))}};
  }

  /// The input changed, or memory around the buffers did.
  std::optional<Failure> memory_failure(const Lane& lane) {
    device_.read(lane.memory.x, host_y_.data());
    if (std::memcmp(host_y_.data(), host_x_.data(), check_.n * sizeof(float)) != 0)
      return Failure{Verdict::fail, {.rationale = "the input was changed: d_x is for reading only"}};
    const std::optional<std::string> damage = lane.memory.damage();
    return damage ? std::optional(Failure{Verdict::fail, {.rationale = *damage}}) : std::nullopt;
  }

  void complete(Failure& failure, Lane& lane) const {
    Cause& cause = failure.cause;
    cause.headline = timing_headline(check_);
    add_printed(cause, lane.program.output());
    cause.next = again_command(plan_, device_, {.n = check_.n});
  }

  /// The reference solution has been right alone; what goes wrong with it later is neither measured nor a failure of
  /// the submission.
  static Failure beside_the_submission(Failure failure) {
    failure.verdict = Verdict::inconclusive;
    failure.cause.details.insert(failure.cause.details.begin(),
                                 "this happened to the reference solution, which was right before your program was "
                                 "started");
    return failure;
  }

  std::unique_ptr<TimedWork> work_;
  Clock::time_point last_round_;
  Random random_;
  OwnedBuffer hidden_x_, taken_y_, cache_;
  Lane reference_, submission_;
  std::vector<float> host_x_, host_y_;
  double copy_ = 0;
};

/// The reference solution's median alone. What keeps it from having one is the kit's fault.
double reference_alone(DeviceBench& bench, int calls) {
  const std::variant<double, Failure> timed = bench.time_alone(Bench::Program::reference, calls);
  if (const Failure* failure = std::get_if<Failure>(&timed)) {
    throw KitFault("the lab's reference solution cannot be timed: " + to_text(failure->cause));
  }
  return std::get<double>(timed);
}

}  // namespace

void check_timing(const Plan& plan, const CheckPlan& check, Device& device, CheckResult& result) {
  const Clock::time_point start = Clock::now();
  const TimeLimits limits{check.full, check.none, check.points};
  DeviceBench bench(plan, check, device);
  Timings timings;
  // Until here the submission's process does not exist: nothing of it can be in these three.
  reference_alone(bench, warm_up_calls);
  timings.copy = bench.time_copy();
  timings.reference_alone = reference_alone(bench, calls_alone);

  std::optional<Failure> failure;
  std::variant<double, Failure> warm_up = bench.time_alone(Bench::Program::submission, warm_up_calls);
  if (Failure* failed = std::get_if<Failure>(&warm_up)) failure = std::move(*failed);
  if (!failure) failure = take_rounds(bench, limits, mix(plan.seed, check.name), timings);
  if (failure) {
    result.verdict = failure->verdict;
    result.cause = std::move(failure->cause);
    return;
  }
  timings.spent = seconds_since(start);

  const Decision decision = decide(limits, timings);
  result.verdict = decision.verdict();
  result.points = decision.points;
  result.times = timing_numbers(check, timings, decision);
  if (result.verdict != Verdict::pass) {
    result.cause = timing_cause(plan, check, timings, decision, device.cache_bytes());
  }
}

}  // namespace scanlab::grade
