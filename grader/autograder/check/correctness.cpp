#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograder/cause.hpp"
#include "autograder/check/checks.hpp"
#include "autograder/check/cures.hpp"
#include "autograder/check/exploration.hpp"
#include "autograder/check/other_runs.hpp"
#include "autograder/check/shrinking.hpp"
#include "autograder/check/trial.hpp"
#include "autograder/hash.hpp"
#include "autograder/process/messages.hpp"
#include "autograder/process/submission.hpp"
#include "vgpu/checks/finding_order.hpp"

namespace scanlab::grade {

namespace {

using Order = vgpu::Schedule::Order;

/// Elements that show that something is wrong, but hardly what.
constexpr std::size_t few_elements = 64;

/// Wrong outputs of few elements that more elements may distinguish.
std::vector<std::string> causes_to_see_with_more_elements(Operation entry) {
  std::vector<std::string> ids = {"wrong.other", "wrong.last_element", "wrong.first_element", "wrong.nothing_added"};
  if (has_count(entry)) ids.push_back("wrong.unwritten");
  return ids;
}

/// One correctness check up to its first failure.
class CorrectnessCheck : CheckOnDevice {
 public:
  CorrectnessCheck(const Plan& plan, const CheckPlan& check, Device& device, CountedCalls& counted)
      : CheckOnDevice{plan, check, device},
        counted_(counted),
        limit_(plan.limits.seconds, device.counted_time()),
        submission_(plan, device, check.element, limit_),
        orders_(check.schedules) {
    // A GPU orders its warps itself: there, the first schedule's calls are made, on the same data.
    if (!device.is_virtual()) orders_.resize(1);
  }

  void run(CheckResult& result) {
    result.verdict = Verdict::pass;
    if (!plan_.trail.empty()) return show_execution(result);
    for (const auto& [n, orders] : orders_by_size()) {
      std::unique_ptr<Trial> trial = make_trial(plan_, check_, device_, n);
      const bool is_own_size = std::ranges::binary_search(check_.sizes, n);
      bool is_proved = false;  // of maps of this size, for every order of blocks and warps: others show nothing new
      for (const Order order : orders) {
        for (unsigned repeat = 0; repeat < check_.repeats; ++repeat) {
          const Case which{n, repeat, order, order};
          const auto counted = counted_.find({n, order, repeat});
          const bool is_counted = device_.is_virtual() && counted != counted_.end();
          if (!is_counted && !is_planned(n, order, repeat)) continue;
          if (is_proved && !is_counted) continue;
          Counting counting = is_counted ? counted->second.what : Counting::off;
          // Of floats, too, something is proved: in calls of sizes that only the seed knows, where it costs little.
          if (!is_own_size && n <= Provenance::most_remembered) counting = Counting::additions;
          const bool is_hashed = is_own_size && order == orders_.front();
          TrialResult tried = trial->run(submission_, which, counting, is_hashed ? outputs_hash_ : no_hash);
          if (is_hashed) outputs_hash_ = tried.output_hash;
          if (tried.failure && plan_.is_brief) return end(tried, result);
          if (tried.failure) return end_with_failure(std::move(trial), which, std::move(tried), result);
          if (result.printed.empty()) result.printed = first_lines(tried.printed, shown_lines);
          if (tried.proof) note_proof(n, *tried.proof);
          is_proved = tried.proof && tried.proof->holds_in_every_order() && tried.findings.empty() &&
                      check_.element == ElementType::affine;
          if (is_proved && n > 1 && compared_ < most_compared) {
            ++compared_;
            TrialResult values = trial->run_on_values(submission_, which);
            if (values.failure) return end_with_other_values(values, which, result);
          }
          if (is_counted)
            counted->second = {counting, std::move(tried.counts), std::move(tried.costs), std::move(tried.unfollowed)};
          add_findings(tried, result);
        }
      }
      right_sizes_.insert(n);
    }
    if (check_.prove && device_.is_virtual()) {
      explored_ = explore(plan_, check_, device_);
      if (explored_->failed) return end_with_execution(result);
      for (const Explored::Call& call : explored_->calls) note_breaches(call.breaches);
    }
    if (device_.is_virtual() && check_.name == plan_.checks.front().name)
      for (vgpu::Finding& needless : Cures(plan_, check_, device_, submission_).needless_barriers())
        findings_.add(std::move(needless));
    report_findings(result);
    result.output_hash = outputs_hash_;
    result.breach = breach();
    result.proof = proof(result.breach);
  }

 private:
  /// The check's sizes and the others, ascending, each with its schedules.
  std::map<std::size_t, std::vector<Order>> orders_by_size() const {
    std::map<std::size_t, std::vector<Order>> sizes;
    for (const std::size_t n : check_.sizes) sizes[n] = orders_;
    for (const PlannedCall& call : check_.extra) {
      std::vector<Order>& orders = sizes[call.n];
      const bool is_needed = device_.is_virtual() || orders.empty();
      if (is_needed && std::ranges::find(orders, call.order) == orders.end()) orders.push_back(call.order);
    }
    return sizes;
  }

