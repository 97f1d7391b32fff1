// Faults, causes and results in terms of findings.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "autograder/result.hpp"
#include "vgpu/checks/fault_finding.hpp"
#include "vgpu/checks/finding_order.hpp"

using namespace scanlab;
using namespace scanlab::grade;
using Kind = vgpu::Fault::Kind;

namespace {

vgpu::Fault bad_write() {
  vgpu::Fault fault;
  fault.kind = Kind::out_of_bounds;
  fault.id = "bounds.shared";
  fault.does = "write";
  fault.variable = "s_xy";
  fault.kernel = "k";
  fault.where = {"scan.cu", 14, 3, {}};
  fault.has_thread = true;
  fault.block[0] = 2;
  fault.thread[0] = 7;
  fault.headline = "write of 4 bytes outside shared array s_xy";
  fault.details = {"just past the end of s_xy, which has 4096 bytes"};
  fault.advice = "guard the access";
  return fault;
}

vgpu::Finding named(std::string id, vgpu::Finding::Weight weight = vgpu::Finding::Weight::mistake) {
  vgpu::Finding finding;
  finding.id = std::move(id);
  finding.weight = weight;
  return finding;
}

}  // namespace

TEST_CASE("a fault of each kind is a mistake with an id", "[findings]") {
  const std::pair<Kind, const char*> expected[] = {
      {Kind::out_of_bounds, "bounds.global"}, {Kind::misaligned, "misaligned"},   {Kind::trap, "trap"},
      {Kind::assertion, "assertion"},         {Kind::unsupported, "unsupported"}, {Kind::deadlock, "deadlock.threads"},
      {Kind::refused, "launch.failed"},       {Kind::budget, "endless"},          {Kind::undefined, "undefined"},
  };
  for (const auto& [kind, id] : expected) {
    vgpu::Fault fault;
    fault.kind = kind;
    CHECK(vgpu::to_finding(fault).id == id);
    CHECK(vgpu::to_finding(fault).weight == vgpu::Finding::Weight::mistake);
  }
}

TEST_CASE("what cannot run has its line, and a deadlock only the lines of its threads", "[findings]") {
  vgpu::Fault fault;
  fault.kind = Kind::unsupported;
  fault.does = "needs it";
  fault.where.file = "scan.cu";
  fault.where.line = 12;
  const vgpu::Finding cannot_run = vgpu::to_finding(fault);
  REQUIRE(cannot_run.parts.size() == 1);
  CHECK(cannot_run.parts.front().does == "needs it");
  CHECK(cannot_run.parts.front().where.line == 12);
  fault.kind = Kind::deadlock;
  fault.waiting.emplace_back().does = "wait at the barrier";
  const vgpu::Finding deadlock = vgpu::to_finding(fault);
  REQUIRE(deadlock.parts.size() == 1);
  CHECK(deadlock.parts.front().does == "wait at the barrier");
}

TEST_CASE("a bad access is reported with its place, its thread and its array", "[findings]") {
  CHECK(
      vgpu::to_finding(bad_write()).text() ==
      "FAULT: write of 4 bytes outside shared array s_xy, kernel k, block 2\n"
      "  write by thread 7   scan.cu:14\n"
      "  just past the end of s_xy, which has 4096 bytes\n"
      "  a shared array is the block's own, and its places begin at 0 in each block, as threadIdx.x does: look for an "
      "index, or a guard, that counts from the beginning of the whole array");
  const Cause cause = cause_of(vgpu::to_finding(bad_write()));
  CHECK(cause.id == "bounds.shared");
  CHECK(cause.where->line == 14);
  CHECK((*cause.where->block)[0] == 2);
  CHECK((*cause.where->thread)[0] == 7);
}

TEST_CASE("a deadlock says which threads wait where", "[findings]") {
  vgpu::Fault fault;
  fault.kind = Kind::deadlock;
  fault.id = "deadlock.blocks";
  fault.kernel = "k";
  fault.headline = "deadlock: no thread can go on";
  vgpu::WaitingThreads waiting;
  waiting.which = "blocks 1 to 64: thread 0";
  waiting.does = "loops until memory changes";
  waiting.where = {"scan.cu", 33, 1, {}};
  fault.waiting = {waiting};
  fault.details = {"block 0 has not started"};
  CHECK(vgpu::to_finding(fault).text() ==
        "DEADLOCK: no thread can go on, kernel k\n"
        "  blocks 1 to 64: thread 0 loops until memory changes   scan.cu:33\n"
        "  block 0 has not started");
  vgpu::Fault larger = fault;  // in a larger grid
  larger.waiting[0].which = "blocks 1 to 200: thread 0";
  CHECK(vgpu::reads_the_same(vgpu::to_finding(fault), vgpu::to_finding(larger)));
  larger.waiting[0].where.line = 34;
  CHECK_FALSE(vgpu::reads_the_same(vgpu::to_finding(fault), vgpu::to_finding(larger)));
}

TEST_CASE("the most basic finding comes first", "[findings]") {
  using enum vgpu::Finding::Weight;
  std::vector<vgpu::Finding> findings = {
      named("leak", advice), named("cost.barriers"),     named("wrong.other"),  named("deadlock.blocks"),
      named("race.shared"),  named("barrier.divergent"), named("bounds.local"), named("race.shared", advice)};
  vgpu::sort_most_basic_first(findings);
  std::vector<std::string> ids;
  for (const vgpu::Finding& finding : findings) ids.push_back(finding.id);
  CHECK(ids == std::vector<std::string>{"bounds.local", "barrier.divergent", "race.shared", "deadlock.blocks",
                                        "wrong.other", "cost.barriers", "race.shared", "leak"});
}

TEST_CASE("memory that no thread has written comes before the bad address that it makes", "[findings]") {
  vgpu::Finding fault = named("bounds.global"), unwritten = named("uninitialised.global");
  for (vgpu::Finding* finding : {&fault, &unwritten}) {
    finding->kernel = "k";
    finding->has_block = true;
    finding->parts.resize(1);
    finding->parts.back().where = {"scan.cu", 44, 1, {}};
  }
  unwritten.kind = "address";
  const auto first = [&] {
    std::vector<vgpu::Finding> findings = {fault, unwritten};
    vgpu::sort_most_basic_first(findings);
    return findings.front().id;
  };
  CHECK(first() == unwritten.id);
  unwritten.parts.back().where.line = 45;  // another access
  CHECK(first() == fault.id);
  unwritten.parts.back().where.line = 44;
  unwritten.kind = "branch";
  CHECK(first() == fault.id);
}

TEST_CASE("who accesses says from where the inlined function is called", "[findings]") {
  vgpu::Finding race = named("race.global");
  race.headline = "RACE";
  vgpu::Finding::Part& part = race.parts.emplace_back();
  part.does = "write";
  part.where = {"scan.cu", 62, 1, "pass_on"};
  part.callers = {{"scan.cu", 104, 1, {}}, {"scan.cu", 120, 1, {}}};
  CHECK(race.facts() == std::vector<std::string>{"write   scan.cu:62, called from scan.cu:104"});
}
