// The judge with real runner processes: behaviours.cpp on shared host memory.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "autograder/check/checks.hpp"
#include "autograder/process/runner_process.hpp"
#include "check_fails.hpp"
#include "host_device.hpp"

using namespace scanlab::grade;
using Catch::Matchers::ContainsSubstring;

namespace {

Plan make_plan() {
  Plan plan = plan_of_runner(TEST_RUNNER_FLOAT, 5, {0, 1, 2, 33, 1024, 1025});
  plan.runners["affine"] = TEST_RUNNER_AFFINE;
  plan.checks[0].schedules.push_back(scanlab::vgpu::Schedule::Order::reversed);
  plan.checks[0].repeats = 2;
  return plan;
}

CheckResult judge(const char* behaviour, const Plan& plan = make_plan(), Pretend pretend = Pretend::virtual_gpu,
                  std::vector<scanlab::vgpu::Finding> findings = {}) {
  setenv("BEHAVIOUR", behaviour, 1);
  const std::unique_ptr<Device> device = make_host_device(pretend, {}, std::move(findings));
  CheckResult result;
  result.max_points = plan.checks[0].points;
  CountedCalls counted;
  plan.checks[0].kind == CheckPlan::Kind::correctness
      ? check_correctness(plan, plan.checks[0], *device, counted, result)
      : check_count(plan, plan.checks[0], *device, counted, result);
  return result;
}

/// Children of this process that still run.
std::size_t children_left() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (int pid; file >> pid;) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a right submission passes, with the same outputs on both kinds of device", "[judging]") {
  const CheckResult on_virtual = judge("right");
  INFO((on_virtual.cause ? to_text(*on_virtual.cause) : ""));
  CHECK(on_virtual.verdict == Verdict::pass);
  CHECK_FALSE(on_virtual.cause);
  const CheckResult on_gpu = judge("right", make_plan(), Pretend::gpu);
  CHECK(on_gpu.verdict == Verdict::pass);
  REQUIRE(on_virtual.output_hash);
  CHECK(on_virtual.output_hash == on_gpu.output_hash);
}

TEST_CASE("the thread of a wrong element is one that the block has", "[judging]") {
  Plan plan = make_plan();
  plan.section = 2048;  // "right" starts again at y[1024]
  plan.checks[0].sizes = {2000};
  CheckResult result = judge("right", plan);
  REQUIRE((result.cause && result.cause->where && result.cause->where->thread));
  CHECK((*result.cause->where->thread)[0] == 1024);
  plan.block_size = 1000;
  result = judge("right", plan);
  REQUIRE((result.cause && result.cause->where && result.cause->where->thread));
  CHECK((*result.cause->where->thread)[0] == 24);
}

TEST_CASE("affine maps are judged by their own runner", "[judging]") {
  Plan plan = make_plan();
  plan.checks[0].element = ElementType::affine;
  CHECK(judge("right", plan).verdict == Verdict::pass);
  check_fails(judge("carries", plan), "from one section into the next");
}

TEST_CASE("a wrong result is reported with its place, values and the next command", "[judging]") {
  const CheckResult result = judge("carries");
  REQUIRE(result.verdict == Verdict::fail);
  CHECK(result.cause->headline == "inclusive scan of floats, n = 1025, seed 7, schedule in_order");
  CHECK_THAT(result.cause->actual, ContainsSubstring("y[1024] = "));
  REQUIRE(result.cause->where);
  CHECK(*result.cause->where->block == std::array<std::uint64_t, 3>{1, 0, 0});
  CHECK(*result.cause->where->thread == std::array<std::uint64_t, 3>{0, 0, 0});
  CHECK(result.cause->next == "grader/scanlab check 02 --n 1025 --seed 7 --schedule in_order");
}

TEST_CASE("an entry that does not exist is named", "[judging]") {
  Plan plan = make_plan();
  plan.checks[0].entry = Operation::exclusive;
  check_fails(judge("right", plan), "there is no function exclusive_scan(const Element* d_x");
}

TEST_CASE("a program that ends early fails, whatever its exit code", "[judging]") {
  check_fails(judge("exit0"), "exit code 0 in inclusive_scan");
  check_fails(judge("early_exit"), "before it was asked to do anything");
  check_fails(judge("crash"), "segmentation fault");
}

