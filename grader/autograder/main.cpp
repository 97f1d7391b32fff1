// judge --plan plan.json --result result.json [options of Catch2]: grades one lab of one submission.
//
// Every check of the plan becomes a test case of Catch2, so that its options (names to select, --reporter, --success,
// --list-tests …) work here too. Exit code: 0 all checks passed, 1 some did not, 2 usage, 3 the kit's own fault.

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/internal/catch_clara.hpp>
#include <catch2/internal/catch_test_registry.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "autograder/judge.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"

namespace scanlab::grade {

namespace {

enum ExitCode { exit_pass = 0, exit_fail = 1, exit_usage = 2, exit_kit_fault = 3 };

/// One check as Catch2 calls it.
class CheckInvoker : public Catch::ITestInvoker {
 public:
  CheckInvoker(Judge& judge, std::size_t index) : judge_(judge), index_(index) {}

  void invoke() const override {
    const CheckResult& result = judge_.run(index_);
    const std::string why = result.cause ? to_text(*result.cause) : std::string();
    switch (result.verdict) {
      case Verdict::pass:
        SUCCEED(fmt::format("{:g} of {:g} points", result.points, result.max_points));
        break;
      case Verdict::skipped:
        SKIP(why);
      default:
        FAIL(fmt::format("{}: {}", name_of(result.verdict), why));
    }
  }

 private:
  Judge& judge_;
  std::size_t index_;
};

void register_checks(Judge& judge) {
  const std::vector<CheckPlan>& checks = judge.plan().checks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const std::string name = fmt::format("{}: {}", checks[i].name, checks[i].title);
    const std::string tags = fmt::format("[{}][{}]", name_of(checks[i].kind), name_of(checks[i].element));
    Catch::AutoReg(Catch::Detail::unique_ptr<Catch::ITestInvoker>(new CheckInvoker(judge, i)), CATCH_INTERNAL_LINEINFO,
                   Catch::StringRef(), Catch::NameAndTags(name, tags));
  }
}

int exit_code_of(const std::vector<CheckResult>& checks) {
  const auto is = [](Verdict verdict) { return [=](const CheckResult& check) { return check.verdict == verdict; }; };
  if (std::ranges::any_of(checks, is(Verdict::error))) return exit_kit_fault;
  const auto is_well = [&](const CheckResult& one) { return is(Verdict::pass)(one) || is(Verdict::skipped)(one); };
  return std::ranges::all_of(checks, is_well) ? exit_pass : exit_fail;
}

int run(int argc, char** argv) {
  std::string plan_path, result_path;
  bool dies_with_parent = false;
  Catch::Session session;
  session.configData().runOrder = Catch::TestRunOrder::Declared;  // `needs` looks back
  using Catch::Clara::Opt;
  session.cli(session.cli() | Opt(plan_path, "plan.json")["--plan"]("what to check") |
              Opt(result_path, "result.json")["--result"]("where the result goes") |
              Opt(dies_with_parent)["--die-with-parent"]("end when whoever has started this ends, however that is"));
  if (session.applyCommandLine(argc, argv) != 0) return exit_usage;
  const bool only_shows = session.configData().showHelp || session.configData().libIdentify ||
                          session.configData().listReporters || session.configData().listListeners;
  if (only_shows) return session.run() == 0 ? exit_pass : exit_usage;
  if (dies_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (plan_path.empty()) {
    fmt::print(stderr, "judge: --plan plan.json is missing (judge --help)\n");
    return exit_usage;
  }

  // Catch2 keeps pointers to the checks until the process ends, so the judge lives as long.
  static Judge judge(read_plan(plan_path));
  register_checks(judge);
  const int status = session.run();
  if (session.configData().listTests || session.configData().listTags) return status == 0 ? exit_pass : exit_usage;
  const Result result = judge.result();
  if (!result_path.empty()) write_atomically(result_path, to_json(result));
  return exit_code_of(result.checks);
}

}  // namespace

}  // namespace scanlab::grade

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  try {
    return scanlab::grade::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "judge: {}\n", error.what());
    return scanlab::grade::exit_kit_fault;
  }
}
