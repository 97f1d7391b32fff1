#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "autograder/plan.hpp"
#include "vgpu/checks/cost/counters.hpp"

using namespace scanlab::grade;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

Json example() {
  return Json::parse(R"({
    "version": 1, "lab": "02_kogge_stone", "title": "Kogge-Stone", "device": "vgpu", "profile": "small", "seed": 7,
    "section": 1024, "source": "labs/02_kogge_stone/scan.cu", "again": "grader/scanlab check 02",
    "limits": {"seconds": 20.0, "warp_instructions": 1000000, "output_bytes": 65536},
    "runners": {"float": "/a/float", "affine": "/a/affine"}, "reference": {"float": "/b/float"},
    "checks": [
      {"name": "inclusive", "title": "inclusive scan", "kind": "correctness", "entry": "inclusive_scan",
       "element": "float", "operation": "inclusive", "points": 20, "needs": null, "explain": "",
       "sizes": [1025, 0, 1, 1], "schedules": ["in_order", "random"], "repeats": 2,
       "repeated_up_to": 1024,
       "extra": [{"n": 77, "schedule": "lockstep"}]},
      {"name": "additions", "title": "additions", "kind": "count", "entry": "exclusive_scan", "element": "affine",
       "points": 10, "profile": "h200", "counter": "additions", "among": null, "needs": "inclusive",
       "calls": [{"n": 1024, "schedule": "lockstep", "repeat": 1, "at_most": 9281.5, "at_least": null}],
       "explain": "too many"},
      {"name": "speed", "title": "speed", "kind": "timing", "entry": "inclusive_scan", "element": "float",
       "points": 15, "n": 4096, "full": 1.25, "none": 3, "seconds": 30, "needs": "inclusive", "explain": "slow"}]})");
}