TEST_CASE("a program that does not answer is a timeout, which says what has run out", "[judging]") {
  adopt_orphans();
  Plan plan = make_plan();
  plan.limits.seconds = 0.3;
  for (const char* behaviour : {"hang", "hang_in_child", "hang_in_orphan"}) {
    INFO(behaviour);
    std::string why;
    // On a busy machine the clock may come first.
    for (int k = 0; k < 5 && why.find("processor time") == std::string::npos; ++k) {
      const CheckResult result = judge(behaviour, plan);
      CHECK(result.verdict == Verdict::timeout);
      why = result.cause->rationale;
    }
    CHECK_THAT(why, ContainsSubstring("no answer within 0.3 s of processor time (in"));
  }
  for (const char* behaviour : {"waits", "early_hang"}) {
    INFO(behaviour);
    const Clock::time_point start = Clock::now();
    const CheckResult result = judge(behaviour, plan);
    CHECK(result.verdict == Verdict::timeout);
    CHECK_THAT(result.cause->rationale, ContainsSubstring("no answer within 1.2 s by the clock"));
    CHECK(Clock::now() - start >= std::chrono::milliseconds(1200));
    CHECK(Clock::now() - start < std::chrono::seconds(6));
  }
}

TEST_CASE("on a GPU the clock counts", "[judging]") {
  Plan plan = make_plan();
  plan.limits.seconds = 0.2;
  const CheckResult result = judge("waits", plan, Pretend::gpu);
  CHECK(result.verdict == Verdict::timeout);
  CHECK_THAT(result.cause->rationale, ContainsSubstring("no answer within 0.2 s by the clock"));
}

TEST_CASE("a machine that others slow down does not cause a timeout", "[judging]") {
  Plan plan = make_plan();  // as if it had no processor for most of its time: it sleeps
  plan.limits.seconds = 0.3;
  plan.checks[0].sizes = {33};
  const Clock::time_point start = Clock::now();
  CHECK(judge("slow", plan).verdict == Verdict::pass);
  CHECK(Clock::now() - start > std::chrono::milliseconds(300));
}

TEST_CASE("on a GPU a runner that cannot open the judge's memory is believed when the kit's own cannot, either",
          "[judging]") {
  Plan plan = make_plan();
  plan.honest_runner = HONEST_RUNNER;
  const CheckResult lie = judge("claims_no_memory", plan, Pretend::gpu);
  CHECK(lie.verdict == Verdict::fail);
  CHECK(lie.cause->id == "runner.changed");
  const CheckResult truth = judge("no_memory", plan, Pretend::gpu);
  CHECK(truth.verdict == Verdict::error);
  CHECK(truth.cause->id == "kit");
}

TEST_CASE("output is bounded and never a verdict", "[judging]") {
  CheckResult result = judge("flood");
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.cause->rationale, ContainsSubstring("printed more than 4096 bytes in one call"));
  CHECK(result.cause->details.size() <= 12);
  result = judge("prints");
  CHECK(result.verdict == Verdict::pass);
  REQUIRE_FALSE(result.printed.empty());
  CHECK(result.printed.size() <= 10);
  CHECK_THAT(result.printed.front(), ContainsSubstring("hello from n = "));
  CHECK(result.printed[1] == "PASS 100 points");
  CHECK(judge("right").printed.empty());
  result = judge("prints_wrong");
  CHECK(result.verdict == Verdict::fail);
  CHECK(std::count(result.cause->details.begin(), result.cause->details.end(), "  PASS 100 points") > 0);
}

TEST_CASE("a changed input and a write beyond the output fail", "[judging]") {
  CheckResult result = judge("input");
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.cause->rationale, ContainsSubstring("the input was changed"));
  CHECK(result.cause->headline == "inclusive scan of floats, n = 2, seed 7, schedule in_order");
  check_fails(judge("beyond"), "a write outside d_y");
}

TEST_CASE("what an earlier call has left behind is distinguished from a plain mistake", "[judging]") {
  check_fails(judge("leftover"), "left over from an earlier call");
}

