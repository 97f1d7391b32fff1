#include "autograder/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "autograder/correctness.hpp"
#include "autograder/counts.hpp"
#include "autograder/cuda_device.hpp"
#include "autograder/findings.hpp"
#include "autograder/runner_process.hpp"
#include "autograder/timing.hpp"
#include "autograder/virtual_device.hpp"

namespace scanlab::grade {

namespace {

Cause cause_of_error(const CheckPlan& check, const char* what) {
  Cause cause;
  cause.headline = fmt::format("{}: the kit failed", check.title);
  cause.rationale = what;
  cause.details = {"this is not the submission's fault"};
  return cause;
}

/// Skips a check that costs no points.
void set_not_run(const CheckPlan& check, CheckResult& result, const std::string& reason) {
  result.verdict = Verdict::skipped;
  result.max_points = 0;
  result.not_run_points = check.points;
  result.cause = Cause{};
  result.cause->headline = "not run: " + reason;
}

/// A check that did not pass has a finding first that says why: also one whose cause is no device's.
void settle_findings(const CheckPlan& check, CheckResult& result) {
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
    CheckResult result;
    result.name = check.name;
    result.title = check.title;
    set_not_run(check, result, "not among the checks that were asked for");
    results_.push_back(std::move(result));
  }
}

Device& Judge::device(const CheckPlan& check) {
  const bool is_virtual = plan_.device == Plan::Device::vgpu;
  const std::string& profile = is_virtual && !check.profile.empty() ? check.profile : plan_.profile;
  const Checking checking = is_virtual && is_watched(check) ? Checking::on : Checking::off;
  std::unique_ptr<Device>& device = devices_[{profile, checking}];
  if (!device) {
    device = is_virtual ? make_virtual_device(profile, plan_.limits.warp_instructions, checking) : make_cuda_device();
  }
  return *device;
}

bool Judge::is_ready(const CheckPlan& check, CheckResult& result) const {
  if (check.needs.empty()) return true;
  const auto needed =
      std::find_if(results_.begin(), results_.end(), [&](const CheckResult& r) { return r.name == check.needs; });
  if (needed->verdict == Verdict::pass) return true;
  result.verdict = Verdict::skipped;
  result.cause = Cause{};
  result.cause->headline = fmt::format("not run: it needs \"{}\", which did not pass", needed->title);
  return false;
}

std::string Judge::obstacle(const CheckPlan& check) const {
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
  if (const std::string reason = obstacle(check); !reason.empty()) {
    set_not_run(check, result, reason);
    return result;
  }
  result.points = 0;
  result.findings.clear();
  result.findings_total = 0;
  result.max_points = check.points;
  result.not_run_points = 0;
  result.cause.reset();
  const Clock::time_point start = Clock::now();
  try {
    if (is_ready(check, result)) perform(check, result);
  } catch (const std::exception& error) {
    result.verdict = Verdict::error;
    result.cause = cause_of_error(check, error.what());
  }
  compare_with_floats(check, result);
  settle_findings(check, result);
  if (result.verdict == Verdict::pass) result.points = result.max_points;
  if (result.verdict == Verdict::error) result.points = 0;
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

void Judge::compare_with_floats(const CheckPlan& check, CheckResult& result) const {
  constexpr std::array vague = {"wrong.other",        "wrong.block_sums",    "wrong.warp_sums",   "wrong.sections",
                                "wrong.last_element", "wrong.first_element", "wrong.last_section"};
  if (check.kind != CheckPlan::Kind::correctness || check.element != ElementType::affine || !result.cause) return;
  if (has_count(check.entry) || std::ranges::find(vague, result.cause->id) == vague.end()) return;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const CheckPlan& other = plan_.checks[i];
    if (other.kind != check.kind || other.element != ElementType::floats || other.entry != check.entry ||
        other.operation != check.operation || results_[i].verdict != Verdict::pass || other.sizes != check.sizes) {
      continue;
    }
    Cause& cause = *result.cause;
    std::erase_if(result.findings, [&](const vgpu::Finding& finding) { return finding.id == cause.id; });
    --result.findings_total;  // the same one under its new name is added with the cause
    cause.id = "wrong.operand_order";
    cause.details.insert(cause.details.begin(), std::move(cause.rationale));
    cause.rationale =
        "floats come out right and affine maps do not: the operands of an addition are swapped. Write earlier + later, "
        "with what is from further left on the left";
    return;
  }
}

void Judge::perform(const CheckPlan& check, CheckResult& result) {
  switch (check.kind) {
    case CheckPlan::Kind::correctness:
      return check_correctness(plan_, check, device(check), result);
    case CheckPlan::Kind::count:
      return check_count(plan_, check, device(check), result);
    case CheckPlan::Kind::timing:
      return check_timing(plan_, check, device(check), result);
  }
}

Result Judge::result() const {
  Result result;
  result.lab = plan_.lab;
  result.title = plan_.title;
  const auto usual =
      std::ranges::find_if(devices_, [&](const auto& device) { return device.first.first == plan_.profile; });
  result.device = usual != devices_.end()             ? usual->second->description()
                  : plan_.device == Plan::Device::gpu ? "GPU"
                                                      : "virtual GPU";
  result.seed = plan_.seed;
  result.checks = results_;
  return result;
}

}  // namespace scanlab::grade
