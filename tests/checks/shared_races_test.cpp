// Races on shared memory: small kernels in which the check has to find exactly one, and as many without any.
#include "vgpu/checks/shared/shared_races.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../core/kernel.hpp"
#include "naive_races.hpp"

using namespace scanlab;
using test::Setup;
using vgpu::Finding;

namespace {

/// %r1 is the thread, %r4 the address of s_x[thread]; s_x has 1024 words, s_flag one.
const std::string begin = R"(
.shared .align 16 .b8 s_x[4096];
.shared .align 8 .b8 s_flag[8];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s_x;
add.u32 %r4, %r3, %r2;
mov.u32 %r10, 1;
and.b32 %r5, %r1, 31;
shr.u32 %r6, %r1, 5;
setp.eq.u32 %p1, %r1, 0;
setp.lt.u32 %p2, %r1, 32;
)";

/// Every line of PTX is the source line of its number.
test::Kernel kernel(const std::string& code) {
  std::string body = begin, line;
  unsigned number = 0;
  for (const char c : code + "\nret;\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (++number > 1) body += fmt::format(".loc 1 {} 0\n", number - 1);
    body += line + "\n";
    line.clear();
  }
  return {body};
}

std::string summary(const Finding& f) {
  const auto side = [](const Finding::Part& p) { return fmt::format("{} {}:{}", p.does, p.thread[0], p.where.line); };
  return fmt::format("{} {}[{}] {} {}", f.kind, f.variable, f.element.value(), side(f.parts.front()),
                     side(f.parts.back()));
}

std::set<std::pair<unsigned, unsigned>> line_pairs(const std::vector<Finding>& races) {
  std::set<std::pair<unsigned, unsigned>> pairs;
  for (const Finding& f : races) pairs.insert(std::minmax({f.parts.front().where.line, f.parts.back().where.line}));
  return pairs;
}

/// The races in lockstep. Under every other schedule there have to be some between the same lines, and the naive check
/// has to agree under each.
std::vector<std::string> races(const std::string& code, unsigned threads = 64, unsigned blocks = 1) {
  using Order = vgpu::Schedule::Order;
  std::vector<std::string> result;
  std::set<std::pair<unsigned, unsigned>> lines;
  for (const Order order : {Order::lockstep, Order::in_order, Order::reversed, Order::random}) {
    vgpu::SharedRaces check;
    test::NaiveRaces naive;
    for (vgpu::Observer* const observer : std::initializer_list<vgpu::Observer*>{&check, &naive}) {
      const auto r = test::run(kernel(code), {.grid = {blocks, 1, 1},
                                              .block = {threads, 1, 1},
                                              .words = 4096,
                                              .schedule = {order, 5},
                                              .observer = observer});
      INFO((r.result.fault ? r.result.fault->text() : r.result.message));
      REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
    }
    std::set<std::string> found, expected;
    for (const Finding& f : check.findings().list())
      found.insert(fmt::format("{} {}", f.parts.front().where.line, f.parts.back().where.line));
    for (const auto& [name, array, earlier, later] : naive.verdicts())
      expected.insert(earlier.substr(earlier.find(':') + 1) + " " + later.substr(later.find(':') + 1));
    CHECK(found == expected);
    if (order == Order::lockstep) {
      lines = line_pairs(check.findings().list());
      for (const Finding& f : check.findings().list()) result.push_back(summary(f));
    } else {
      CHECK(line_pairs(check.findings().list()) == lines);
    }
  }
  return result;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("a read of what another warp writes needs a barrier") {
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nld.shared.u32 %r7, [%r4+128];", 64) ==
        Found{"read-after-write s_x[32] write 32:1 read 0:2"});
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r7, [%r4+128];").empty());
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nld.shared.u32 %r7, [%r4];").empty());
}

TEST_CASE("a write over what another warp reads needs a barrier") {
  CHECK(races("\nld.shared.u32 %r7, [%r4+128];\nst.shared.u32 [%r4], %r1;") ==
        Found{"write-after-read s_x[32] read 0:1 write 32:2"});
  CHECK(races("\nld.shared.u32 %r7, [%r4+128];\nbar.sync 0;\nst.shared.u32 [%r4], %r1;").empty());
}

TEST_CASE("two writes to one place race unless they write the same") {
  const std::string lane = "\nshl.b32 %r8, %r5, 2;\nadd.u32 %r8, %r3, %r8;\n";
  CHECK(races(lane + "st.shared.u32 [%r8], %r1;") == Found{"write-after-write s_x[0] write 0:3 write 32:3"});
  CHECK(races(lane + "st.shared.u32 [%r8], %r10;").empty());
}

