// Which lines cost most: from events made by hand, with costs that follow from their addresses.
#include "vgpu/checks/cost/line_costs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

using namespace scanlab;
using Catch::Matchers::ContainsSubstring;
using vgpu::Access;
using Cost = vgpu::LineCosts::Cost;

namespace {

constexpr std::uint64_t window = 8192;

const ptx::Module& module_with_lines() {
  static const ptx::Module made = [] {
    ptx::Module m;
    m.files = {"", "kernel.cu"};
    m.lines.resize(1);
    for (std::uint32_t k = 1; k <= 20; ++k) m.lines.push_back({1, k, 0, -1, {}});
    return m;
  }();
  return made;
}

const vgpu::KernelInfo& kernel() {
  static const vgpu::KernelInfo info{"k", {2, 1, 1}, {64, 1, 1}, 4096, &module_with_lines(), {{"s_x", window, 4096}}};
  return info;
}

Access row(std::uint32_t line, ptx::StateSpace space, std::int64_t stride, std::uint32_t bytes = 4) {
  Access a;
  a.actor.line = line;
  a.space = space;
  a.mask = vgpu::full_mask;
  a.bytes = bytes;
  a.first = space == ptx::StateSpace::shared ? window : vgpu::global_window + 4096;
  a.stride = stride;
  return a;
}
Access shared(std::uint32_t line, std::int64_t stride) {
  return row(line, ptx::StateSpace::shared, stride);
}
Access global(std::uint32_t line, std::int64_t stride) {
  return row(line, ptx::StateSpace::global, stride);
}

std::vector<unsigned> lines_of(const std::vector<vgpu::Finding>& findings) {
  std::vector<unsigned> lines;
  for (const vgpu::Finding& f : findings) lines.push_back(f.parts.at(0).where.line);
  return lines;
}

}  // namespace

TEST_CASE("lines with bank conflicts are reported, those with the most extra passes first") {
  vgpu::LineCosts costs;
  costs.kernel_begin(kernel());
  costs.load(shared(3, 4));                // side by side
  costs.load(shared(4, 8));                // two ways
  costs.stores({shared(5, 32), 2, 1024});  // eight ways, two warps
  costs.load(shared(6, 0));                // one word for all
  costs.kernel_end();
  const auto found = costs.findings(Cost::bank_conflicts);
  CHECK(lines_of(found) == std::vector<unsigned>{5, 4});
  CHECK(found[0].id == "cost.bank_conflicts");
  CHECK(found[0].weight == vgpu::Finding::Weight::advice);
  CHECK(found[0].headline == "BANK CONFLICTS: shared s_x, 14 extra passes for 2 requests, up to 8 ways, kernel k");
  CHECK(found[0].details.at(0) == "neighbouring threads stand 8 words apart, so 8 of a warp meet in one bank");
  CHECK_THAT(found[1].headline, ContainsSubstring("1 extra passes for 1 requests, up to 2 ways"));
  CHECK(costs.findings(Cost::bank_conflicts, 1).size() == 1);
  CHECK(costs.findings(Cost::sectors).empty());
}

TEST_CASE("lines that move more sectors than their bytes fill are reported") {
  vgpu::LineCosts costs;
  costs.kernel_begin(kernel());
  costs.load(global(3, 4));             // 128 bytes in 4 sectors
  costs.store(global(4, 32));           // 128 bytes in 32
  costs.loads({global(5, 8), 2, 256});  // 256 bytes in 16
  costs.kernel_end();
  const auto found = costs.findings(Cost::sectors);
  CHECK(lines_of(found) == std::vector<unsigned>{4, 5});
  CHECK(found[0].headline ==
        "UNCOALESCED: 32 sectors of 32 bytes for 128 bytes, 8.0 times as many as they fill, kernel k");
  CHECK_THAT(found[1].headline, ContainsSubstring("16 sectors of 32 bytes for 256 bytes, 2.0 times"));
}

TEST_CASE("branches that send lanes two ways are reported, by how many lanes diverge") {
  vgpu::LineCosts costs;
  costs.kernel_begin(kernel());
  vgpu::Actor actor;
  actor.line = 7;
  costs.branch(actor, vgpu::full_mask, vgpu::full_mask);
  costs.branch(actor, vgpu::full_mask, 0);
  actor.line = 8;
  costs.branch(actor, vgpu::full_mask, 1);
  actor.line = 9;
  costs.branch(actor, vgpu::full_mask, 0xFFFF);
  costs.branch(actor, 0xFF, 0xFF);
  costs.kernel_end();
  const auto found = costs.findings(Cost::divergence);
  CHECK(lines_of(found) == std::vector<unsigned>{9, 8});
  CHECK(found[0].headline == "DIVERGENCE: 1 of 2 branches send the lanes of a warp two ways, kernel k");
}

TEST_CASE("barriers are reported by how many times a block stands at them, over all launches") {
  vgpu::LineCosts costs;
  vgpu::Actor actor;
  for (int launch = 0; launch < 2; ++launch) {
    costs.kernel_begin(kernel());
    for (int block = 0; block < 2; ++block) {
      actor.line = 3;
      costs.barrier_complete(actor, 0, vgpu::Observer::Meeting::all);
      actor.line = 4;
      for (int k = 0; k < 10; ++k) costs.barrier_complete(actor, 0, vgpu::Observer::Meeting::all);
    }
    costs.kernel_end();
  }
  const auto found = costs.findings(Cost::barriers);
  CHECK(lines_of(found) == std::vector<unsigned>{4, 3});
  CHECK(found[0].headline == "BARRIER: 10 a block, kernel k");
  CHECK(found[1].headline == "BARRIER: 1 a block, kernel k");
  costs.reset();
  CHECK(costs.findings(Cost::barriers).empty());
}

TEST_CASE("traffic is what lines ask global memory for, the largest first") {
  vgpu::LineCosts costs;
  costs.kernel_begin(kernel());
  costs.load(global(3, 4));
  for (int k = 0; k < 2; ++k) costs.store(global(4, 64));
  costs.load(shared(5, 4));
  costs.kernel_end();
  const auto found = costs.findings(Cost::traffic);
  CHECK(lines_of(found) == std::vector<unsigned>{4, 3});
  CHECK(found[0].headline == "TRAFFIC: 256 bytes of global memory in 2 requests, kernel k");
  CHECK(found[1].headline == "TRAFFIC: 128 bytes of global memory in 1 requests, kernel k");
}

TEST_CASE("forks of the costs add up to what one observer has seen") {
  vgpu::LineCosts costs, alone;
  costs.kernel_begin(kernel());
  alone.kernel_begin(kernel());
  const auto one = costs.fork(), other = costs.fork();
  for (vgpu::Observer* o : {one.get(), static_cast<vgpu::Observer*>(&alone)}) o->load(shared(4, 8));
  for (vgpu::Observer* o : {other.get(), static_cast<vgpu::Observer*>(&alone)}) o->load(shared(4, 64));
  costs.join(*one);
  costs.join(*other);
  costs.kernel_end();
  alone.kernel_end();
  const auto found = costs.findings(Cost::bank_conflicts), expected = alone.findings(Cost::bank_conflicts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].text() == expected.at(0).text());
  CHECK_THAT(found[0].headline, ContainsSubstring("16 extra passes for 2 requests, up to 16 ways"));
}
