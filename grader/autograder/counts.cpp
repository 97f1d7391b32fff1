#include "autograder/counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograder/hash.hpp"
#include "autograder/submission.hpp"
#include "autograder/trial.hpp"
#include "vgpu/checks/counters.hpp"

namespace scanlab::grade {

namespace {

/// Limits come from formulas, so a count equal to one must not fail by the last bit.
constexpr double slack = 1e-9;

std::string number(double value) {
  return std::floor(value) == value ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// Counts are whole: "at most 9217" for 9217.4.
std::string limits_text(const CheckPlan& check) {
  const bool whole = !check.counter.ends_with("_efficiency");
  const auto most = [&] { return number(whole ? std::floor(*check.at_most + slack) : *check.at_most); };
  const auto least = [&] { return number(whole ? std::ceil(*check.at_least - slack) : *check.at_least); };
  if (check.at_most && check.at_least) {
    return least() == most() ? "exactly " + most() : fmt::format("{} to {}", least(), most());
  }
  return check.at_most ? "at most " + most() : "at least " + least();
}

/// Blocks wait for each other where they run side by side.
constexpr std::string_view chained_waits = "chained_waits";

vgpu::Schedule::Order schedule_of(std::string_view counter) {
  return counter == chained_waits ? vgpu::Schedule::Order::random : vgpu::Schedule::Order::lockstep;
}

/// The lines that such a count is the sum of, by the id of their findings; empty: it is not told by line.
std::string_view lines_of(std::string_view counter) {
  if (counter == "bank_conflict_replays") return "cost.bank_conflicts";
  if (counter == "global_sectors") return "cost.uncoalesced";
  if (counter == "barriers") return "cost.barrier";
  return counter.ends_with("_efficiency") ? "cost.divergence" : "";
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n\t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n\t") + 1 - first);
}

}  // namespace

bool is_counter(std::string_view name) {
  if (name == chained_waits || name == "host_copies") return true;  // which Counts has not: see virtual_device.cpp
  const auto counts = vgpu::Counts().named();
  return std::any_of(counts.begin(), counts.end(), [&](const auto& count) { return count.first == name; });
}

void check_count(const Plan& plan, const CheckPlan& check, Device& device, CheckResult& result) {
  TimeLimit limit(plan.limits.seconds, device.counted_time());
  Submission submission(plan, device, check.element, limit);
  const std::unique_ptr<Trial> trial = make_trial(plan, check, device, check.n);
  const Case which{check.n, 0, vgpu::Schedule::Order::in_order, schedule_of(check.counter)};
  TrialResult tried = trial->run(submission, which, Counting::on, hash_start);
  result.counts = std::move(tried.counts);
  if (tried.failure) {
    result.verdict = tried.failure->verdict;
    result.cause = std::move(tried.failure->cause);
    result.cause->details.insert(result.cause->details.begin(), "only the work of a right result is counted");
    return;
  }

  const auto counted = std::find_if(result.counts->begin(), result.counts->end(),
                                    [&](const auto& count) { return count.first == check.counter; });
  if (counted == result.counts->end()) throw KitFault("the virtual GPU does not count " + check.counter);
  const double value = counted->second;
  const double margin = slack * std::max(1.0, std::fabs(value));
  const bool ok =
      (!check.at_most || value <= *check.at_most + margin) && (!check.at_least || value >= *check.at_least - margin);
  if (ok) {
    result.verdict = Verdict::pass;
    return;
  }
  result.verdict = Verdict::fail;
  Cause cause;
  cause.id = "cost." + check.counter;
  cause.headline = fmt::format("{} of {}, n = {}", check.counter, entry_name(check.entry), check.n);
  cause.actual = fmt::format("{} = {}", check.counter, number(value));
  cause.expected = limits_text(check);
  cause.rationale = std::string(trimmed(check.explain));
  if (cause.rationale.empty()) {
    cause.rationale = check.at_most && value > *check.at_most
                          ? "the result is right, but it took more work than it should"
                          : "the result is right, but this work is missing";
  }
  for (vgpu::Finding& line : tried.costs) {
    if (line.id != lines_of(check.counter)) continue;
    cause.details.push_back(fmt::format("{}  {}", vgpu::place_text(line.parts.front().where), line.headline));
    result.findings.push_back(std::move(line));
    ++result.findings_total;
  }
  cause.next = again_command(plan, device, which);
  result.cause = std::move(cause);
}

}  // namespace scanlab::grade