TEST_CASE("two lanes of one store race unless they write the same") {
  CHECK(races("\nst.shared.u32 [s_flag], %r1;", 32) == Found{"write-after-write s_flag[0] write 0:1 write 1:1"});
  CHECK(races("\nst.shared.u32 [s_flag], %r10;", 32).empty());
  CHECK(races("\nst.shared.u32 [s_flag], %r6;", 32).empty());
}

TEST_CASE("all threads may write the same and read it back") {
  CHECK(races("\nst.shared.u32 [s_flag], %r10;\nld.shared.u32 %r7, [s_flag];", 96).empty());
  CHECK(races("\n@%p1 st.shared.u32 [s_flag], %r10;\nld.shared.u32 %r7, [s_flag];", 32) ==
        Found{"warp-synchronous s_flag[0] write 0:1 read 1:2"});
}

TEST_CASE("lanes of a warp are in step only after a warp's barrier") {
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nld.shared.u32 %r7, [%r4+4];", 32) ==
        Found{"warp-synchronous s_x[1] write 1:1 read 0:2"});
  CHECK(races("\nst.volatile.shared.u32 [%r4], %r1;\nld.volatile.shared.u32 %r7, [%r4+4];", 32) ==
        Found{"warp-synchronous s_x[1] write 1:1 read 0:2"});
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r7, [%r4+4];", 32).empty());
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nshfl.sync.idx.b32 %r8, %r1, 0, 31, -1;\nld.shared.u32 %r7, [%r4+4];", 32)
            .empty());
  // A warp's barrier does not count for other warps.
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r7, [%r4+128];") ==
        Found{"read-after-write s_x[32] write 32:1 read 0:3"});
}

TEST_CASE("a barrier of some lanes orders these") {
  const std::string tile = "\nand.b32 %r8, %r1, 24;\nmov.u32 %r9, 255;\nshl.b32 %r9, %r9, %r8;\n";
  const std::string code = tile +
                           "st.shared.u32 [%r4], %r1;\nbar.warp.sync %r9;\nxor.b32 %r11, %r2, {};\n"
                           "add.u32 %r11, %r3, %r11;\nld.shared.u32 %r7, [%r11];";
  const auto of = [&](const std::string& text, const char* distance) {
    std::string t = text;
    return t.replace(t.find("{}"), 2, distance);
  };
  CHECK(races(of(code, "4")).empty());
  CHECK(races(of(code, "28")).empty());
  CHECK(races(of(code, "32")) == Found{"warp-synchronous s_x[8] write 8:4 read 0:8"});
}

TEST_CASE("a barrier with a count orders the threads that take part") {
  // Of three warps the first two meet at barrier 1.
  const std::string code =
      "\nst.shared.u32 [%r4], %r1;\nsetp.lt.u32 %p3, %r1, 64;\n@!%p3 bra $over;\nbar.sync 1, 64;\n"
      "ld.shared.u32 %r7, [%r3+{}];\n$over:";
  const auto reads = [&](const char* offset) {
    std::string t = code;
    return t.replace(t.find("{}"), 2, offset);
  };
  CHECK(races(reads("128"), 96).empty());
  const auto found = races(reads("256"), 96);
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("s_x[64]") != std::string::npos);
  // A count of all threads is a barrier of the block.
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nbar.sync 2, 64;\nld.shared.u32 %r7, [%r4+128];").empty());
}

TEST_CASE("a thread that arrives and goes on is ordered before those that wait, up to the arrival") {
  const std::string produce = "\n@!%p2 bra $consume;\nst.shared.u32 [%r4], %r1;\nbar.arrive 1, 64;\n",
                    consume = "bra $end;\n$consume:\nbar.sync 1, 64;\nld.shared.u32 %r7, [%r4+-128];\n$end:";
  CHECK(races(produce + consume).empty());
  const auto found = races(produce + "st.shared.u32 [%r4], %r10;\n" + consume);
  REQUIRE(found.size() == 1);
}

