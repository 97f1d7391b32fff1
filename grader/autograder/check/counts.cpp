#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograder/check/checks.hpp"
#include "autograder/check/trial.hpp"
#include "autograder/hash.hpp"
#include "autograder/process/submission.hpp"
#include "vgpu/checks/cost/counters.hpp"

namespace scanlab::grade {

namespace {

/// Limits come from formulas, so a count equal to one must not fail by the last bit.
constexpr double slack = 1e-9;

std::string number(double value) {
  return std::floor(value) == value ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// Counts are whole: "at most 9217" for 9217.4.
std::string limits_text(const CheckPlan& check, const CountedCall& call) {
  const bool whole = !check.counter.ends_with("_efficiency");
  const auto most = [&] { return number(whole ? std::floor(*call.at_most + slack) : *call.at_most); };
  const auto least = [&] { return number(whole ? std::ceil(*call.at_least - slack) : *call.at_least); };
  if (call.at_most && call.at_least) {
    return least() == most() ? "exactly " + most() : fmt::format("{} to {}", least(), most());
  }
  return call.at_most ? "at most " + most() : "at least " + least();
}

/// The one cause that a number has by itself: it is a multiple of what it has to be.
std::string cause_of_multiple(double value, const CountedCall& call) {
  constexpr double most_threads = 1024;
  if (!call.at_most || call.at_least != call.at_most || *call.at_most < 2) return {};
  const double times = value / *call.at_most;
  if (times < 2 || times > most_threads || times != std::floor(times)) return {};
  return fmt::format("{} = {} * {}: as if {} threads did the same work, each all of it", number(value), number(times),
                     number(*call.at_most), number(times));
}

/// The lines that such a count is the sum of, by the id of their findings; empty: it is not reported by line.
std::string_view lines_of(std::string_view counter) {
  if (counter == "bank_conflict_replays") return "cost.bank_conflicts";
  if (counter == "global_sectors") return "cost.uncoalesced";
  if (counter == "barriers") return "cost.barrier";
  if (counter == "global_bytes" || counter == "global_requests" || counter == "busiest_block") return "cost.traffic";
  if (counter == "span") return "cost.chain";
  if (counter == "wasted_additions") return "cost.wasting";
  if (counter.ends_with("additions") || counter == "busiest_adder") return "cost.adding";
  return counter.ends_with("_efficiency") ? "cost.divergence" : "";
}

}  // namespace

void check_count(const Plan& plan, const CheckPlan& check, Device& device, const CountedCalls& counted,
                 CheckResult& result) {
  TimeLimit limit(plan.limits.seconds, device.counted_time());
  Submission submission(plan, device, check.element, limit);
  result.verdict = Verdict::pass;
  for (const CountedCall& call : check.calls) {
    const Case which{call.n, call.repeat, call.order, call.order};
    Counted made;
    const auto found = counted.find(call);
    const bool was_made = found != counted.end() && !found->second.counts.empty();
    if (!was_made) {
      const Counting what = counting_for(check.counter);
      TrialResult tried = make_trial(plan, check, device, call.n)->run(submission, which, what, no_hash);
      made = {what, std::move(tried.counts), std::move(tried.costs), std::move(tried.unfollowed)};
      if (tried.failure) {
        result.counts = std::move(made.counts);
        result.verdict = tried.failure->verdict;
        result.cause = std::move(tried.failure->cause);
        result.cause->details.insert(result.cause->details.begin(), "only the work of a right result is counted");
        return;
      }
    }
    const Counted& seen = was_made ? found->second : made;
    const auto count = std::ranges::find(seen.counts, check.counter, &std::pair<std::string, double>::first);
    const bool is_known = count != seen.counts.end();
    if (!is_known && seen.unfollowed.empty()) throw KitFault("the virtual GPU does not count " + check.counter);
    const double value = is_known ? count->second : 0;
    const double margin = slack * std::max(1.0, std::fabs(value));
    const bool is_too_much = call.at_most && value > *call.at_most + margin;
    const bool is_within = is_known && !is_too_much && (!call.at_least || value >= *call.at_least - margin);
    // What people read about a check that passes is the first call's.
    if (!result.counts || !is_within) {
      result.counts = seen.counts;
      result.limits = {call.n, call.at_least, call.at_most};
    }
    if (is_within) continue;

    result.verdict = Verdict::fail;
    Cause cause{.id = "cost." + check.counter,
                .headline = fmt::format("{} of {}{}, n = {}", check.counter, entry_name(check.entry),
                                        check.element == ElementType::affine ? " of affine maps" : "", call.n),
                .rationale = is_known ? std::string(trimmed(check.explain)) : seen.unfollowed,
                .expected = limits_text(check, call),
                .actual = fmt::format("{} = {}", check.counter, is_known ? number(value) : "not known"),
                .next = again_command(plan, call.n)};
    if (cause.rationale.empty()) {
      cause.rationale = is_too_much ? "the result is right, but it took more work than it should"
                                    : "the result is right, but this work is missing";
    }
    if (std::string multiple = is_known ? cause_of_multiple(value, call) : ""; !multiple.empty())
      cause.details.push_back(std::move(multiple));
    for (const vgpu::Finding& line : seen.costs) {
      if (line.id != lines_of(check.counter)) continue;
      cause.details.push_back(fmt::format("{}  {}", vgpu::place_text(line.parts.front().where), line.headline));
      result.findings.push_back(line);
      ++result.findings_total;
    }
    result.cause = std::move(cause);
    return;
  }
}

void check_places_of_fences(const Plan& plan, const CheckPlan& check, const CheckResult& host, CheckResult& result) {
  const auto lacking = std::ranges::find(host.findings, "fence.missing", &vgpu::Finding::id);
  if (result.verdict != Verdict::pass || lacking == host.findings.end()) return;
  const auto count = std::ranges::find(*result.counts, check.counter, &std::pair<std::string, double>::first);
  result.verdict = Verdict::fail;
  result.cause =
      Cause{.id = "cost." + check.counter,
            .headline = fmt::format("{} of {}, n = {}", check.counter, entry_name(check.entry), result.limits->n),
            .rationale = "there are as many fences as are needed, and one of them is not where it is needed",
            .expected = "a fence between value and flag on both sides",
            .actual = fmt::format("{} = {}", check.counter, number(count->second)),
            .next = again_command(plan, result.limits->n)};
}

}  // namespace scanlab::grade
