// A whole timing check: two runner processes of behaviours.cpp on shared host memory, by the real clock. Limits are
// wide apart, so that a busy machine does not matter.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "autograder/timing/timing.hpp"
#include "check_fails.hpp"
#include "host_device.hpp"

using namespace scanlab::grade;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A program that behaves in one way, whatever the environment asks of the submission.
class ReferenceRunner {
 public:
  explicit ReferenceRunner(const char* behaviour)
      : path_(std::filesystem::temp_directory_path() / ("scanlab-reference-" + std::to_string(getpid()))) {
    std::ofstream(path_) << "#!/bin/sh\nBEHAVIOUR=" << behaviour << " exec " << TEST_RUNNER_FLOAT << "\n";
    chmod(path_.c_str(), 0755);
  }
  ~ReferenceRunner() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

CheckResult time(const char* submission, const char* reference = "steady", HostTraits traits = {},
                 Operation entry = Operation::inclusive) {
  const ReferenceRunner runner(reference);
  setenv("BEHAVIOUR", submission, 1);
  Plan plan = plan_of_runner(TEST_RUNNER_FLOAT, 5, {});
  plan.again = "grader/scanlab check 02 --device gpu";
  plan.reference = {{"float", runner.path()}};
  CheckPlan check;
  check.name = check.title = "speed";
  check.kind = CheckPlan::Kind::timing;
  check.points = 15;
  check.entry = check.operation = entry;
  check.n = 60'001;
  check.full = 4;
  check.none = 10;
  check.explain = "it sleeps";
  const std::unique_ptr<Device> device = make_host_device(Pretend::gpu, traits);
  CheckResult result;
  result.max_points = check.points;
  check_timing(plan, check, *device, result);
  return result;
}

}  // namespace

TEST_CASE("a submission as fast as the reference solution passes", "[timing]") {
  const CheckResult result = time("steady");
  INFO((result.cause ? to_text(*result.cause) : ""));
  CHECK(result.verdict == Verdict::pass);
  CHECK(result.points == 15);
  REQUIRE(result.times);
  CHECK(result.times->front().first == "ratio");
  CHECK(result.times->front().second < 4);
}

TEST_CASE("a slow submission loses all points", "[timing]") {
  const CheckResult result = time("slow");
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.points == 0);
  REQUIRE(result.cause);
  CHECK(result.cause->rationale == "it sleeps");
  CHECK(result.cause->headline == "time of inclusive_scan, n = 60001");
}

TEST_CASE("a wrong result has no time", "[timing]") {
  CheckResult result = time("carries");
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.points == 0);
  REQUIRE(result.cause);
  CHECK(result.cause->headline == "time of inclusive_scan, n = 60001");
  CHECK_THAT(result.cause->actual, ContainsSubstring("y[1024] = "));
  CHECK_THAT(result.cause->rationale, ContainsSubstring("only right results have a time"));
  CHECK(result.cause->next == "grader/scanlab check 02 --device gpu --n 60001 --seed 7");
  CHECK_FALSE(result.times);

  result = time("leftover");  // right in the warm-up, wrong in a round
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.cause->actual, ContainsSubstring("y[60000] = "));
}

TEST_CASE("a runner that answers before its work is done fails", "[timing]") {
  const CheckResult result = time("late");
  CHECK(result.verdict == Verdict::fail);
  REQUIRE(result.cause);
  CHECK(result.cause->actual == "y[0] = unwritten");
  CHECK_THAT(result.cause->rationale, ContainsSubstring("not written when the entry had returned"));
}

TEST_CASE("memory that is not the submission's to write is looked at", "[timing]") {
  check_fails(time("input"), "the input was changed");
  check_fails(time("beyond"), "a write outside d_y");
}

TEST_CASE("a submission that ends is not the kit's fault", "[timing]") {
  check_fails(time("crash"), "segmentation fault");
}

TEST_CASE("a reference solution that fails is the kit's fault, never the submission's", "[timing]") {
  for (const char* behaviour : {"carries", "crash", "beyond"}) {
    CHECK_THROWS_AS(time("steady", behaviour), KitFault);
  }
  CHECK_THROWS_WITH(time("steady", "carries"), ContainsSubstring("the lab's reference solution cannot be timed"));
}

TEST_CASE("less time than a copy of the array takes is a failure", "[timing]") {
  check_fails(time("steady", "steady", {.copy_seconds = 0.02}), "faster than the memory allows");
}

TEST_CASE("a program that begins before the clock does has not seen the whole input", "[timing]") {
  const CheckResult result = time("begins_early", "steady", {.cache_bytes = 100'000'000});
  check_fails(result, "only right results have a time");
}

TEST_CASE("a cache is emptied before each call, and mentioned when it would hold the arrays", "[timing]") {
  const CheckResult result = time("slow", "steady", {.cache_bytes = 10'000'000});
  CHECK(result.verdict == Verdict::fail);
  std::string details;
  for (const std::string& detail : result.cause->details) details += detail + "\n";
  CHECK_THAT(details, ContainsSubstring("0.48 MB, fit into the device's L2 cache, 10.0 MB"));
}

TEST_CASE("a split is timed, and its elements and their number are looked at", "[timing]") {
  const auto split = [](const char* submission) { return time(submission, "steady", {}, Operation::split); };
  CheckResult result = split("steady");
  INFO((result.cause ? to_text(*result.cause) : ""));
  CHECK(result.verdict == Verdict::pass);
  CHECK(result.points == 15);

  result = split("drops_others");
  CHECK(result.verdict == Verdict::fail);
  REQUIRE(result.cause);
  CHECK_THAT(result.cause->actual, ContainsSubstring("y[60000] = "));

  result = split("counts_all");
  CHECK(result.verdict == Verdict::fail);
  REQUIRE(result.cause);
  CHECK(result.cause->actual == "*d_kept = 60001");
  CHECK_THAT(result.cause->rationale, ContainsSubstring("wrong number of kept elements"));

  result = split("beyond_count");
  CHECK(result.verdict == Verdict::fail);
  REQUIRE(result.cause);
  CHECK_THAT(result.cause->rationale, ContainsSubstring("a write outside d_kept"));
}
