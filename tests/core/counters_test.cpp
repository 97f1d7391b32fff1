// Counts by the formulas of the CUDA documentation, on kernels small enough to count by hand.
#include "vgpu/checks/cost/counters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <set>

#include "kernel.hpp"
#include "vgpu/checks/cost/access_cost.hpp"

using namespace scanlab;
using test::Kernel;
using test::Setup;

namespace {

vgpu::Counts counts_of(const Kernel& k, unsigned threads = 32) {
  vgpu::Counters counters;
  const auto r = test::run(k, {.block = {threads, 1, 1}, .words = 4096, .observer = &counters});
  REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
  return counters.counts();
}

/// Every lane reads the shared word 'stride' times its number.
std::uint64_t replays(unsigned stride, const char* type = "u32", unsigned bytes = 4, const char* to = "%r5") {
  return counts_of({".shared .align 16 .b8 s_x[16384];\nmov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, " +
                    std::to_string(stride * bytes) + ";\nmov.u32 %r3, s_x;\nadd.u32 %r4, %r3, %r2;\nld.shared." + type +
                    " " + to + ", [%r4];\nret;\n"})
      .bank_conflict_replays;
}

}  // namespace

TEST_CASE("bank conflicts are those of 32 banks of 4 bytes") {
  CHECK(replays(0) == 0);  // all lanes read one word: a broadcast
  CHECK(replays(1) == 0);
  CHECK(replays(2) == 1);
  CHECK(replays(3) == 0);
  CHECK(replays(8) == 7);
  CHECK(replays(32) == 31);
  CHECK(replays(33) == 0);
  CHECK(replays(1, "u64", 8, "%rd5") == 0);  // two half warps
  CHECK(replays(2, "u64", 8, "%rd5") == 2);  // each half two ways
}

TEST_CASE("sectors are the 32-byte pieces that a warp touches") {
  const auto sectors = [](unsigned stride, unsigned offset) {
    return counts_of({"mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, " + std::to_string(4 * stride) +
                      ";\nadd.s64 %rd2, %out, %rd1;\nld.global.u32 %r2, [%rd2+" + std::to_string(offset) +
                      "];\nret;\n"})
        .global_sectors;
  };
  CHECK(sectors(1, 0) == 4);
  CHECK(sectors(1, 4) == 5);  // shifted by one element
  CHECK(sectors(2, 0) == 8);
  CHECK(sectors(8, 0) == 32);
  CHECK(sectors(0, 0) == 1);
}

TEST_CASE("additions are counted by thread and by warp, barriers by block") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, 40;
mov.f32 %f1, 0f3F800000;
@%p1 bra $L_end;
add.f32 %f1, %f1, %f1;
fma.rn.f32 %f1, %f1, %f1, %f1;
add.u32 %r1, %r1, 1;
$L_end:
bar.sync 0;
bar.sync 0;
atom.global.add.u32 %r2, [%out], 1;
ret;
)"};
  const auto c = counts_of(k, 64);
  CHECK(c.additions == 2 * 40);
  CHECK(c.warp_additions == 2 * 2);
  CHECK(c.addition_efficiency() == 40.0 / 64.0);
  CHECK(c.barriers == 2);
  CHECK(c.atomics == 64);
  CHECK(c.launches == 1);
}

TEST_CASE("arriving and waiting at an mbarrier is not an atomic") {
  const Kernel k{R"(
.shared .align 8 .b64 barrier;
mov.u32 %r1, barrier;
mov.u32 %r2, %tid.x;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra $L_ready;
mbarrier.init.shared.b64 [%r1], 64;
$L_ready:
bar.sync 0;
mbarrier.arrive.shared.b64 %rd1, [%r1];
$L_wait:
mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;
@!%p1 bra $L_wait;
atom.shared.add.u32 %r2, [%r1], 1;
ret;
)"};
  CHECK(counts_of(k, 64).atomics == 64);
}

