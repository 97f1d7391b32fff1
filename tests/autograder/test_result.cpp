#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autograder/process/messages.hpp"
#include "autograder/result.hpp"

using namespace scanlab::grade;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

Result example() {
  Result result;
  CheckResult passed;
  passed.name = "inclusive";
  passed.verdict = Verdict::pass;
  passed.points = passed.max_points = 20;
  passed.output_hash = 0xABCu;
  passed.counts = {{{"additions", 9217.0}, {"warp_efficiency", 0.5}}};
  CheckResult failed;
  failed.name = "exclusive";
  failed.verdict = Verdict::fail;
  failed.max_points = 10;
  failed.cause = Cause{.headline = "exclusive scan of floats, n = 1025, seed 7",
                       .rationale = "the last, partial section is never written",
                       .expected = "523776",
                       .actual = "y[1024] = 0",
                       .where = Where{"scan.cu", 31, "kernel", {{1, 0, 0}}, {{0, 0, 0}}},
                       .details = {"1 of 1025 elements is wrong"},
                       .next = "grader/scanlab check 02 --n 1025 --seed 7"};
  CheckResult not_run;
  not_run.name = "speed";
  not_run.verdict = Verdict::skipped;
  not_run.not_run_points = 15;
  result.checks = {passed, failed, not_run};
  return result;
}

}  // namespace

TEST_CASE("a result has the documented form", "[result]") {
  const Json json = Json::parse(to_json(example()));
  CHECK(json["schema"] == "scanlab-checks");
  CHECK(json["version"] == 1);
  CHECK(json["checks"][0]["not_run_points"] == 0);
  CHECK(json["checks"][2]["not_run_points"] == 15);
  CHECK(json["checks"][0]["times"].is_null());
  CHECK(json["checks"][0]["cause"].is_null());
  CHECK(json["checks"][0]["counts"]["additions"] == 9217);
  CHECK(json["checks"][0]["counts"]["warp_efficiency"] == 0.5);
  CHECK(json["checks"][0]["output_hash"] == "0000000000000abc");
  const Json cause = json["checks"][1]["cause"];
  CHECK(cause["where"]["block"] == Json({1, 0, 0}));
  CHECK(cause["where"]["line"] == 31);
  CHECK(cause["details"].size() == 1);
}

TEST_CASE("a cause reads as the house style shows", "[result]") {
  CHECK(to_text(*example().checks[1].cause) ==
        "exclusive scan of floats, n = 1025, seed 7\n"
        "  y[1024] = 0, expected 523776 scan.cu:31 in kernel (block 1,0,0, thread 0,0,0)\n"
        "  the last, partial section is never written\n"
        "  1 of 1025 elements is wrong\n"
        "  again: grader/scanlab check 02 --n 1025 --seed 7");
}

TEST_CASE("output that is not UTF-8 does not break the JSON", "[result]") {
  Result result = example();
  result.checks[1].cause->details = {"\xFF\xFE broken \xC3"};
  CHECK_NOTHROW(Json::parse(to_json(result)));
}

TEST_CASE("a result is written whole or not at all", "[result]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("scanlab-result-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  write_atomically(folder / "result.json", "first\n");
  write_atomically(folder / "result.json", "second\n");
  std::ostringstream text;
  text << std::ifstream(folder / "result.json").rdbuf();
  CHECK(text.str() == "second\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  CHECK_THROWS_AS(write_atomically(folder / "missing" / "result.json", "x"), KitFault);
  std::filesystem::remove_all(folder);
}

TEST_CASE("CUDA's errors come with their meaning and advice", "[messages]") {
  for (const char* name : {"cudaErrorInvalidConfiguration", "cudaErrorIllegalAddress", "cudaErrorNobodyKnows", ""}) {
    CHECK_FALSE(meaning_of_cuda_error(name).meaning.empty());
    CHECK_FALSE(meaning_of_cuda_error(name).advice.empty());
  }
  scanlab::runner::Done done;
  done.status = scanlab::runner::Done::Status::launch_error;
  std::snprintf(done.cuda_error_name, sizeof done.cuda_error_name, "cudaErrorInvalidConfiguration");
  const Failure failure = failure_of(done, Operation::inclusive);
  CHECK(failure.verdict == Verdict::fail);
  CHECK_THAT(failure.cause.rationale, ContainsSubstring("more than 1024 threads a block"));
}

TEST_CASE("a submission's lines are bounded and printable", "[messages]") {
  CHECK(first_lines("", 10).empty());
  CHECK(first_lines("a\nb", 10) == std::vector<std::string>{"a", "b"});
  CHECK(first_lines("a\n\nb\n", 2) == std::vector<std::string>{"a", ""});
  CHECK(first_lines("\x1b[31mred", 1) == std::vector<std::string>{"?[31mred"});
  CHECK(first_lines(std::string(5000, 'x'), 1)[0].size() < 210);
}
