// What a runner says to the judge and to the virtual GPU is worth nothing, whatever it is and whenever it comes.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "autograder/check/checks.hpp"
#include "autograder/device/devices.hpp"
#include "autograder/process/runner_process.hpp"
#include "host_device.hpp"

using namespace scanlab::grade;

namespace {

Plan make_plan(const char* program) {
  Plan plan = plan_of_runner(program, 0.1, {0, 1, 33});  // the first can be right: there is nothing to write
  plan.checks[0].repeats = 2;
  return plan;
}

CheckResult judge(const Plan& plan, Device& device) {
  CheckResult result;
  result.max_points = plan.checks[0].points;
  CountedCalls counted;
  check_correctness(plan, plan.checks[0], device, counted, result);
  return result;
}

/// SCANLAB_FUZZ_SEED, which a failure prints, or another one each time.
unsigned first_seed() {
  const char* chosen = std::getenv("SCANLAB_FUZZ_SEED");
  return chosen != nullptr ? static_cast<unsigned>(std::strtoul(chosen, nullptr, 10))
                           : std::random_device()() % 1'000'000;
}

void survives(Device& device, int runs) {
  const unsigned first = first_seed();
  unsigned failed = 0, late = 0;
  for (unsigned seed = first; seed < first + static_cast<unsigned>(runs); ++seed) {
    INFO("again: SCANLAB_FUZZ_SEED=" << seed);
    setenv("FUZZ_SEED", std::to_string(seed % 1'000'000'000).c_str(), 1);
    CheckResult result;
    REQUIRE_NOTHROW(result = judge(make_plan(FUZZ_RUNNER), device));
    CHECK((result.verdict == Verdict::fail || result.verdict == Verdict::timeout));
    CHECK(result.points == 0);
    REQUIRE(result.cause);
    CHECK(!result.cause->rationale.empty());
    failed += result.verdict == Verdict::fail;
    late += result.verdict == Verdict::timeout;
  }
  CHECK(failed > 0);
  CHECK(failed + late == static_cast<unsigned>(runs));
}

Plan launched(std::vector<std::string> launcher) {
  Plan plan = make_plan(TEST_RUNNER_FLOAT);
  plan.limits.seconds = 1;
  plan.launcher = std::move(launcher);
  return plan;
}

CheckResult judge_launched(const char* behaviour, std::vector<std::string> launcher) {
  setenv("CUDA_BEHAVIOUR", behaviour, 1);
  const std::unique_ptr<Device> device = make_host_device(Pretend::virtual_gpu);
  return judge(launched(std::move(launcher)), *device);
}

/// A launcher in the form of the sandbox's; the runner learns its behaviour by way of what a sandbox lets through.
std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script, "launcher", "{program}", "{status}"};
}

const char* good = "export BEHAVIOUR=$CUDA_BEHAVIOUR; printf r >&5; exec \"$1\" 5>&-";

}  // namespace

TEST_CASE("no answer of a runner passes, crashes the judge or is the kit's fault", "[boundary]") {
  const std::unique_ptr<Device> device = make_host_device(Pretend::virtual_gpu);
  survives(*device, 60);
}

TEST_CASE("nothing that a runner asks of the virtual GPU passes, crashes the judge or is the kit's fault",
          "[boundary]") {
  const std::unique_ptr<Device> device = make_virtual_device("small", 100'000, Checking::on);
  survives(*device, 60);
}

TEST_CASE("a runner is started by its launcher", "[boundary]") {
  CHECK(judge_launched("right", shell(good)).verdict == Verdict::pass);
  CHECK(judge_launched("input", shell(good)).cause->id == "input.changed");
}

TEST_CASE("a launcher reports a signal as a shell does", "[boundary]") {
  // Not by exec: the shell waits for the program.
  const CheckResult result =
      judge_launched("crash", shell("export BEHAVIOUR=$CUDA_BEHAVIOUR; printf r >&5; \"$1\" 5>&-; exit $?"));
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.cause->id == "crash.host");
}

TEST_CASE("a launcher that does not start the runner is the kit's fault", "[boundary]") {
  CHECK_THROWS_AS(judge_launched("right", {"/nonexistent/launcher", "{program}", "{status}"}), KitFault);
  CHECK_THROWS_AS(judge_launched("right", shell("echo no namespaces here; exit 1")), KitFault);
  CHECK_THROWS_AS(judge_launched("right", shell("printf rx >&5; exit 126")), KitFault);
  CHECK_THROWS_AS(judge_launched("right", shell("exec sleep 60")), KitFault);
}

TEST_CASE("a launcher that is started with no time left is not a fault of the kit", "[boundary]") {
  Plan plan = launched(shell("exec sleep 60"));
  plan.limits.seconds = 0.1;
  const std::unique_ptr<Device> device = make_host_device(Pretend::virtual_gpu);
  CHECK(judge(plan, *device).verdict == Verdict::timeout);
}

TEST_CASE("once the runner has begun, whatever happens is its own doing", "[boundary]") {
  const CheckResult result = judge_launched("right", shell("printf r >&5; echo bwrap: no namespaces here; exit 1"));
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.cause->id == "crash.exit");
}

TEST_CASE("a launched runner gets nothing of the judge's environment but what chooses a GPU", "[boundary]") {
  setenv("SCANLAB_TEST_SECRET", "1", 1);
  setenv("MY_SECRET", "1", 1);
  const char* script =
      "export BEHAVIOUR=right; printf r >&5; test -z \"$MY_SECRET$SCANLAB_TEST_SECRET\" && exec \"$1\" 5>&-";
  CHECK(judge_launched("right", shell(script)).verdict == Verdict::pass);
  unsetenv("SCANLAB_TEST_SECRET");
  unsetenv("MY_SECRET");
}