TEST_CASE("a flag orders with a fence in front of it") {
  const auto flag = [](const std::string& fence, const std::string& set, const std::string& get) {
    return "\nst.shared.u32 [s_flag], 0;\nbar.sync 0;\n@!%p1 bra $wait;\nst.shared.u32 [s_x], %r10;\n" + fence + "\n" +
           set + "\nbra $end;\n$wait:\nsetp.ne.u32 %p3, %r1, 32;\n@%p3 bra $end;\n$spin:\n" + get +
           "\nsetp.eq.u32 %p4, %r7, 0;\n@%p4 bra $spin;\nld.shared.u32 %r8, [s_x];\n$end:";
  };
  const std::string volatile_load = "ld.volatile.shared.u32 %r7, [s_flag];";
  CHECK(races(flag("membar.cta;", "st.volatile.shared.u32 [s_flag], %r10;", volatile_load)).empty());
  CHECK(races(flag("membar.cta;", "atom.shared.exch.b32 %r9, [s_flag], %r10;", volatile_load)).empty());
  CHECK(
      races(flag("", "st.release.cta.shared.u32 [s_flag], %r10;", "ld.acquire.cta.shared.u32 %r7, [s_flag];")).empty());
  CHECK(races(flag("", "atom.release.cta.shared.exch.b32 %r9, [s_flag], %r10;",
                   "atom.acquire.cta.shared.or.b32 %r7, [s_flag], 0;"))
            .empty());
  CHECK(races(flag("", "st.relaxed.cta.shared.u32 [s_flag], %r10;", "ld.relaxed.cta.shared.u32 %r7, [s_flag];")) ==
        Found{"writer s_x[0] write 0:4 read 32:15"});
}

TEST_CASE("a flag in global memory orders too") {
  const std::string code =
      "\n@!%p1 bra $wait;\nst.shared.u32 [s_x], %r10;\nmembar.cta;\nst.volatile.global.u32 [%out], %r10;\nbra $end;\n"
      "$wait:\nsetp.ne.u32 %p3, %r1, 32;\n@%p3 bra $end;\n$spin:\nld.volatile.global.u32 %r7, [%out];\n"
      "setp.eq.u32 %p4, %r7, 0;\n@%p4 bra $spin;\nld.shared.u32 %r8, [s_x];\n$end:";
  CHECK(races(code).empty());
}

TEST_CASE("atomics race with accesses that are not atomic") {
  CHECK(races("\natom.shared.add.u32 %r7, [s_flag], 1;").empty());
  CHECK(races("\natom.shared.add.u32 %r7, [s_flag], 1;\nbar.sync 0;\nld.shared.u32 %r7, [s_flag];").empty());
  CHECK(races("\n@%p2 atom.shared.add.u32 %r7, [s_flag], 1;\n@!%p2 ld.shared.u32 %r7, [s_flag];").size() == 1);
}

TEST_CASE("bytes count, not words") {
  const std::string byte = "\nadd.u32 %r8, %r3, %r1;\nst.shared.u8 [%r8], %r1;\n";
  CHECK(races(byte, 32).empty());
  CHECK(races(byte + "ld.shared.u8 %r7, [%r8];", 32).empty());
  CHECK(races(byte + "ld.shared.u8 %r7, [%r8+1];", 32) == Found{"warp-synchronous s_x[1] write 1:2 read 0:3"});
  CHECK(races(byte + "and.b32 %r9, %r8, -4;\nld.shared.u32 %r7, [%r9];", 32).size() == 1);
  // A pair of words over two of other threads.
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nshl.b32 %r8, %r1, 3;\nadd.u32 %r8, %r3, %r8;\n"
              "ld.shared.v2.u32 {%r7, %r9}, [%r8];",
              32)
            .size() == 1);
  CHECK(races("\nshl.b32 %r8, %r1, 4;\nadd.u32 %r8, %r3, %r8;\nst.shared.v4.u32 [%r8], {%r1, %r1, %r1, %r1};\n"
              "ld.shared.u64 %rd1, [%r8+8];")
            .empty());
}

TEST_CASE("threads that have exited count as having arrived at a barrier") {
  CHECK(races("\nst.shared.u32 [%r4], %r1;\n@%p2 exit;\nbar.sync 0;\nld.shared.u32 %r7, [%r4+-128];").empty());
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nsetp.gt.u32 %p3, %r5, 15;\n@%p3 exit;\nbar.warp.sync -1;\n"
              "ld.shared.u32 %r7, [%r4+64];")
            .empty());
}

TEST_CASE("a block that is not whole warps, and guards at its tail") {
  const std::string code =
      "\nst.shared.u32 [%r4], %r1;\nbar.sync 0;\nsetp.ge.u32 %p3, %r1, 40;\n"
      "@!%p3 ld.shared.u32 %r7, [%r4+4];\nbar.sync 0;\n@!%p3 st.shared.u32 [%r4], %r7;";
  CHECK(races(code, 50).empty());
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nsetp.ge.u32 %p3, %r1, 18;\n@!%p3 ld.shared.u32 %r7, [%r4+128];", 50) ==
        Found{"write-after-read s_x[32] read 0:3 write 32:1"});
}