  /// Is a call made whose work is not counted?
  bool is_planned(std::size_t n, Order order, unsigned repeat) const {
    const auto place = static_cast<std::size_t>(std::ranges::find(orders_, order) - orders_.begin());
    if (std::ranges::binary_search(check_.sizes, n) && place < orders_.size())
      return n <= check_.repeated_up_to || repeat == place % check_.repeats;
    // Where size or schedule is not the check's own, one call is made: the one that is counted, if one is, and before a
    // later one of a size those that it comes after.
    const std::optional<unsigned> counted = device_.is_virtual() ? last_counted(n, order) : std::nullopt;
    return counted ? repeat < *counted && n <= check_.repeated_up_to : repeat == 0;
  }

  std::optional<unsigned> last_counted(std::size_t n, Order order) const {
    std::optional<unsigned> last;
    for (unsigned repeat = 0; repeat < check_.repeats; ++repeat)
      if (counted_.contains({n, order, repeat})) last = repeat;
    return last;
  }

  /// One execution of a proof, and nothing else.
  void show_execution(CheckResult& result) {
    explored_.emplace();
    explored_->failed = explored_case(check_.sizes.front(), plan_.trail);
    explored_->tried = make_trial(plan_, check_, device_, check_.sizes.front())
                           ->run(submission_, *explored_->failed, Counting::off, hash_start);
    if (explored_->tried.failure) return end_with_execution(result);
    add_findings(explored_->tried, result);
    report_findings(result);
  }

  /// Nothing is tried to make it smaller, or to explain it by other schedules: it is one of few.
  void end_with_execution(CheckResult& result) {
    TrialResult& tried = explored_->tried;
    if (!explored_->failed->trail.empty()) tried.failure->cause.next = again_command(plan_, check_, *explored_->failed);
    end(tried, result);
  }

  void end(TrialResult& tried, CheckResult& result) {
    result.verdict = tried.failure->verdict;
    add_findings(tried, result);
    report_findings(result);
    result.cause = std::move(tried.failure->cause);
  }

  /// Right where elements are names, and not where they are values: a program that only adds cannot tell.
  void end_with_other_values(TrialResult& tried, const Case& which, CheckResult& result) {
    Cause& cause = tried.failure->cause;
    cause.details.push_back(
        "the same call is right where the grader names the elements: the program tells elements apart");
    cause.next = again_command(plan_, device_, which);
    end(tried, result);
  }

  void note_proof(std::size_t n, const ProofOf& proof) {
    proved_sizes_.insert(n);
    note_breaches(proof.breaches);
    blocks_talk_ = blocks_talk_ || proof.blocks_talk;
  }
  void note_breaches(const std::vector<vgpu::Breach>& breaches) {
    for (const vgpu::Breach& breach : breaches)
      if (std::ranges::find(breaches_, breach.what, &vgpu::Breach::what) == breaches_.end())
        breaches_.push_back(breach);
  }

  /// Of what a proof assumes, what was seen broken; the orders of threads come last. Empty where nothing was named.
  std::string breach() const {
    if (proved_sizes_.empty() && !explored_) return "";
    const auto first = std::ranges::min_element(breaches_, {}, &vgpu::Breach::what);
    if (first == breaches_.end() || (first->is_of_order() && !plan_.host_breach.empty())) return plan_.host_breach;
    return first->text();
  }
  /// Is nothing broken but that the orders of threads are not known?
  bool is_right_for_every_input() const {
    return plan_.host_breach.empty() && std::ranges::all_of(breaches_, &vgpu::Breach::is_of_order);
  }

  /// What is not checked, and so is said.
  std::string if_state() const { return plan_.host_state.empty() ? "" : ", if " + plan_.host_state; }

  /// What has been proved, in a sentence; none where elements are not names, and no execution was explored.
  std::vector<std::string> proof(const std::string& breach) const {
    if (!breach.empty() && !is_right_for_every_input()) return {"tested, not proved: " + breach};
    if (explored_ && !breach.empty()) return {"not all executions explored: " + breach};
    if (explored_) return explored_->sentences(if_state());
    if (proved_sizes_.empty()) return {};
    const std::string sizes = proved_sizes_.size() == 1
                                  ? fmt::format("n = {}", *proved_sizes_.begin())
                                  : fmt::format("{} sizes up to n = {}", proved_sizes_.size(), *proved_sizes_.rbegin());
    const char* inputs =
        check_.element == ElementType::float_ ? "every input, but for rounding" : "every input and every associative +";
    if (!breach.empty() || blocks_talk_)
      return {fmt::format(
          "right for {} at {}{}, with these calls' launches under the schedules that were run: {}", inputs, sizes,
          if_state(),
          !breach.empty() ? breach : "its blocks exchange values; --prove explores orders of up to four blocks")};
    return {
        fmt::format("proved for {}: these calls' launches are right for {}, in every order of their blocks and warps{}",
                    sizes, inputs, if_state())};
  }