TEST_CASE("a large size is called once under each schedule", "[judging]") {
  Plan plan = make_plan();
  plan.checks[0].sizes = {1000, 1500};
  plan.checks[0].schedules = {scanlab::vgpu::Schedule::Order::in_order};
  const auto verdict = [&](std::size_t repeated_up_to) {
    plan.checks[0].repeated_up_to = repeated_up_to;
    return judge("leftover", plan).verdict;  // the fourth call is wrong
  };
  CHECK(verdict(1500) == Verdict::fail);
  CHECK(verdict(1499) == Verdict::pass);
  plan.checks[0].schedules.push_back(scanlab::vgpu::Schedule::Order::reversed);
  CHECK(verdict(999) == Verdict::fail);
  plan.checks[0].sizes = {1500};
  CHECK(verdict(1500) == Verdict::fail);
  CHECK(verdict(999) == Verdict::pass);
  plan.checks[0].extra = {{1500, scanlab::vgpu::Schedule::Order::random, 0}};
  CHECK(verdict(999) == Verdict::pass);
  plan.checks[0].sizes = {1400, 1500};  // and what is beside them
  CHECK(verdict(999) == Verdict::fail);
}

TEST_CASE("what grows from call to call is not taken for another schedule's result", "[judging]") {
  const CheckResult result = judge("grows");
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.cause->rationale, !ContainsSubstring("schedules"));
}

TEST_CASE("rounding that differs from run to run is not taken for a race", "[judging]") {
  for (const Pretend pretend : {Pretend::virtual_gpu, Pretend::gpu}) {
    const CheckResult result = judge("rounds", make_plan(), pretend);
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.cause->headline.starts_with("inclusive scan of floats, n = 1024, seed 7"));
    CHECK_THAT(result.cause->rationale, ContainsSubstring("y[500] are right"));
  }
}

TEST_CASE("a CUDA error is reported with its meaning", "[judging]") {
  check_fails(judge("error"), "cudaErrorIllegalAddress: a thread read or wrote memory outside");
}

TEST_CASE("a runner that writes nonsense to the judge fails", "[judging]") {
  CHECK(judge("garbles").verdict == Verdict::fail);
}

TEST_CASE("no process is left, not even one that has left its group", "[judging]") {
  adopt_orphans();
  CHECK(judge("stray").verdict == Verdict::pass);
  CHECK(children_left() == 0);
}

TEST_CASE("a runner that cannot be started is the kit's fault", "[judging]") {
  Plan plan = make_plan();
  plan.runners["float"] = "/nonexistent/runner";
  CHECK_THROWS_AS(judge("right", plan), KitFault);
}

TEST_CASE("a compaction is judged by its elements and their number", "[judging]") {
  Plan plan = make_plan();
  plan.section = 0;
  plan.checks[0].entry = plan.checks[0].operation = Operation::compact;
  for (const ElementType element : {ElementType::float_, ElementType::affine}) {
    plan.checks[0].element = element;
    CHECK(judge("right", plan).verdict == Verdict::pass);
    CHECK(judge("backwards", plan).verdict == Verdict::fail);
  }
  const CheckResult garbage = judge("leaves_garbage", plan);  // after the kept elements, where nothing is compared
  CHECK(garbage.verdict == Verdict::pass);
  CHECK(garbage.output_hash == judge("right", plan, Pretend::gpu).output_hash);

  CheckResult result = judge("count_left_out", plan);
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.cause->headline == "compaction of affine maps, n = 0, seed 7, schedule in_order");
  CHECK(result.cause->actual == "*d_kept = unwritten");
  CHECK(result.cause->expected == "0");
  check_fails(judge("counts_all", plan), "the number of all elements");
  check_fails(judge("beyond_count", plan), "a write outside d_kept");
}

TEST_CASE("a missing entry is named with its parameters", "[judging]") {
  Plan plan = make_plan();
  plan.checks[0].entry = plan.checks[0].operation = Operation::exclusive;
  const CheckResult result = judge("right", plan);
  CHECK(result.verdict == Verdict::fail);
  REQUIRE(result.cause);
  CHECK_THAT(result.cause->rationale, ContainsSubstring("exclusive_scan(const Element* d_x, Element* d_y, int n)"));
  CHECK(parameters_of(Operation::split) == std::string("const Element* d_x, Element* d_y, int* d_kept, int n"));
}

