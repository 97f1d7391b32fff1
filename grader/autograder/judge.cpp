#include "autograder/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "autograder/cause.hpp"
#include "autograder/check/checks.hpp"
#include "autograder/check/trial.hpp"
#include "autograder/device/devices.hpp"
#include "autograder/process/runner_process.hpp"
#include "autograder/timing/timing.hpp"

namespace scanlab::grade {

namespace {

CheckResult empty_result(const CheckPlan& check) {
  CheckResult result;
  result.name = check.name;
  result.title = check.title;
  return result;
}

Cause not_run_cause(const std::string& reason) {
  return {.headline = "not run: " + reason};
}

/// Of a check that costs no points: they could not have been won here.
CheckResult not_run(const CheckPlan& check, const std::string& reason) {
  CheckResult result = empty_result(check);
  result.not_run_points = check.points;
  result.cause = not_run_cause(reason);
  return result;
}

/// A check that did not pass has a finding first that says why: also one whose cause no device has reported.
void put_cause_first_among_findings(const CheckPlan& check, CheckResult& result) {
  if (!result.cause || result.verdict == Verdict::skipped) return;
  if (result.cause->id.empty()) result.cause->id = check.kind == CheckPlan::Kind::timing ? "cost.time" : "kit";
  if (result.verdict == Verdict::error) return;
  if (!result.findings.empty() && result.findings.front().id == result.cause->id) return;
  result.findings.insert(result.findings.begin(), finding_of(*result.cause));
  ++result.findings_total;
}

/// Elements. Beyond it a check is about indices that become large: the same kernels have been watched at every smaller
/// size, and a right program whose threads all make fences would be stopped for the time that watching it takes.
constexpr std::size_t largest_watched = 1u << 21;

/// Are the kernels watched for mistakes? What is counted has no need of that.
bool is_watched(const CheckPlan& check) {
  return check.kind == CheckPlan::Kind::correctness && (check.sizes.empty() || check.sizes.back() <= largest_watched);
}

}  // namespace

Judge::Judge(Plan plan) : plan_(std::move(plan)) {
  adopt_orphans();
  for (const CheckPlan& check : plan_.checks) {
    results_.push_back(not_run(check, "not among the checks that were asked for"));
  }
}

Device& Judge::device(const CheckPlan& check) {
  const bool is_virtual = plan_.device == Plan::Device::vgpu;
  const std::string& profile = is_virtual && !check.profile.empty() ? check.profile : plan_.profile;
  const Checking checking = is_virtual && is_watched(check) ? Checking::on : Checking::off;
  const std::pair key{profile, checking};
  const auto known = devices_.find(key);
  if (known != devices_.end()) return *known->second;
  // Kept only once it is there: a machine may have no room for it.
  std::unique_ptr<Device> device =
      is_virtual ? make_virtual_device(profile, plan_.limits.warp_instructions, checking) : make_cuda_device();
  if (!plan_.device_code.empty()) device->replace_code(plan_.device_code);
  return *devices_.emplace(key, std::move(device)).first->second;
}

const CheckResult* Judge::missing_need(const CheckPlan& check) const {
  if (check.needs.empty()) return nullptr;
  const auto needed = std::ranges::find(results_, check.needs, &CheckResult::name);
  return needed->verdict == Verdict::pass ? nullptr : &*needed;
}

std::string Judge::reason_not_run_here(const CheckPlan& check) const {
  const bool is_gpu = plan_.device == Plan::Device::gpu;
  switch (check.kind) {
    case CheckPlan::Kind::correctness:
      return {};
    case CheckPlan::Kind::count:
      return is_gpu ? "counted on the virtual GPU only" : "";
    case CheckPlan::Kind::timing:
      if (!is_gpu) return "no GPU";
      return plan_.reference.contains(name_of(check.element)) ? "" : "no reference solution here";
  }
  return {};
}

const CheckResult& Judge::run(std::size_t i) {
  const CheckPlan& check = plan_.checks.at(i);
  CheckResult& result = results_.at(i);
  if (const std::string reason = reason_not_run_here(check); !reason.empty()) {
    result = not_run(check, reason);
    return result;
  }
  result = empty_result(check);
  result.max_points = check.points;
  const Clock::time_point start = Clock::now();
  try {
    if (const CheckResult* needed = missing_need(check)) {
      result.cause = not_run_cause(fmt::format("it needs \"{}\", which did not pass", needed->title));
    } else {
      perform(check, result);
    }
  } catch (const std::exception& error) {
    result.verdict = Verdict::error;
    result.cause = Cause{.headline = fmt::format("{}: the kit failed", check.title),
                         .rationale = error.what(),
                         .details = {"this is not the submission's fault"}};
  }
  put_cause_first_among_findings(check, result);
  if (result.verdict == Verdict::pass) result.points = result.max_points;
  if (result.verdict == Verdict::error) result.points = 0;
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

CountedCalls& Judge::counted_in(const CheckPlan& check) {
  CountedCalls& calls = counted_[check.name];
  calls.clear();
  for (const CheckPlan& other : plan_.checks) {
    if (other.among != check.name) continue;
    for (const CountedCall& call : other.calls)
      calls[call].what = std::max(calls[call].what, counting_for(other.counter));
  }
  for (const CheckPlan& work : check.work)
    for (const CountedCall& call : work.calls)
      calls[call].what = std::max(calls[call].what, counting_for(work.counter));
  return calls;
}

void Judge::perform(const CheckPlan& check, CheckResult& result) {
  switch (check.kind) {
    case CheckPlan::Kind::correctness:
      check_correctness(plan_, check, device(check), counted_in(check), result);
      for (const CheckPlan& work : check.work) check_work(check, work, result);
      return;
    case CheckPlan::Kind::count:
      check_count(plan_, check, device(check), counted_[check.among], result);
      if (check.counter == "fences" && !check.among.empty())
        check_places_of_fences(plan_, check, *std::ranges::find(results_, check.among, &CheckResult::name), result);
      return;
    case CheckPlan::Kind::timing:
      return check_timing(plan_, check, device(check), result);
  }
}

void Judge::check_work(const CheckPlan& host, const CheckPlan& work, CheckResult& result) {
  if (result.verdict != Verdict::pass || plan_.device != Plan::Device::vgpu || !plan_.trail.empty()) return;
  CheckResult counted = empty_result(work);
  check_count(plan_, work, device(host), counted_[host.name], counted);
  if (counted.verdict == Verdict::pass) return;
  result.verdict = counted.verdict;
  result.cause = std::move(counted.cause);
  result.findings.insert(result.findings.begin(), counted.findings.begin(), counted.findings.end());
  result.findings_total += counted.findings_total;
}

Result Judge::result() const {
  Result result;
  const auto usual =
      std::ranges::find_if(devices_, [&](const auto& device) { return device.first.first == plan_.profile; });
  result.device = usual != devices_.end()             ? usual->second->description()
                  : plan_.device == Plan::Device::gpu ? "GPU"
                                                      : "virtual GPU";
  result.checks = results_;
  return result;
}

}  // namespace scanlab::grade
