#include "autograder/check/other_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "autograder/hash.hpp"

namespace scanlab::grade {

namespace {

using Order = vgpu::Schedule::Order;

constexpr const char *left_over_id = "wrong.stale_scratch", *unordered_id = "wrong.order";
constexpr const char* meaning_of_left_over =
    "right as the first call of a process, wrong as a later one: something is left over from an earlier call "
    "(a __device__ or static variable, memory that is not set anew, or what does not say which call has written it)";
/// A real GPU orders its warps as it likes, so a race may be mistaken for the other.
constexpr const char* meaning_of_left_over_or_race =
    "either something is left over from an earlier call (a __device__ or static variable, or memory that is not set "
    "anew), or a barrier is missing and it went well by luck; check without --device gpu, where warps run in several "
    "orders";
/// Where races are reported, nothing is one that was not.
constexpr const char* meaning_of_progress =
    "no race was found, so no barrier is missing: what an atomic returns, or a flag says, depends on who comes first, "
    "and each answer has to lead to the same result";
constexpr const char* meaning_of_race =
    "the result depends on the order in which blocks and warps run, so a barrier is missing between a write and a "
    "read of data that threads share, or two threads write the same element, or a place depends on who comes first";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

/// One failed case, and what runs it again.
class OtherRuns {
 public:
  OtherRuns(Submission& submission, Trial& trial, const Device& device, const Case& failed, CallPosition position)
      : submission_(submission),
        trial_(trial),
        failed_(failed),
        position_(position),
        may_have_raced_(!device.reports_races()) {}

  void explain_by_schedules(Cause& cause) {
    if (position_ == CallPosition::later && !run_alone(failed_).failure)
      return replace_explanation(cause, left_over_id, meaning_of_left_over);
    std::vector<std::string> right, wrong;
    std::vector<Order> orders = {Order::in_order, Order::reversed, Order::random};
    if (std::ranges::find(orders, failed_.order) == orders.end()) orders.insert(orders.begin(), failed_.order);
    outputs_.clear();
    for (const Order order : orders) {
      Case other = failed_;
      other.order = order;
      const TrialResult tried = run_alone(other);
      // Large arrays take longer under these schedules: running out of time is not another result.
      if (tried.failure && tried.failure->verdict == Verdict::timeout) break;
      (tried.failure ? wrong : right).push_back(name_of(order));
    }
    if (!right.empty() && !wrong.empty()) {
      replace_explanation(cause, unordered_id,
                          fmt::format("the same data is right under {} and wrong under {}: {}", joined(right),
                                      joined(wrong), meaning()));
    } else if (outputs_.size() > 1) {
      replace_explanation(cause, unordered_id,
                          fmt::format("the same data gives other results under other schedules: {}", meaning()));
    }
  }

  void explain_by_repetition(Cause& cause) {
    constexpr int times = 5;
    int right = 0;
    for (int i = 0; i < times; ++i) right += !run_alone(failed_).failure;
    if (right == times && position_ == CallPosition::later) {
      replace_explanation(cause, left_over_id,
                          fmt::format("right {} times as the first call of a process, wrong as a later one: {}", times,
                                      meaning_of_left_over_or_race));
    } else if (right > 0 || outputs_.size() > 1) {
      replace_explanation(
          cause, unordered_id,
          fmt::format("run {} times more on the same data, {} results were right and {} were different: {}", times,
                      right, outputs_.size(), meaning_of_race));
    }
  }

 private:
  const char* meaning() const { return may_have_raced_ ? meaning_of_race : meaning_of_progress; }

  /// In a fresh process, or what one run leaves behind would look like another schedule's result.
  TrialResult run_alone(const Case& which) {
    submission_.restart();
    TrialResult tried = trial_.run(submission_, which, Counting::off, no_hash);
    if (!tried.failure || tried.is_wrong_output) outputs_.insert(tried.mistake);
    may_have_raced_ |= std::ranges::any_of(tried.findings, [](const vgpu::Finding& one) {
      return one.weight == vgpu::Finding::Weight::mistake && !one.id.starts_with("wrong.");
    });
    return tried;
  }

  Submission& submission_;
  Trial& trial_;
  const Case failed_;
  const CallPosition position_;
  std::set<std::uint64_t> outputs_;  ///< different ones that were seen
  bool may_have_raced_;              ///< also after another mistake that a check of the device has reported
};

}  // namespace

void explain_by_other_runs(Cause& cause, Submission& submission, Trial& trial, const Device& device, const Case& failed,
                           CallPosition position) {
  OtherRuns runs(submission, trial, device, failed, position);
  device.is_virtual() ? runs.explain_by_schedules(cause) : runs.explain_by_repetition(cause);
}

}  // namespace scanlab::grade
