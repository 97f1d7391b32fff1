#include "autograder/correctness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograder/findings.hpp"
#include "autograder/hash.hpp"
#include "autograder/shrinking.hpp"
#include "autograder/submission.hpp"
#include "autograder/trial.hpp"
#include "vgpu/checks/finding_order.hpp"

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
void put_first(Cause& cause, std::string id, std::string rationale) {
  cause.id = std::move(id);
  cause.details.insert(cause.details.begin(), cause.rationale);
  cause.rationale = std::move(rationale);
}

/// Runs a failed case again to tell why: alone in a fresh process, then under other schedules (or, on a GPU, some more
/// times). Stops at the first explanation.
class Examination {
 public:
  /// `was_first`: the case was the first call of its process.
  Examination(Submission& submission, Trial& trial, const Device& device, const Case& which, bool was_first)
      : submission_(submission), trial_(trial), device_(device), which_(which), was_first_(was_first) {}

  void explain(Cause& cause) {
    submission_.restart();
    device_.is_virtual() ? by_schedules(cause) : by_repetition(cause);
  }

 private:
  TrialResult rerun(const Case& which) { return trial_.run(submission_, which, Counting::off, hash_start); }

  void by_schedules(Cause& cause) {
    if (!was_first_ && !rerun(which_).failure) return put_first(cause, stale, left_over);
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
      put_first(cause, unordered,
                fmt::format("the same data is right under {} and wrong under {}: {}", joined(right), joined(wrong),
                            meaning_of_race));
    } else if (outputs.size() > 1) {
      put_first(cause, unordered,
                fmt::format("the same data gives other results under other schedules: {}", meaning_of_race));
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
      put_first(cause, stale,
                fmt::format("right {} times as the first call of a process, wrong as a later one: {}", times,
                            left_over_or_race));
    } else if (right > 0 || outputs.size() > 1) {
      put_first(cause, unordered,
                fmt::format("run {} times more on the same data, {} results were right and {} were different: {}",
                            times, right, outputs.size(), meaning_of_race));
    }
  }

  static constexpr const char *stale = "wrong.stale_scratch", *unordered = "wrong.order";
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
  bool was_first_;
};

/// One correctness check up to its first failure.
class CorrectnessCheck {
 public:
  CorrectnessCheck(const Plan& plan, const CheckPlan& check, Device& device)
      : plan_(plan),
        check_(check),
        device_(device),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan.limits.seconds))),
        submission_(plan, device, check.element, deadline_),
        orders_(check.schedules) {
    // A GPU orders its warps itself: there, the first schedule's calls are made, on the same data.
    if (!device.is_virtual()) orders_.resize(1);
  }

  void run(CheckResult& result) {
    result.verdict = Verdict::pass;
    for (const std::size_t n : check_.sizes) {
      std::unique_ptr<Trial> trial = make_trial(plan_, check_, device_, n);
      for (const Order order : orders_) {
        for (unsigned repeat = 0; repeat < check_.repeats; ++repeat) {
          const Case which{n, repeat, order, order};
          TrialResult tried = trial->run(submission_, which, Counting::off, order == orders_.front() ? hash_ : 0);
          if (order == orders_.front()) hash_ = tried.output_hash;
          if (tried.failure) return fail(std::move(trial), which, std::move(tried), result);
          note(tried.findings, tried.findings_total, result);
        }
      }
      passed_.insert(n);
    }
    finish(result);
    result.output_hash = hash_;
  }

 private:
  void fail(std::unique_ptr<Trial> trial, Case which, TrialResult tried, CheckResult& result) {
    bool was_first = submission_.calls_answered() <= 1;
    if (device_.is_virtual() && tried.failure->verdict == Verdict::fail) {
      submission_.restart();  // one process at a time
      Shrinking shrinking(plan_, check_, device_, deadline_, which.order, passed_);
      const std::string id = tried.failure->cause.id;
      if (std::optional<Replayed> found = shrinking.smallest(which.n, id)) {
        if (found->which.n != which.n) trial = make_trial(plan_, check_, device_, found->which.n);
        which = found->which;
        tried = std::move(found->tried);
        was_first = which.repeat == 0;
        ask_larger(shrinking, which.n, tried);
        if (const std::string sizes = shrinking.meaning_of_sizes(); !sizes.empty()) add_sizes(tried, sizes);
      } else {
        tried.failure->cause.next = again_command(plan_);  // this case alone is right
      }
    }
    if (tried.is_wrong_output) {
      Examination(submission_, *trial, device_, which, was_first).explain(tried.failure->cause);
      replace_wrong(tried);
    }
    result.verdict = tried.failure->verdict;
    note(tried.findings, tried.findings_total, result);
    finish(result);
    result.cause = std::move(tried.failure->cause);
  }

  /// Few elements show that something is wrong, and more of them what.
  void ask_larger(Shrinking& shrinking, std::size_t n, TrialResult& tried) const {
    constexpr std::size_t few = 64;
    std::vector<std::string> vague = {"wrong.other", "wrong.last_element", "wrong.first_element",
                                      "wrong.nothing_added"};
    if (has_count(check_.entry)) vague.push_back("wrong.unwritten");
    Cause& cause = tried.failure->cause;
    if (!tried.is_wrong_output || n > few || std::ranges::find(vague, cause.id) == vague.end()) return;
    if (const std::optional<Replayed> found = shrinking.larger(n, vague)) {
      const Cause& better = found->tried.failure->cause;
      put_first(cause, better.id, fmt::format("with n = {}: {}", found->which.n, better.rationale));
    }
  }

  /// What the sizes say is more than that some place is wrong, and less than a plain reason.
  static void add_sizes(TrialResult& tried, const std::string& sizes) {
    Cause& cause = tried.failure->cause;
    if (tried.is_wrong_output && (cause.id == "wrong.other" || cause.id == "wrong.unwritten")) {
      put_first(cause, "wrong.size", sizes);
    } else {
      cause.details.push_back(sizes);
    }
  }

  /// The diagnosis may have got another name since the finding was made.
  static void replace_wrong(TrialResult& tried) {
    std::erase_if(tried.findings, [](const vgpu::Finding& finding) { return finding.id.starts_with("wrong."); });
    tried.findings.push_back(finding_of(tried.failure->cause));
    vgpu::sort_most_basic_first(tried.findings);
  }

  void note(const std::vector<vgpu::Finding>& findings, std::uint64_t total, CheckResult& result) {
    for (const vgpu::Finding& finding : findings) findings_.add(finding);
    result.findings_total += total - findings.size();  // those that nobody has listed
  }

  void finish(CheckResult& result) const {
    result.findings = findings_.list();
    result.findings_total += findings_.total();
    vgpu::sort_most_basic_first(result.findings);
  }

  const Plan& plan_;
  const CheckPlan& check_;
  Device& device_;
  const Clock::time_point deadline_;
  Submission submission_;
  std::vector<Order> orders_;
  std::set<std::size_t> passed_;  ///< sizes
  vgpu::FindingList findings_;
  std::uint64_t hash_ = hash_start;
};

}  // namespace

void check_correctness(const Plan& plan, const CheckPlan& check, Device& device, CheckResult& result) {
  CorrectnessCheck(plan, check, device).run(result);
}

}  // namespace scanlab::grade