  /// Looks for the smallest case that fails the same way, and for its cause.
  void end_with_failure(std::unique_ptr<Trial> trial, Case which, TrialResult tried, CheckResult& result) {
    CallPosition position = submission_.calls_answered() <= 1 ? CallPosition::first : CallPosition::later;
    if (device_.is_virtual() && tried.failure->verdict == Verdict::fail && plan_.marks.empty()) {
      submission_.restart();  // one process at a time
      Shrinking shrinking(plan_, check_, device_, limit_, which.order, right_sizes_);
      const std::string id = tried.failure->cause.id;
      if (std::optional<Replayed> found = shrinking.smallest(which.n, id)) {
        if (std::optional<Replayed> larger = shrinking.with_elements(*found)) found = std::move(larger);
        if (found->which.n != which.n) trial = make_trial(plan_, check_, device_, found->which.n);
        which = found->which;
        tried = std::move(found->tried);
        position = which.repeat == 0 ? CallPosition::first : CallPosition::later;
        explain_by_more_elements(shrinking, which.n, tried);
        if (const std::string sizes = shrinking.meaning_of_sizes(); !sizes.empty()) explain_by_sizes(tried, sizes);
      } else {
        tried.failure->cause.next = again_command(plan_);  // this case alone is right
      }
    }
    if (device_.is_virtual() && tried.failure->verdict != Verdict::error)
      Cures(plan_, check_, device_, submission_).explain(tried, which);
    if (tried.is_wrong_output) {
      // What differs from call to call by itself says nothing about schedules, nor about what is left over.
      if (plan_.host_breach.empty())
        explain_by_other_runs(tried.failure->cause, submission_, *trial, device_, which, position);
      else
        tried.failure->cause.details.push_back("other calls may go another way: " + plan_.host_breach);
      if (!explain_by_provenance(*tried.failure, which))
        explain_by_writes(*tried.failure, tried, *trial, submission_, which);
      rename_finding(tried);
    }
    end(tried, result);
  }

  static bool names_first_wrong_addition(const std::string& detail) {
    return detail.find(first_wrong_addition) != std::string::npos;
  }

  /// Floats do not say what they are the sum of: the same call on elements that do.
  bool explain_by_provenance(Failure& failure, const Case& which) {
    if (!plan_.has_provenance || check_.element == ElementType::affine || has_count(check_.entry)) return false;
    submission_.restart();  // one process at a time
    CheckPlan named = check_;
    named.element = ElementType::affine;
    Submission submission(plan_, device_, named.element, limit_);
    const std::unique_ptr<Trial> trial = make_trial(plan_, named, device_, which.n);
    const TrialResult tried = trial->run(submission, which, Counting::off, hash_start);
    if (!tried.is_wrong_output || tried.failure->cause.id == "wrong.unwritten") return false;
    const Cause& seen = tried.failure->cause;
    const auto output = [](const Cause& cause) { return cause.actual.substr(0, cause.actual.find(']')); };
    const bool is_same = output(seen) == output(failure.cause);  // tiles of maps may be shorter
    const bool may_be_lost = seen.id == sum_not_stored &&
                             std::ranges::find(lost_sums_look_like, failure.cause.id) != lost_sums_look_like.end();
    if (may_be_lost) {
      failure.cause.id = seen.id;
      failure.cause.rationale = seen.rationale;
    } else if (seen.id == failure.cause.id && seen.fact.empty() && !failure.cause.fact.empty()) {
      failure.cause.rationale = (is_same ? "" : "with affine maps: ") + seen.rationale;
    } else if (seen.id == failure.cause.id && seen.id == "wrong.other")
      replace_explanation(failure.cause, seen.id, seen.rationale);
    failure.cause.where = seen.where;
    for (OutputRow& row : failure.cause.outputs) {
      const auto same = std::ranges::find(seen.outputs, row.i, &OutputRow::i);
      if (same == seen.outputs.end()) continue;
      row.sum = same->sum;
      row.expected_sum = same->expected_sum;
    }
    if (failure.cause.outputs.empty())
      failure.cause.details.push_back(fmt::format("summed up: {}, expected {}", seen.actual, seen.expected));
    for (const std::string& detail : seen.of_sums)
      if ((is_same || names_first_wrong_addition(detail)) && failure.cause.rationale.find(detail) == std::string::npos)
        failure.cause.details.push_back(detail);
    explain_by_writes(failure, tried, *trial, submission, which);
    return true;
  }