TEST_CASE("counts are compared with their limits, once the result is right", "[judging]") {
  Plan plan = make_plan();
  CheckPlan& check = plan.checks[0];
  check.kind = CheckPlan::Kind::count;
  check.calls = {CountedCall{{1024}, 1023, 1023}};
  check.counter = "additions";
  check.explain = "\nadditions are counted\n";
  CHECK(judge("right", plan).verdict == Verdict::pass);

  check.calls[0].at_most = 1022.5;
  check.calls[0].at_least = std::nullopt;
  CheckResult result = judge("right", plan);
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.cause->actual == "additions = 1023");
  CHECK(result.cause->expected == "at most 1022");
  CHECK(result.cause->rationale == "additions are counted");
  REQUIRE(result.counts);
  CHECK(result.counts->front().second == 1023);

  CHECK(result.cause->details.empty());  // additions are not reported by line

  check.counter = "barriers";
  result = judge("right", plan);
  CHECK(result.verdict == Verdict::pass);
  check.calls[0].at_most = 20;
  result = judge("right", plan);
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.cause->details == std::vector<std::string>{"scan.cu:7  this line"});
  REQUIRE(result.findings.size() == 1);  // the judge puts the cause before it
  CHECK(result.findings[0].id == "cost.barrier");

  check.calls = {CountedCall{{1024}, 1e6, 0}, CountedCall{{2048}, 20, 0}};  // each call has to keep its limits
  result = judge("right", plan);
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.cause->headline == "barriers of inclusive_scan, n = 2048");
  CHECK(result.cause->next == "grader/scanlab check 02 --n 2048 --seed 7");
  REQUIRE(result.limits);
  CHECK(result.limits->n == 2048);

  result = judge("prints_wrong", plan);
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.cause->details.front(), ContainsSubstring("only the work of a right result"));
}

TEST_CASE("calls are counted among those of a correctness check", "[judging]") {
  Plan plan = make_plan();
  using Order = scanlab::vgpu::Schedule::Order;
  plan.checks[0].extra = {{77, Order::lockstep}};
  setenv("BEHAVIOUR", "right", 1);
  const std::unique_ptr<Device> device = make_host_device(Pretend::virtual_gpu);
  const PlannedCall own{1024, Order::reversed, 1}, extra{77, Order::lockstep, 0}, never{4711, Order::lockstep, 0};
  CountedCalls counted = {{own, {}}, {extra, {}}, {never, {}}};
  CheckResult result;
  check_correctness(plan, plan.checks[0], *device, counted, result);
  CHECK(result.verdict == Verdict::pass);
  CHECK_FALSE(counted[own].counts.empty());
  CHECK_FALSE(counted[extra].counts.empty());
  CHECK(counted[never].counts.empty());

  // What a count looks at is what was counted there, and no other call.
  CheckPlan count = plan.checks[0];
  count.kind = CheckPlan::Kind::count;
  count.counter = "additions";
  count.calls = {CountedCall{own, 1, std::nullopt}};
  counted[own].counts = {{"additions", 1}};
  CheckResult found;
  check_count(plan, count, *device, counted, found);
  CHECK(found.verdict == Verdict::pass);
  counted[own].counts = {{"additions", 2}};
  check_count(plan, count, *device, counted, found);
  CHECK(found.verdict == Verdict::fail);
}

TEST_CASE("as many fences as are needed are too few where one is missing", "[judging]") {
  const Plan plan = make_plan();
  CheckPlan count = plan.checks[0];
  count.counter = "fences";
  CheckResult host, within;
  within.verdict = Verdict::pass;
  within.counts = {{"fences", 51}};
  within.limits = {77, 48, std::nullopt};
  CheckResult result = within;
  check_places_of_fences(plan, count, host, result);
  CHECK(result.verdict == Verdict::pass);
  host.findings.emplace_back().id = "fence.missing";
  check_places_of_fences(plan, count, host, result);
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.cause->id == "cost.fences");
  CHECK_THAT(result.cause->rationale, ContainsSubstring("not where it is needed"));
  CheckResult too_few = within;  // has its own cause
  too_few.verdict = Verdict::fail;
  check_places_of_fences(plan, count, host, too_few);
  CHECK_FALSE(too_few.cause);
}

TEST_CASE("every way to fail has an id", "[judging]") {
  const std::pair<const char*, const char*> expected[] = {
      {"carries", "wrong.sections"},
      {"exit0", "crash.exit"},
      {"crash", "crash.host"},
      {"null", "crash.host"},
      {"device_pointer", "host_pointer"},
      {"flood", "output.flood"},
      {"input", "input.changed"},
      {"beyond", "bounds.global"},
      {"leftover", "wrong.stale_scratch"},
      {"error", "cuda.error"},
      {"garbles", "runner.changed"},
  };
  for (const auto& [behaviour, id] : expected) {
    INFO(behaviour);
    const CheckResult result = judge(behaviour);
    REQUIRE(result.cause);
    CHECK(result.cause->id == id);
    REQUIRE_FALSE(result.findings.empty());
    CHECK(result.findings.front().id == id);
    CHECK(result.findings_total == 1);
  }
  Plan plan = make_plan();
  plan.limits.seconds = 0.3;
  CHECK(judge("hang", plan).cause->id == "endless");
  plan.checks[0].entry = Operation::exclusive;
  CHECK(judge("right", plan).cause->id == "entry.missing");
}