/// The message that refuses the example after `change`.
template <typename Change>
std::string refusal(Change change) {
  Json json = example();
  change(json);
  try {
    parse_plan(json.dump());
  } catch (const KitFault& fault) {
    return fault.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a whole plan is read", "[plan]") {
  const Plan plan = parse_plan(example().dump());
  CHECK(plan.lab == "02_kogge_stone");
  CHECK(plan.section == 1024);
  CHECK(plan.block_size == 0);
  CHECK(plan.limits.warp_instructions == 1000000);
  REQUIRE(plan.checks.size() == 3);
  CHECK(plan.checks[0].sizes == std::vector<std::size_t>{0, 1, 1025});
  CHECK(plan.checks[0].schedules[1] == scanlab::vgpu::Schedule::Order::random);
  CHECK(plan.checks[0].repeated_up_to == 1024);
  CHECK(plan.checks[0].profile.empty());
  CHECK(plan.checks[1].profile == "h200");
  CHECK(plan.checks[1].operation == Operation::exclusive);
  REQUIRE(plan.checks[0].extra.size() == 1);
  CHECK(plan.checks[0].extra[0].n == 77);
  CHECK(plan.checks[0].extra[0].order == scanlab::vgpu::Schedule::Order::lockstep);
  CHECK(plan.checks[1].among.empty());
  REQUIRE(plan.checks[1].calls.size() == 1);
  CHECK(plan.checks[1].calls[0].n == 1024);
  CHECK(plan.checks[1].calls[0].repeat == 1);
  CHECK(plan.checks[1].calls[0].at_most == 9281.5);
  CHECK_FALSE(plan.checks[1].calls[0].at_least);
  CHECK(plan.reference == decltype(plan.reference){{"float", "/b/float"}});
  CHECK(plan.checks[2].kind == CheckPlan::Kind::timing);
  CHECK(plan.checks[2].n == 4096);
  CHECK(plan.checks[2].full == 1.25);
  CHECK(plan.checks[2].none == 3);
  CHECK(plan.checks[2].seconds == 30);
}

TEST_CASE("a plan without a reference solution, or without a time limit, is whole", "[plan]") {
  Json json = example();
  json["reference"] = nullptr;
  json["checks"][2].erase("seconds");
  const Plan plan = parse_plan(json.dump());
  CHECK(plan.reference.empty());
  CHECK(plan.checks[2].seconds == 60);
}

TEST_CASE("a plan with a mistake is refused, and the message names the place", "[plan]") {
  CHECK_THAT(refusal([](Json& j) { j["version"] = 2; }),
             ContainsSubstring("version: expected a whole number from 1 to 1"));
  CHECK_THAT(refusal([](Json& j) { j.erase("lab"); }), ContainsSubstring("lab: missing"));
  CHECK_THAT(refusal([](Json& j) { j["device"] = "cpu"; }),
             ContainsSubstring("device: expected one of \"vgpu\", \"gpu\""));
  CHECK_THAT(refusal([](Json& j) { j["seed"] = -1; }), ContainsSubstring("seed: expected a whole number"));
  CHECK_THAT(refusal([](Json& j) { j["is_brief"] = 1; }), ContainsSubstring("is_brief: expected true or false, got 1"));
  CHECK_THAT(refusal([](Json& j) { j["block_size"] = 1025; }),
             ContainsSubstring("block_size: expected a whole number"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][0]["sizes"][0] = -1; }), ContainsSubstring("checks[0].sizes[0]"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][0]["sizes"] = Json::array(); }), ContainsSubstring("at least one size"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][0]["schedules"][1] = "sideways"; }),
             ContainsSubstring("checks[0].schedules[1]: no schedule named 'sideways'"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][0]["repeat"] = 2; }),
             ContainsSubstring("checks[0].repeat: unknown key"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][0]["operation"] = "sort"; }),
             ContainsSubstring("expected one of \"inclusive\", \"exclusive\", \"compact\", \"split\""));
  CHECK_THAT(refusal([](Json& j) { j["checks"][0]["operation"] = "compact"; }),
             ContainsSubstring("checks[0].operation: inclusive_scan cannot compute \"compact\""));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["counter"] = "adds"; }), ContainsSubstring("no counter is called"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["calls"][0]["at_most"] = nullptr; }),
             ContainsSubstring("checks[1].calls[0].at_most: expected at_most, at_least"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["calls"] = Json::array(); }), ContainsSubstring("at least one call"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["calls"][0]["schedule"] = "sideways"; }),
             ContainsSubstring("checks[1].calls[0].schedule: no schedule named 'sideways'"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["calls"][0]["size"] = 1; }),
             ContainsSubstring("checks[1].calls[0].size: unknown key"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["among"] = "inclusive"; }),
             ContainsSubstring("checks[1].among: \"inclusive\" is no earlier correctness check of this entry"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["needs"] = "additions"; }), ContainsSubstring("no earlier check"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["name"] = "inclusive"; }), ContainsSubstring("a second check"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["sizes"] = {1}; }), ContainsSubstring("not a key of a count check"));
  CHECK_THAT(refusal([](Json& j) { j["runners"].erase("affine"); }), ContainsSubstring("runners.affine: missing"));
  CHECK_THAT(refusal([](Json& j) { j["reference"]["double"] = "/c"; }), ContainsSubstring("reference.double: unknown"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["full"] = 1.25; }),
             ContainsSubstring("checks[1].full: not a key of a count check"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][2]["counter"] = "additions"; }),
             ContainsSubstring("checks[2].counter: not a key of a timing check"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][2]["none"] = 1.25; }),
             ContainsSubstring("checks[2].none: expected a number, more than 1.25"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][2].erase("full"); }), ContainsSubstring("checks[2].full: expected a"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][2]["n"] = 0; }), ContainsSubstring("checks[2].n: expected a whole"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][2]["seconds"] = -1; }), ContainsSubstring("checks[2].seconds"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][2]["element"] = "affine"; }),
             ContainsSubstring("checks[2].element: a timing check is of float"));
  CHECK_THAT(refusal([](Json& j) { j["profile"] = "huge"; }),
             ContainsSubstring("profile: no device profile named 'huge'"));
  CHECK_THAT(refusal([](Json& j) { j["checks"][1]["profile"] = "huge"; }),
             ContainsSubstring("checks[1].profile: no device profile named 'huge'"));
  CHECK_THAT(refusal([](Json& j) { j["limits"]["seconds"] = 0; }), ContainsSubstring("limits.seconds"));
  CHECK_THAT(refusal([](Json& j) { j["limits"]["minutes"] = 1; }), ContainsSubstring("limits.minutes: unknown key"));
  CHECK_THAT(refusal([](Json& j) { j = Json::array(); }), ContainsSubstring("expected an object"));
}

TEST_CASE("text that is not JSON, or not a file, is refused", "[plan]") {
  CHECK_THROWS_WITH(parse_plan("{"), ContainsSubstring("not JSON"));
  CHECK_THROWS_WITH(parse_plan("[1e999]"), ContainsSubstring("not JSON"));
  CHECK_THROWS_AS(read_plan("/nonexistent/plan.json"), KitFault);
}

TEST_CASE("the counters of the contract are those that a virtual device counts") {
  std::set<std::string> counted = {"chained_waits",     "host_copies",      "busiest_warp", "busiest_block",
                                   "useful_additions",  "wasted_additions", "span",         "busiest_adder",
                                   "useful_efficiency", "shared_prefixes"};
  for (const auto& [name, count] : scanlab::vgpu::Counts().named()) counted.insert(name);
  const auto names = scanlab::contract::names<scanlab::contract::Counter>;
  CHECK(std::set<std::string>(names.begin(), names.end()) == counted);
}