TEST_CASE("a copy is complete for its thread when it has waited, for others after a barrier") {
  const std::string copy = "\ncp.async.ca.shared.global [%r4], [%out], 4;\ncp.async.commit_group;\n";
  const std::string own = "ld.shared.u32 %r7, [%r4];", other = "ld.shared.u32 %r7, [%r4+128];";
  CHECK(races(copy + own, 32) == Found{"read-after-write s_x[0] async copy 0:1 read 0:3"});
  CHECK(races(copy + "cp.async.wait_group 0;\n" + own, 32).empty());
  CHECK(races(copy + "cp.async.wait_all;\n" + own, 32).empty());
  CHECK(races(copy + "cp.async.wait_group 1;\n" + own, 32).size() == 1);
  CHECK(races(copy + "cp.async.wait_group 0;\n" + other).size() == 1);
  CHECK(races(copy + "bar.sync 0;\n" + other) == Found{"read-after-write s_x[32] async copy 32:1 read 0:4"});
  CHECK(races(copy + "cp.async.wait_group 0;\nbar.sync 0;\n" + other).empty());
  // The older of two groups.
  const std::string second =
      "cp.async.ca.shared.global [%r4+512], [%out], 4;\ncp.async.commit_group;\n"
      "cp.async.wait_group 1;\nbar.sync 0;\n";
  CHECK(races(copy + second + other).empty());
  CHECK(races(copy + second + "ld.shared.u32 %r7, [%r4+640];").size() == 1);
}

TEST_CASE("the phases of an mbarrier order threads that arrive before threads that wait") {
  // Warp 0 fills s_x and arrives; warp 1 waits for the phase and reads.
  const std::string init =
      "\n@%p1 mbarrier.init.shared.b64 [s_flag], 32;\nbar.sync 0;\n@!%p2 bra $consume;\n"
      "st.shared.u32 [%r4], %r1;\nmbarrier.arrive.shared.b64 %rd1, [s_flag];\n";
  const std::string consume =
      "bra $end;\n$consume:\n$spin:\nmbarrier.test_wait.parity.shared.b64 %p3, [s_flag], 0;\n"
      "@!%p3 bra $spin;\nld.shared.u32 %r7, [%r4+-128];\n$end:";
  CHECK(races(init + consume).empty());
  CHECK(races(init + "st.shared.u32 [%r4], %r10;\n" + consume).size() == 1);
  CHECK(races("\n@%p1 mbarrier.init.shared.b64 [s_flag], 64;\nmbarrier.arrive.shared.b64 %rd1, [s_flag];", 32).size() ==
        1);
}

TEST_CASE("rows of neighbouring warps, even, strided, reversed and shifted") {
  const std::string reversed = "\nsub.u32 %r8, 127, %r1;\nshl.b32 %r8, %r8, 2;\nadd.u32 %r8, %r3, %r8;\n";
  CHECK(races(reversed + "st.shared.u32 [%r8], %r1;\nbar.sync 0;\nld.shared.u32 %r7, [%r4];", 128).empty());
  CHECK(races(reversed + "st.shared.u32 [%r8], %r1;\nld.shared.u32 %r7, [%r8];", 128).empty());
  CHECK(!races(reversed + "st.shared.u32 [%r8], %r1;\nld.shared.u32 %r7, [%r4];", 128).empty());
  const std::string strided = "\nshl.b32 %r8, %r1, 3;\nadd.u32 %r8, %r8, 8;\nadd.u32 %r8, %r3, %r8;\n";
  CHECK(races(strided + "st.shared.u32 [%r8], %r1;\nld.shared.u32 %r7, [%r8+4];", 128).empty());
  CHECK(races(strided + "st.shared.u32 [%r8], %r1;\nld.shared.u32 %r7, [%r8+-4];", 128).empty());
  CHECK(!races(strided + "st.shared.u32 [%r8], %r1;\nld.shared.u32 %r7, [%r8+8];", 128).empty());
  // Only the last thread of one row meets the first of the next.
  CHECK(races("\nst.shared.u32 [%r4], %r1;\nadd.u32 %r9, %r1, 1;\nsetp.ne.u32 %p3, %r1, 127;\n@%p3 bra $end;\n"
              "ld.shared.u32 %r7, [s_x];\n$end:",
              128) == Found{"read-after-write s_x[0] write 0:1 read 127:5"});
}

