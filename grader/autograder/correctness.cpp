#include "autograder/correctness.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "autograder/hash.hpp"
#include "autograder/submission.hpp"
#include "autograder/trial.hpp"

namespace scanlab::grade {

namespace {

using Order = vgpu::Schedule::Order;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

/// Puts a new rationale first, and keeps the old one as a detail.
void put_first(Cause& cause, std::string rationale) {
  cause.details.insert(cause.details.begin(), cause.rationale);
  cause.rationale = std::move(rationale);
}

/// Runs a failed case again to tell why: alone in a fresh process, then under other schedules (or, on a GPU, some more
/// times). Stops at the first explanation.
class Examination {
 public:
  Examination(Submission& submission, Trial& trial, const Device& device, const Case& which)
      : submission_(submission), trial_(trial), device_(device), which_(which) {}

  void explain(Cause& cause) {
    was_first_ = submission_.calls_answered() <= 1;
    submission_.restart();
    device_.is_virtual() ? by_schedules(cause) : by_repetition(cause);
  }

 private:
  TrialResult rerun(const Case& which) { return trial_.run(submission_, which, Counting::off, hash_start); }

  void by_schedules(Cause& cause) {
    if (!was_first_ && !rerun(which_).failure) return put_first(cause, left_over);
    std::vector<std::string> right, wrong;
    std::set<std::uint64_t> outputs;
    std::vector<Order> orders = {Order::in_order, Order::reversed, Order::random};
    if (which_.order == Order::lockstep) orders.insert(orders.begin(), Order::lockstep);
    for (const Order order : orders) {
      Case other = which_;
      other.order = order;
      submission_.restart();  // or what one run leaves behind would look like another schedule's result
      const TrialResult tried = rerun(other);
      // Large arrays take longer under these schedules: no time left is no other result.
      if (tried.failure && tried.failure->verdict == Verdict::timeout) break;
      (tried.failure ? wrong : right).push_back(vgpu::name_of(order));
      if (!tried.failure || tried.is_wrong_output) outputs.insert(tried.mistake);
    }
    if (!right.empty() && !wrong.empty()) {
      put_first(cause, fmt::format("the same data is right under {} and wrong under {}: {}", joined(right),
                                   joined(wrong), meaning_of_race));
    } else if (outputs.size() > 1) {
      put_first(cause, fmt::format("the same data gives other results under other schedules: {}", meaning_of_race));
    }
  }

  void by_repetition(Cause& cause) {
    constexpr int times = 5;
    int right = 0;
    std::set<std::uint64_t> outputs;
    for (int i = 0; i < times; ++i) {
      submission_.restart();
      const TrialResult tried = rerun(which_);
      right += !tried.failure;
      if (!tried.failure || tried.is_wrong_output) outputs.insert(tried.mistake);
    }
    if (right == times && !was_first_) {
      put_first(cause, fmt::format("right {} times as the first call of a process, wrong as a later one: {}", times,
                                   left_over_or_race));
    } else if (right > 0 || outputs.size() > 1) {
      put_first(cause,
                fmt::format("run {} times more on the same data, {} results were right and {} were different: {}",
                            times, right, outputs.size(), meaning_of_race));
    }
  }

  static constexpr const char* left_over =
      "right as the first call of a process, wrong as a later one: something is left over from an earlier call "
      "(a __device__ or static variable, or memory that is not set anew)";
  /// A real GPU orders its warps as it likes, so a race may be mistaken for the other.
  static constexpr const char* left_over_or_race =
      "either something is left over from an earlier call (a __device__ or static variable, or memory that is not set "
      "anew), or a barrier is missing and it went well by luck; check without --device gpu, where warps run in several "
      "orders";
  static constexpr const char* meaning_of_race =
      "the result depends on the order in which blocks and warps run, so a barrier is missing between a write and a "
      "read of data that threads share, or two threads write the same element, or a place depends on who comes first";

  Submission& submission_;
  Trial& trial_;
  const Device& device_;
  Case which_;
  bool was_first_ = true;
};

}  // namespace

void check_correctness(const Plan& plan, const CheckPlan& check, Device& device, CheckResult& result) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan.limits.seconds));
  // A GPU orders its warps itself: there, the first schedule's calls are made, on the same data.
  std::vector<Order> orders = check.schedules;
  if (!device.is_virtual()) orders.resize(1);

  Submission submission(plan, device, check.element, deadline);
  std::uint64_t hash = hash_start;
  for (const std::size_t n : check.sizes) {
    const std::unique_ptr<Trial> trial = make_trial(plan, check, device, n);
    for (const Order order : orders) {
      for (unsigned repeat = 0; repeat < check.repeats; ++repeat) {
        const Case which{n, repeat, order, order};
        TrialResult tried = trial->run(submission, which, Counting::off, order == orders.front() ? hash : 0);
        if (order == orders.front()) hash = tried.output_hash;
        if (!tried.failure) continue;
        if (tried.is_wrong_output) Examination(submission, *trial, device, which).explain(tried.failure->cause);
        result.verdict = tried.failure->verdict;
        result.cause = std::move(tried.failure->cause);
        return;
      }
    }
  }
  result.verdict = Verdict::pass;
  result.output_hash = hash;
}

}  // namespace scanlab::grade
