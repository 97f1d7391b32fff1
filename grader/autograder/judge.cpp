#include "autograder/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "autograder/correctness.hpp"
#include "autograder/counts.hpp"
#include "autograder/cuda_device.hpp"
#include "autograder/runner_process.hpp"
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

}  // namespace

Judge::Judge(Plan plan) : plan_(std::move(plan)) {
  adopt_orphans();
  for (const CheckPlan& check : plan_.checks) {
    CheckResult result;
    result.name = check.name;
    result.title = check.title;
    result.cause = Cause{};
    result.cause->headline = "not run: not among the checks that were asked for";
    results_.push_back(std::move(result));
  }
}

Device& Judge::device(const CheckPlan& check) {
  const bool is_virtual = plan_.device == Plan::Device::vgpu;
  const std::string& profile = is_virtual && !check.profile.empty() ? check.profile : plan_.profile;
  std::unique_ptr<Device>& device = devices_[profile];
  if (!device) {
    device = is_virtual ? make_virtual_device(profile, plan_.limits.warp_instructions) : make_cuda_device();
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

const CheckResult& Judge::run(std::size_t i) {
  const CheckPlan& check = plan_.checks.at(i);
  CheckResult& result = results_.at(i);
  const bool is_counted_here = plan_.device == Plan::Device::vgpu;  // points that nobody can win must not be missed
  result.max_points = check.kind == CheckPlan::Kind::count && !is_counted_here ? 0 : check.points;
  result.cause.reset();
  const Clock::time_point start = Clock::now();
  try {
    if (is_ready(check, result)) perform(check, result);
  } catch (const std::exception& error) {
    result.verdict = Verdict::error;
    result.cause = cause_of_error(check, error.what());
  }
  result.points = result.verdict == Verdict::pass ? result.max_points : 0;
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

void Judge::perform(const CheckPlan& check, CheckResult& result) {
  switch (check.kind) {
    case CheckPlan::Kind::correctness:
      return check_correctness(plan_, check, device(check), result);
    case CheckPlan::Kind::count:
      return check_count(plan_, check, device(check), result);
  }
}

Result Judge::result() const {
  Result result;
  result.lab = plan_.lab;
  result.title = plan_.title;
  const auto usual = devices_.find(plan_.profile);
  result.device = usual != devices_.end()             ? usual->second->description()
                  : plan_.device == Plan::Device::gpu ? "GPU"
                                                      : "virtual GPU";
  result.seed = plan_.seed;
  result.checks = results_;
  return result;
}

}  // namespace scanlab::grade
