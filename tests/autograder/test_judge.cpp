// What a judge does not run, and what that costs.
#include <catch2/catch_test_macros.hpp>

#include "autograder/judge.hpp"

using namespace scanlab::grade;

namespace {

CheckPlan check_of(CheckPlan::Kind kind, const char* name, double points) {
  CheckPlan check;
  check.name = check.title = name;
  check.kind = kind;
  check.points = points;
  check.sizes = {1};
  check.schedules = {scanlab::vgpu::Schedule::Order::in_order};
  return check;
}

Plan plan_for(Plan::Device device) {
  Plan plan;
  plan.device = device;
  plan.runners = {{"float", "/nonexistent/runner"}};
  plan.reference = {{"float", "/nonexistent/reference"}};
  plan.checks = {check_of(CheckPlan::Kind::correctness, "inclusive", 55),
                 check_of(CheckPlan::Kind::count, "additions", 45), check_of(CheckPlan::Kind::timing, "speed", 15)};
  plan.checks[1].needs = plan.checks[2].needs = "inclusive";
  return plan;
}

void check_not_run(const CheckResult& result, double points, const char* headline) {
  CHECK(result.verdict == Verdict::skipped);
  CHECK(result.points == 0);
  CHECK(result.max_points == 0);
  CHECK(result.not_run_points == points);
  REQUIRE(result.cause);
  CHECK(result.cause->headline == headline);
}

}  // namespace

TEST_CASE("without a GPU nothing is timed, and no points are lost", "[judge]") {
  Judge judge(plan_for(Plan::Device::vgpu));
  check_not_run(judge.run(2), 15, "not run: no GPU");
}

TEST_CASE("on a GPU nothing is counted, and no points are lost", "[judge]") {
  Judge judge(plan_for(Plan::Device::gpu));
  check_not_run(judge.run(1), 45, "not run: counted on the virtual GPU only");
}

TEST_CASE("without the reference solution nothing is timed, and no points are lost", "[judge]") {
  Plan plan = plan_for(Plan::Device::gpu);
  plan.reference.clear();
  Judge judge(plan);
  check_not_run(judge.run(2), 15, "not run: no reference solution here");
}

TEST_CASE("a check whose need is not met costs its points", "[judge]") {
  Judge judge(plan_for(Plan::Device::gpu));
  const CheckResult& result = judge.run(2);  // "inclusive" has not run
  CHECK(result.verdict == Verdict::skipped);
  CHECK(result.max_points == 15);
  CHECK(result.not_run_points == 0);
}

TEST_CASE("what was not asked for is not run", "[judge]") {
  Judge judge(plan_for(Plan::Device::vgpu));
  judge.run(2);
  const Result result = judge.result();
  for (const CheckResult& check : result.checks) CHECK(check.max_points == 0);
  check_not_run(result.checks[0], 55, "not run: not among the checks that were asked for");
}

TEST_CASE("a device that cannot be made is the kit's fault, and the result says so", "[judge]") {
  Plan plan = plan_for(Plan::Device::vgpu);
  plan.profile = "none of this name";
  Judge judge(plan);
  CHECK(judge.run(0).verdict == Verdict::error);
  const Result result = judge.result();
  CHECK(result.device == "virtual GPU");
  CHECK(result.checks[0].verdict == Verdict::error);
}