TEST_CASE("many accesses between two barriers go over into shadow memory") {
  std::string code =
      "\nst.shared.u32 [%r4], %r1;\nmov.u32 %r11, 0;\n$loop:\nmul.lo.u32 %r8, %r11, 37;\n"
      "add.u32 %r8, %r8, %r1;\nmul.lo.u32 %r8, %r8, 5;\nand.b32 %r8, %r8, 511;\nshl.b32 %r8, %r8, 2;\n"
      "add.u32 %r8, %r3, %r8;\nld.shared.u32 %r7, [%r8+2048];\nadd.u32 %r11, %r11, 1;\n"
      "setp.lt.u32 %p3, %r11, 400;\n@%p3 bra $loop;\n";
  CHECK(races(code + "bar.sync 0;\nst.shared.u32 [%r4+2048], %r1;", 128).empty());
  CHECK(!races(code + "st.shared.u32 [%r4+2048], %r1;", 128).empty());
}

TEST_CASE("the race of the lowest block is reported, whichever thread runs it") {
  Setup setup{.grid = {50, 1, 1}, .block = {8, 4, 2}, .words = 4096};
  vgpu::SharedRaces check;
  setup.observer = &check;
  const auto k = kernel(
      "\nmov.u32 %r7, %tid.y;\nmov.u32 %r8, %tid.z;\nshl.b32 %r7, %r7, 3;\nshl.b32 %r8, %r8, 5;\n"
      "add.u32 %r1, %r1, %r7;\nadd.u32 %r1, %r1, %r8;\nshl.b32 %r2, %r1, 2;\nadd.u32 %r4, %r3, %r2;\n"
      "st.shared.u32 [%r4], %r1;\nld.shared.u32 %r7, [%r4+128];");
  REQUIRE(test::run(k, setup).result.status == vgpu::LaunchResult::Status::ok);
  REQUIRE(check.findings().total() == 1);
  const Finding& r = check.findings().list()[0];
  CHECK(r.block[0] == 0);
  CHECK(r.count == 50 * 32);
  CHECK(r.parts[0].thread[2] == 1);
  CHECK(r.text() ==
        "RACE (read-after-write): shared s_x[32], kernel k, block 0\n"
        "  write by thread (0, 0, 1)   kernel.cu:9\n"
        "  read  by thread (0, 0, 0)   kernel.cu:10\n"
        "  no barrier separates them: the read may find what was there before, or what is written\n"
        "  and 1599 more like this");
  const auto json = to_json(r);
  CHECK(json["id"] == "race.shared");
  CHECK(json["kind"] == "read-after-write");
  CHECK(json["variable"] == "s_x");
  CHECK(json["element"] == 32);
  CHECK(json["parts"][1]["line"] == 10);
  CHECK(json["parts"][0]["thread"] == nlohmann::json({0, 0, 1}));
}

TEST_CASE("warps side by side that store the same over each other do no harm") {
  // In a block of 32 x 4 threads, tid.x is the same in every warp. From the second block on the array is known.
  const auto found = [](const std::string& value) {
    Setup setup{.grid = {3, 1, 1}, .block = {32, 4, 1}};
    vgpu::SharedRaces check;
    setup.observer = &check;
    const auto k = kernel("\nmov.u32 %r8, %tid.y;\nst.shared.u32 [%r4], " + value + ";\nld.shared.u32 %r7, [%r4];");
    REQUIRE(test::run(k, setup).result.status == vgpu::LaunchResult::Status::ok);
    Found result;
    for (const Finding& f : check.findings().list()) result.push_back(f.kind);
    return result;
  };
  CHECK(found("%r10").empty());
  CHECK(found("%r1").empty());
  CHECK(found("%r8") == Found{"write-after-write"});
}

TEST_CASE("forks of the check see what it would have seen") {
  Setup setup;
  vgpu::SharedRaces check;
  const vgpu::KernelInfo info{"k", {4, 1, 1}, {64, 1, 1}, 4096, nullptr, {{"s_x", 8192, 4096}}};
  static const ptx::Module module;
  vgpu::KernelInfo kernel_info = info;
  kernel_info.module = &module;
  check.kernel_begin(kernel_info);
  const auto race_in = [](vgpu::Observer& o, std::uint64_t block) {
    o.block_begin(block, 0);
    vgpu::Access a;
    a.space = ptx::StateSpace::shared;
    a.actor.block = block;
    a.mask = vgpu::full_mask;
    a.bytes = 4;
    a.first = 8192;
    a.stride = 4;
    o.store(a);
    a.actor.warp = 1;
    o.load(a);
  };
  const auto later = check.fork(), earlier = check.fork();
  race_in(*later, 3);
  race_in(*earlier, 1);
  check.join(*later);
  check.join(*earlier);
  check.kernel_end();
  REQUIRE(check.findings().total() == 1);
  CHECK(check.findings().list()[0].block[0] == 1);
  CHECK(check.findings().list()[0].count == 64);
  check.reset();
  CHECK(check.findings().list().empty());
}