TEST_CASE("threads are counted over all launches, also those with nothing to do") {
  const Kernel k{"ret;\n"};
  vgpu::Counters counters;
  Setup setup{.grid = {3, 1, 1}, .block = {40, 1, 1}, .observer = &counters};
  test::run(k, setup);
  CHECK(counters.counts().threads == 3 * 40);  // not whole warps: 40 is one and a quarter
  setup.grid.x = 1;
  setup.block = {8, 4, 2};
  test::run(k, setup);
  CHECK(counters.counts().threads == 3 * 40 + 64);
}

TEST_CASE("fences are those that reach other blocks, alone or with an access, once per warp") {
  const auto fences = [](const char* instruction) {
    return counts_of({std::string("mov.u32 %r1, 1;\n") + instruction + "\nret;\n"}, 64).fences;
  };
  CHECK(fences("membar.gl;") == 2);
  CHECK(fences("fence.acq_rel.gpu;") == 2);
  CHECK(fences("fence.sc.sys;") == 2);
  CHECK(fences("ld.acquire.gpu.global.u32 %r2, [%out];") == 2);
  CHECK(fences("st.release.gpu.global.u32 [%out], %r1;") == 2);
  CHECK(fences("atom.acq_rel.gpu.global.add.u32 %r2, [%out], 1;") == 2);
  CHECK(fences("membar.cta;") == 0);
  CHECK(fences("ld.acquire.cta.global.u32 %r2, [%out];") == 0);
  CHECK(fences("ld.volatile.global.u32 %r2, [%out];") == 0);
  CHECK(fences("atom.global.add.u32 %r2, [%out], 1;") == 0);
}

TEST_CASE("additions that a guard keeps all lanes from do not count, and nothing added is not a waste") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, 64;
mov.f32 %f1, 0f3F800000;
@%p1 add.f32 %f1, %f1, %f1;
add.u32 %r1, %r1, 1;
ret;
)"};
  const auto c = counts_of(k, 64);
  CHECK(c.additions == 0);
  CHECK(c.warp_additions == 0);
  CHECK(c.addition_efficiency() == 1.0);
}

TEST_CASE("the cost of a pattern is that of its addresses") {
  for (unsigned seed = 0; seed < 20000; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    vgpu::Access a;
    a.bytes = 1u << below(5);
    a.mask = below(3) ? vgpu::full_mask : static_cast<vgpu::Mask>(random());
    a.row_lanes = 2u << below(5);
    a.first = 1 << 20 | a.bytes * below(64);
    const auto any_distance = [&] {
      const auto n = static_cast<std::int64_t>(below(2) ? below(3) : below(70));
      return (below(4) ? n : -n) * a.bytes;
    };
    a.stride = any_distance();
    a.row_step = below(3) ? a.stride * a.row_lanes : any_distance();
    // A request of 8 or 16 bytes a lane is carried out in halves or quarters of the warp.
    const unsigned words = std::max(1u, a.bytes / vgpu::bank_bytes), lanes_a_pass = 32 / words;
    std::set<std::uint64_t> sectors;
    unsigned passes = 0;
    for (unsigned from = 0; from < 32; from += lanes_a_pass) {
      std::map<std::uint64_t, std::set<std::uint64_t>> words_of_bank;
      for (unsigned lane = from; lane < from + lanes_a_pass; ++lane) {
        if (!(a.mask >> lane & 1)) continue;
        const std::uint64_t at = a.first + static_cast<std::uint64_t>(a.stride) * (lane % a.row_lanes) +
                                 static_cast<std::uint64_t>(a.row_step) * (lane / a.row_lanes);
        REQUIRE(a.at(lane) == at);
        for (unsigned k = 0; k < words; ++k) {
          const std::uint64_t word = at / vgpu::bank_bytes + k;
          words_of_bank[word % vgpu::banks].insert(word);
        }
        for (unsigned byte = 0; byte < a.bytes; ++byte) sectors.insert((at + byte) / vgpu::sector_bytes);
      }
      std::size_t most = 0;
      for (const auto& [bank, different] : words_of_bank) most = std::max(most, different.size());
      passes += static_cast<unsigned>(most);
    }
    CHECK(vgpu::passes(a) == passes);
    CHECK(vgpu::sectors(a) == sectors.size());
  }
}
