// The rounds of a timing check, over a bench whose times are data.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "autograder/timing/rounds.hpp"

using namespace scanlab::grade;
using Program = Bench::Program;
using Texts = std::vector<std::string>;

namespace {

constexpr TimeLimits limits{1.25, 3, 15};

/// Each function is asked with the number of rounds begun so far, from 1 on.
struct ScriptedBench : Bench {
  std::function<double(std::size_t)> submission = [](std::size_t) { return 1e-3; };
  std::function<std::optional<Texts>(std::size_t)> slowdown = [](std::size_t) { return Texts{}; };
  std::size_t most = 1000;     // rounds for which there is time
  std::size_t fails_in = 0;    // round in which the submission's call fails
  std::size_t begun = 0;       // rounds
  std::vector<Program> order;  // of all calls

  void renew_data() override { ++begun; }
  std::variant<double, Failure> time(Program program) override {
    order.push_back(program);
    if (program == Program::reference) return 1e-3;
    if (begun == fails_in) {
      Failure failure;
      failure.cause.rationale = "wrong";
      return failure;
    }
    return submission(begun);
  }
  std::optional<Texts> slowdowns() override { return slowdown(begun); }
  bool is_time_up() const override { return begun >= most; }
};

Timings fresh() {
  Timings timings;
  timings.copy = 1e-4;
  timings.reference_alone = 1e-3;
  return timings;
}

}  // namespace

TEST_CASE("a clear result takes the least number of rounds", "[rounds]") {
  ScriptedBench bench;
  Timings timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK(timings.submission.size() == first_look);
  CHECK(timings.reference.size() == first_look);
  CHECK(timings.repeated == 0);
  CHECK(timings.slowdowns_known);
  CHECK(decide(limits, timings).verdict() == Verdict::pass);
}

TEST_CASE("each round has new data and both programs, in an order that changes and can be had again", "[rounds]") {
  const auto order_of = [](std::uint64_t seed) {
    ScriptedBench bench;
    Timings timings = fresh();
    (void)take_rounds(bench, limits, seed, timings);
    CHECK(bench.begun == first_look);
    for (std::size_t i = 0; i < bench.order.size(); i += 2) CHECK(bench.order[i] != bench.order[i + 1]);
    return bench.order;
  };
  CHECK(order_of(7) == order_of(7));
  std::set<std::vector<Program>> orders;
  std::set<Program> first;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    orders.insert(order_of(seed));
    for (std::size_t i = 0; i < 2 * first_look; i += 2) first.insert(order_of(seed)[i]);
  }
  CHECK(orders.size() > 1);
  CHECK(first.size() == 2);
}

TEST_CASE("an unclear result takes more rounds, and ends when it is clear", "[rounds]") {
  ScriptedBench bench;  // the first rounds vary, all others do not
  bench.submission = [](std::size_t round) { return round <= 6 ? 0.5e-3 * static_cast<double>(round) : 1e-3; };
  Timings timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK(timings.submission.size() == first_look + rounds_between_looks);
  CHECK(decide(limits, timings).verdict() == Verdict::pass);
}

TEST_CASE("a result that stays unclear ends as inconclusive", "[rounds]") {
  ScriptedBench bench;
  bench.submission = [](std::size_t round) { return round % 2 == 0 ? 1e-3 : 2e-3; };
  Timings timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK(timings.submission.size() == most_rounds);
  CHECK(decide(limits, timings).verdict() == Verdict::inconclusive);
}

TEST_CASE("a round in which the device slows itself down is repeated", "[rounds]") {
  ScriptedBench bench;
  bench.slowdown = [](std::size_t round) { return round == 3 || round == 4 ? Texts{"too hot"} : Texts{}; };
  bench.submission = [](std::size_t round) { return round == 3 || round == 4 ? 1.0 : 1e-3; };
  Timings timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK(timings.repeated == 2);
  CHECK(timings.slowdowns == Texts{"too hot"});
  CHECK(timings.submission == std::vector<double>(first_look, 1e-3));
}

TEST_CASE("a device that is always slowed down ends the check", "[rounds]") {
  ScriptedBench bench;
  bench.slowdown = [](std::size_t) { return Texts{"too hot", "power brake"}; };
  Timings timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK(timings.repeated == most_repeated + 1);
  CHECK(timings.submission.empty());
  CHECK(timings.slowdowns == Texts{"too hot", "power brake"});
  CHECK(decide(limits, timings).verdict() == Verdict::inconclusive);
}

TEST_CASE("a device that does not report slowdowns changes nothing else", "[rounds]") {
  ScriptedBench bench;
  bench.slowdown = [](std::size_t) { return std::nullopt; };
  Timings timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK_FALSE(timings.slowdowns_known);
  CHECK(timings.submission.size() == first_look);
}

TEST_CASE("no round begins when the time is up", "[rounds]") {
  ScriptedBench bench;
  bench.most = 4;
  Timings timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK(timings.submission.size() == 4);
  bench.begun = 0;
  bench.most = 8;  // enough to decide on
  timings = fresh();
  CHECK_FALSE(take_rounds(bench, limits, 7, timings));
  CHECK(decide(limits, timings).verdict() == Verdict::pass);
}

TEST_CASE("a call that fails ends the check at once", "[rounds]") {
  ScriptedBench bench;
  bench.fails_in = 3;
  Timings timings = fresh();
  const std::optional<Failure> failure = take_rounds(bench, limits, 7, timings);
  REQUIRE(failure);
  CHECK(failure->cause.rationale == "wrong");
  CHECK(bench.begun == 3);
  CHECK(timings.submission.size() == 2);
}
