// What a runner answers the judge, and the virtual GPU, and what the judge is asked to do.
#include <filesystem>
#include <memory>

#include "autograder/check/checks.hpp"
#include "autograder/device/devices.hpp"
#include "autograder/process/runner_process.hpp"
#include "targets.hpp"
#include "tests/autograder/host_device.hpp"

namespace scanlab::fuzz {
namespace {

using namespace grade;

// ---- runner: actions of a program that never writes an output (tests/autograder/fuzz_runner.cpp) --------------------

constexpr std::size_t action_bytes = 16, most_actions = 32;

std::string runner;

void find_runner() {
  adopt_orphans();
  const char* named = std::getenv("SCANLAB_FUZZ_RUNNER");
  runner = named != nullptr ? named : std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fuzz-runner";
  if (!std::filesystem::exists(runner)) {
    std::fprintf(stderr, "%s is missing\n", runner.c_str());
    std::exit(2);
  }
}

Plan make_plan() {
  Plan plan = plan_of_runner(runner, 0.1, {0, 1, 33});  // the first can be right: there is nothing to write
  plan.limits.warp_instructions = 10000;
  return plan;
}

void run_runner(Bytes input) {
  std::string actions;
  for (const std::uint8_t byte : input.first(std::min(input.size(), most_actions * action_bytes))) {
    constexpr char digits[] = "0123456789abcdef";
    actions += digits[byte / 16];
    actions += digits[byte % 16];
  }
  setenv("FUZZ_ACTIONS", actions.c_str(), 1);
  const Plan plan = make_plan();
  const bool is_virtual = !input.empty() && input[0] % 2 == 0;
  const std::unique_ptr<Device> device =
      is_virtual ? make_virtual_device("small", 10'000, Checking::on) : make_host_device(Pretend::virtual_gpu);
  Result result;
  result.checks.emplace_back();
  try {
    CountedCalls counted;
    check_correctness(plan, plan.checks[0], *device, counted, result.checks[0]);
  } catch (const KitFault& fault) {
    broken(std::string("a runner makes the kit fail: ") + fault.what());
  }
  const CheckResult& check = result.checks[0];
  if (check.verdict != Verdict::fail && check.verdict != Verdict::timeout) broken("a runner that does nothing passes");
  if (check.points != 0 || !check.cause || check.cause->rationale.empty()) broken("a failure without its cause");
  if (to_json(result).empty()) broken("no result");
}

std::string change_runner(std::string input, const std::vector<std::string>& others, Random& random) {
  return change_records(std::move(input), action_bytes, others, random);
}

// ---- plan -----------------------------------------------------------------------------------------------------------

void run_plan(Bytes input) {
  try {
    (void)parse_plan(text_of(input));
  } catch (const KitFault& fault) {
    if (*fault.what() == '\0') broken("an error without a message");
  }
}

/// Values change places, or become others where a number or a word may not be what is expected.
std::string change_plan(std::string text, const std::vector<std::string>& others, Random& random) {
  constexpr std::string_view values[] = {"null", "-1",   "0",     "1e999", "18446744073709551616", "0.5", "true",  "[]",
                                         "{}",   "\"\"", "1e308", "-0",    "4294967296",           "1.5", "[null]"};
  const auto piece_at = [&](const std::string& from) {
    const std::size_t begin = from.find_first_of("[{:,", random() % (from.size() + 1));
    if (begin == std::string::npos) return std::pair{from.size(), from.size()};
    return std::pair{begin + 1, std::min(from.find_first_of(",]}", begin + 1), from.size())};
  };
  const auto [begin, end] = piece_at(text);
  if (random() % 4 == 0 || text.empty()) return text;  // unchanged: libFuzzer's own changes
  if (random() % 2 == 0) return text.replace(begin, end - begin, values[random() % std::size(values)]);
  const std::string& other = others[random() % others.size()];
  const auto [from, to] = piece_at(other);
  return text.replace(begin, end - begin, other.substr(from, to - from));
}

}  // namespace

const Target runner_target = {"runner", run_runner, change_runner, find_runner};
const Target plan_target = {"plan", run_plan, change_plan};

}  // namespace scanlab::fuzz