  /// Who has written the first wrong element of a trial's call, and whether it was right before: the call once more.
  void explain_by_writes(Failure& failure, const TrialResult& tried, Trial& trial, Submission& submission,
                         const Case& which) {
    if (!device_.is_virtual() || !tried.first_wrong) return;
    trial.watch(*tried.first_wrong);
    submission.restart();
    const TrialResult again = trial.run(submission, which, Counting::off, no_hash);
    if (!again.written) return;
    Cause& cause = failure.cause;
    const bool says_places_only = cause.id == "wrong.other" || cause.id == "wrong.first_element" ||
                                  cause.id == "wrong.last_element" || cause.id == "wrong.size";
    if (again.written->is_overwritten && (says_places_only || !again.written->where)) {
      std::erase_if(cause.details, names_first_wrong_addition);  // it was made there, and was right
      replace_explanation(cause, "wrong.overwritten", again.written->text);
      cause.where = again.written->where;
      return;
    }
    if (again.written->is_overwritten || !again.written->where) cause.details.push_back(again.written->text);
    const auto file = [](const std::string& path) { return std::filesystem::path(path).filename(); };
    const bool is_own = again.written->where && file(again.written->where->file) == file(plan_.source);
    if (is_own && (!cause.where || cause.where->line == 0)) cause.where = again.written->where;
  }

  void explain_by_more_elements(Shrinking& shrinking, std::size_t n, TrialResult& tried) const {
    const std::vector<std::string> unclear = causes_to_see_with_more_elements(check_.entry);
    Cause& cause = tried.failure->cause;
    const bool has_few_of_a_section =
        cause.id == "wrong.block_sums" && n % plan_.elements_of_a_section() <= few_elements;
    if (!tried.is_wrong_output || (n > few_elements && !has_few_of_a_section)) return;
    if (n == 1 && cause.id == "wrong.unwritten") {  // is that the first element, or are all like that?
      if (const std::optional<Replayed> found = shrinking.larger(n, {}))
        cause.rationale = found->tried.failure->cause.rationale;
      return;
    }
    if (std::ranges::find(unclear, cause.id) == unclear.end() && !has_few_of_a_section) return;
    if (const std::optional<Replayed> found = shrinking.larger(n, unclear)) {
      // What so few elements have shown fits other mistakes as well, and may be contradicted.
      const Cause& better = found->tried.failure->cause;
      if (better.rationale != cause.rationale)
        cause.rationale = fmt::format("with n = {}: {}", found->which.n, better.rationale);
      cause.id = better.id;
    }
  }

  /// What the sizes say is more than that some place is wrong, and less than a plain reason.
  static void explain_by_sizes(TrialResult& tried, const std::string& sizes) {
    Cause& cause = tried.failure->cause;
    const bool names_places_only = cause.id == "wrong.other" || cause.id == "wrong.unwritten";
    if (tried.is_wrong_output && names_places_only) {
      replace_explanation(cause, "wrong.size", sizes);
    } else {
      cause.details.push_back(sizes);
    }
  }

  /// The cause may have got another id since the finding was made.
  static void rename_finding(TrialResult& tried) {
    std::erase_if(tried.findings, [](const vgpu::Finding& finding) { return finding.id.starts_with("wrong."); });
    tried.findings.push_back(finding_of(tried.failure->cause));
    vgpu::sort_most_basic_first(tried.findings);
  }

  void add_findings(const TrialResult& tried, CheckResult& result) {
    for (const vgpu::Finding& finding : tried.findings) findings_.add(finding);
    result.findings_total += tried.findings_total - tried.findings.size();  // those that the trial has left out
  }

  void report_findings(CheckResult& result) const {
    result.findings = findings_.list();
    result.findings_total += findings_.total();
    vgpu::sort_most_basic_first(result.findings);
  }

  /// Calls that are right for names and made again for values, a check.
  static constexpr unsigned most_compared = 3;

  CountedCalls& counted_;
  TimeLimit limit_;
  Submission submission_;
  std::vector<Order> orders_;
  std::set<std::size_t> right_sizes_;  ///< under all schedules
  std::set<std::size_t> proved_sizes_;
  std::vector<vgpu::Breach> breaches_;  ///< of what a proof assumes, the first of each kind
  unsigned compared_ = 0;
  bool blocks_talk_ = false;
  std::optional<Explored> explored_;
  vgpu::FindingList findings_;
  std::uint64_t outputs_hash_ = hash_start;  ///< under the first schedule
};

}  // namespace

void check_correctness(const Plan& plan, const CheckPlan& check, Device& device, CountedCalls& counted,
                       CheckResult& result) {
  CorrectnessCheck(plan, check, device, counted).run(result);
}

}  // namespace scanlab::grade