TEST_CASE("a crash on the host says which pointer it was", "[judging]") {
  CHECK_THAT(judge("null").cause->rationale, ContainsSubstring("a null pointer (in inclusive_scan)"));
  CHECK_THAT(judge("device_pointer").cause->rationale, ContainsSubstring("which is device memory"));
}

TEST_CASE("a failure is shrunk to the smallest size, and its command shows the same", "[judging]") {
  const CheckResult result = judge("from_40");
  REQUIRE(result.verdict == Verdict::fail);
  CHECK(result.cause->headline == "inclusive scan of floats, n = 40, seed 7, schedule in_order");
  CHECK(result.cause->next == "grader/scanlab check 02 --n 40 --seed 7 --schedule in_order");

  Plan again = make_plan();  // what that command makes of the plan
  again.checks[0].sizes = {40};
  again.checks[0].schedules = {scanlab::vgpu::Schedule::Order::in_order};
  const CheckResult replayed = judge("from_40", again);
  REQUIRE(replayed.cause);
  CHECK(replayed.cause->id == result.cause->id);
  CHECK(to_text(*replayed.cause) == to_text(*result.cause));
}

TEST_CASE("what fails only after other calls comes with the advice to check it as a whole", "[judging]") {
  const CheckResult result = judge("leftover");
  REQUIRE(result.cause);
  CHECK(result.cause->next == "grader/scanlab check 02 --seed 7");
}

TEST_CASE("that a program is right for whole sections only is reported", "[judging]") {
  const CheckResult result = judge("whole_sections");
  REQUIRE(result.cause);
  const std::string text = to_text(*result.cause);
  CHECK_THAT(text, ContainsSubstring("right for n = 1024 and 2048, wrong for n = 1"));
  CHECK_THAT(text, ContainsSubstring("only whole sections come out right, of 1024 elements"));
  CHECK_THAT(to_text(*judge("from_40").cause), !ContainsSubstring("only whole"));
}

TEST_CASE("a mistake fails a check whose output is right; advice does not", "[judging]") {
  scanlab::vgpu::Finding race;
  race.id = "race.shared";
  race.headline = "RACE (write-after-read): shared s_xy[5], kernel k, block 0";
  race.kernel = "k";
  race.advice = "no barrier separates them";
  scanlab::vgpu::Finding::Part part;
  part.does = "read";
  part.where = {"scan.cu", 31, 1, {}};
  part.has_thread = true;
  race.parts = {part};
  const auto has_detail = [](const CheckResult& result, const char* text) {
    return std::ranges::any_of(result.cause->details,
                               [&](const std::string& detail) { return detail.starts_with(text); });
  };

  CheckResult result = judge("right", make_plan(), Pretend::virtual_gpu, {race});
  REQUIRE(result.verdict == Verdict::fail);
  CHECK(result.cause->id == "race.shared");
  CHECK(result.cause->actual == race.headline);
  CHECK(result.cause->rationale == race.advice);
  CHECK(result.cause->where->line == 31);
  CHECK(result.cause->details.front() == "read by thread 0   scan.cu:31");
  CHECK(has_detail(result, "the output happened to be right"));
  CHECK(result.findings.size() == 1);

  result = judge("carries", make_plan(), Pretend::virtual_gpu, {race});
  CHECK(result.cause->id == "race.shared");  // in the first call already

  Plan wrong = make_plan();
  wrong.checks[0].sizes = {1025};
  result = judge("carries", wrong, Pretend::virtual_gpu, {race});
  REQUIRE(result.cause);
  CHECK(result.cause->id == "race.shared");
  CHECK(has_detail(result, "y[1024] = "));
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[1].id == "wrong.sections");

  race.weight = scanlab::vgpu::Finding::Weight::advice;
  result = judge("right", make_plan(), Pretend::virtual_gpu, {race});
  CHECK(result.verdict == Verdict::pass);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].count > 1);
  result = judge("carries", make_plan(), Pretend::virtual_gpu, {race});
  CHECK(result.cause->id == "wrong.sections");
}
