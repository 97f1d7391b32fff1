// A launch gives the same on any number of host threads: memory, counts, instructions, faults.
#include "vgpu/core/run/parallel.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <numeric>

#include "kernel.hpp"
#include "vgpu/checks/cost/counters.hpp"

using namespace scanlab;
using test::Kernel;
using Order = vgpu::Schedule::Order;
using Status = vgpu::LaunchResult::Status;

namespace {

struct Launch {
  Kernel kernel;
  vgpu::Dim3 grid{300, 1, 1}, block{64, 1, 1};
  std::size_t words = 300 * 64;
  std::uint64_t dynamic_shared = 0;
  std::uint64_t max_warp_instructions = 100'000'000;
};

enum class Counting { off, on };

struct Outcome {
  Status status{};
  std::string fault;
  std::uint64_t warp_instructions = 0;
  std::vector<std::uint32_t> memory;
  std::vector<std::pair<std::string, double>> counts;
  vgpu::ParallelRounds rounds;
};

/// The kernel after `launches` launches, over a buffer of 0, 1, 2, …
Outcome outcome(const Launch& launch, unsigned threads, Order order, Counting counting = Counting::off,
                unsigned launches = 1) {
  vgpu::Device device(vgpu::small_profile());
  device.threads = threads;
  device.least_parallel_ns = 0;
  device.schedule = {order, 0};
  device.max_warp_instructions = launch.max_warp_instructions;
  vgpu::Counters counters;
  if (counting == Counting::on) device.attach(&counters);
  Outcome o;
  o.memory.resize(launch.words);
  std::iota(o.memory.begin(), o.memory.end(), 0u);
  const vgpu::Address out = device.memory().allocate(4 * launch.words, "out");
  device.memory().write(out, o.memory.data(), 4 * launch.words);
  vgpu::LaunchRequest request =
      test::launch_of(device.load(launch.kernel.text()), launch.grid, launch.block, std::as_bytes(std::span(&out, 1)));
  request.dynamic_shared = launch.dynamic_shared;
  for (unsigned k = 0; k < launches; ++k) {
    const vgpu::LaunchResult result = device.launch(request);
    o.status = result.status;
    o.fault = result.fault ? result.fault->text() : "";
    o.warp_instructions += result.warp_instructions;
  }
  device.memory().read(o.memory.data(), out, 4 * launch.words);
  o.counts = counters.counts().named();
  o.rounds = device.parallel_rounds();
  return o;
}

void check_same(const Outcome& one, const Outcome& several) {
  CHECK(several.status == one.status);
  CHECK(several.fault == one.fault);
  CHECK(several.warp_instructions == one.warp_instructions);
  CHECK(several.memory == one.memory);
  CHECK(several.counts == one.counts);
}

/// %r1 the thread's number in the grid, %rd1 the address of its word.
const std::string own_word = R"(
mov.u32 %r10, %tid.x;
mov.u32 %r11, %ctaid.x;
mov.u32 %r12, %ntid.x;
mad.lo.s32 %r1, %r11, %r12, %r10;
mul.wide.u32 %rd10, %r1, 4;
add.s64 %rd1, %out, %rd10;
)";

/// In a matrix of 160 columns, cut into tiles of 16 x 4: %rd1 the thread's own word, %rd2 that of its tile's first
/// column, %r1 what the two have as numbers.
const std::string own_tile = R"(
mov.u32 %r10, %tid.x;
mov.u32 %r11, %ctaid.x;
mov.u32 %r12, %tid.y;
mov.u32 %r13, %ctaid.y;
mad.lo.u32 %r14, %r13, 4, %r12;
mul.lo.u32 %r14, %r14, 160;
mad.lo.u32 %r14, %r11, 16, %r14;
add.u32 %r1, %r14, %r10;
mul.wide.u32 %rd10, %r1, 4;
add.s64 %rd1, %out, %rd10;
mul.wide.u32 %rd11, %r14, 4;
add.s64 %rd2, %out, %rd11;
)";
constexpr vgpu::Dim3 tiles{10, 30, 1}, of_tile{16, 4, 1};

/// So many barriers that other blocks are started beside this one.
const std::string linger = R"(
mov.u32 %r20, 100;
$L_linger:
bar.sync 0;
sub.u32 %r20, %r20, 1;
setp.ne.u32 %p9, %r20, 0;
@%p9 bra $L_linger;
)";

/// The blocks of these kernels have nothing to do with each other.
std::vector<std::pair<const char*, Launch>> independent() {
  std::vector<std::pair<const char*, Launch>> all;
  all.push_back({"its own word", {{own_word + R"(
ld.global.u32 %r2, [%rd1];
mad.lo.u32 %r2, %r2, 3, %r1;
st.global.u32 [%rd1], %r2;
ret;
)"}}});
  all.push_back({"floating-point additions and a loop", {{own_word + R"(
ld.global.u32 %r2, [%rd1];
and.b32 %r3, %r2, 15;
mov.f32 %f1, 0f3F800000;
$L_loop:
add.f32 %f1, %f1, %f1;
setp.eq.u32 %p1, %r3, 0;
sub.u32 %r3, %r3, 1;
@!%p1 bra $L_loop;
st.global.f32 [%rd1], %f1;
ret;
)"}}});
  all.push_back({"a reversal through shared memory", {{".shared .align 4 .b8 s_x[256];\n" + own_word + R"(
mov.u32 %r4, s_x;
shl.b32 %r5, %r10, 2;
add.u32 %r6, %r4, %r5;
ld.global.u32 %r2, [%rd1];
st.shared.u32 [%r6], %r2;
bar.sync 0;
mov.u32 %r7, 252;
sub.u32 %r7, %r7, %r5;
add.u32 %r7, %r4, %r7;
ld.shared.u32 %r8, [%r7];
st.global.u32 [%rd1], %r8;
ret;
)"}}});
  all.push_back({"a guarded tail of warps and blocks",
                 {{own_word + R"(
setp.ge.u32 %p1, %r1, 19003;
@%p1 bra $L_end;
ld.global.u32 %r2, [%rd1];
add.u32 %r2, %r2, 7;
st.global.u32 [%rd1], %r2;
$L_end:
ret;
)"},
                  {380, 1, 1},
                  {51, 1, 1},
                  19200}});
  all.push_back({"scattered words", {{own_word + R"(
mul.lo.u32 %r2, %r1, 7919;
rem.u32 %r2, %r2, 19200;
mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd2, %out, %rd2;
st.global.u32 [%rd2], %r1;
ret;
)"}}});
  all.push_back({"vectors and generic addresses", {{own_word + R"(
shr.u32 %r2, %r1, 2;
and.b32 %r3, %r1, 3;
setp.ne.u32 %p1, %r3, 0;
@%p1 bra $L_end;
mul.wide.u32 %rd2, %r2, 16;
add.s64 %rd2, %out, %rd2;
ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd2];
add.u32 %r4, %r4, %r7;
st.global.v2.u32 [%rd2], {%r7, %r4};
cvta.global.u64 %rd3, %rd2;
ld.u32 %r8, [%rd3+8];
add.u32 %r8, %r8, 1;
st.u32 [%rd3+12], %r8;
$L_end:
ret;
)"}}});
  all.push_back({"half words and bytes", {{".reg .b16 %h<4>;\n" + own_word + R"(
ld.global.u16 %h1, [%rd1];
st.global.u16 [%rd1+2], %h1;
st.global.u8 [%rd1+1], %r10;
ret;
)"}}});
  all.push_back({"asynchronous copies", {{".shared .align 16 .b8 s_x[256];\n" + own_word + R"(
mov.u32 %r4, s_x;
shl.b32 %r5, %r10, 2;
add.u32 %r6, %r4, %r5;
cp.async.ca.shared.global [%r6], [%rd1], 4;
cp.async.wait_all;
bar.sync 0;
ld.shared.u32 %r7, [%r6];
shl.b32 %r7, %r7, 1;
st.global.u32 [%rd1], %r7;
ret;
)"}}});
  all.push_back({"long lives", {{own_word + linger + R"(
ld.global.u32 %r2, [%rd1];
add.u32 %r2, %r2, 7;
st.global.u32 [%rd1], %r2;
ret;
)"}}});
  all.push_back({"a long life now and then", {{own_word + R"(
ld.global.u32 %r2, [%rd1];
rem.u32 %r3, %r11, 7;
setp.ne.u32 %p1, %r3, 5;
@%p1 bra $L_short;
)" + linger + R"(
$L_short:
add.u32 %r2, %r2, 7;
st.global.u32 [%rd1], %r2;
ret;
)"}}});
  all.push_back({"a grid of two dimensions, a uniform load and a stride",
                 {{R"(
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ctaid.y;
mov.u32 %r3, %tid.x;
mov.u32 %r4, %tid.y;
mad.lo.u32 %r5, %r2, 4, %r4;
mad.lo.u32 %r6, %r1, 16, %r3;
mad.lo.u32 %r7, %r5, 160, %r6;
mul.wide.u32 %rd2, %r7, 8;
add.s64 %rd3, %out, %rd2;
ld.global.u32 %r8, [%out+38396];
ld.global.u32 %r9, [%rd3];
add.u32 %r9, %r9, %r8;
st.global.u32 [%rd3], %r9;
ret;
)"},
                  {10, 15, 1},
                  {16, 4, 1},
                  19202}});
  all.push_back({"tiles of a matrix, whose address grows in a loop",
                 {{own_tile + R"(
mov.u32 %r2, 0;
$L_loop:
ld.global.u32 %r3, [%rd1];
ld.global.u32 %r4, [%rd2];
mad.lo.u32 %r3, %r3, 3, %r4;
st.global.u32 [%rd1], %r3;
add.s64 %rd1, %rd1, 0;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 3;
@%p1 bra $L_loop;
ret;
)"},
                  tiles,
                  of_tile}});
  return all;
}

/// Blocks of these touch what others write, fault, or never end.
std::vector<std::pair<const char*, Launch>> entangled() {
  std::vector<std::pair<const char*, Launch>> all;
  all.push_back({"each block reads what the one before wrote", {{own_word + R"(
setp.eq.u32 %p1, %r11, 0;
@%p1 bra $L_end;
ld.global.u32 %r2, [%rd1+-256];
ld.global.u32 %r3, [%rd1];
add.u32 %r2, %r2, %r3;
st.global.u32 [%rd1], %r2;
$L_end:
ret;
)"}}});
  all.push_back({"each block reads what the next one writes", {{own_word + R"(
setp.eq.u32 %p1, %r11, 299;
@%p1 bra $L_end;
ld.global.u32 %r2, [%rd1+256];
ld.global.u32 %r3, [%rd1];
mad.lo.u32 %r2, %r2, 5, %r3;
st.global.u32 [%rd1], %r2;
$L_end:
ret;
)"}}});
  all.push_back({"a stencil in place", {{own_word + R"(
setp.eq.u32 %p1, %r1, 0;
setp.eq.u32 %p2, %r1, 19199;
or.pred %p1, %p1, %p2;
@%p1 bra $L_end;
ld.global.u32 %r2, [%rd1+-4];
ld.global.u32 %r3, [%rd1+4];
mad.lo.u32 %r2, %r2, 3, %r3;
st.global.u32 [%rd1], %r2;
$L_end:
ret;
)"}}});
  all.push_back({"all blocks write the same word", {{own_word + R"(
st.global.u32 [%rd1], %r1;
st.global.u32 [%out], %r1;
ret;
)"}}});
  for (const char* const from : {"[%rd1+-64]", "[%rd2+-64]", "[%rd2+-4]"})
    all.push_back({"tiles that read what the one to their left has written",
                   {{own_tile + R"(
setp.eq.u32 %p1, %r11, 0;
@%p1 bra $L_end;
ld.global.u32 %r2, )" +
                     from + R"(;
ld.global.u32 %r3, [%rd1];
mad.lo.u32 %r2, %r2, 3, %r3;
st.global.u32 [%rd1], %r2;
$L_end:
ret;
)"},
                    tiles,
                    of_tile}});
  all.push_back({"a counter without atomics", {{own_word + R"(
setp.ne.u32 %p1, %r10, 0;
@%p1 bra $L_end;
ld.global.u32 %r2, [%out];
add.u32 %r2, %r2, 1;
st.global.u32 [%out], %r2;
$L_end:
ret;
)"}}});
  all.push_back({"half words of one granule", {{".reg .b16 %h<4>;\n" + own_word + R"(
setp.ne.u32 %p1, %r10, 0;
@%p1 bra $L_end;
mul.wide.u32 %rd2, %r11, 2;
add.s64 %rd2, %out, %rd2;
cvt.u16.u32 %h1, %r11;
st.global.u16 [%rd2], %h1;
$L_end:
ret;
)"}}});
  for (const int distance : {-1, -2, -7, 1, 3})
    all.push_back({"long lives that read what others write", {{own_word + R"(
add.u32 %r2, %r11, )" + std::to_string(distance) + R"(;
setp.ge.u32 %p1, %r2, 300;
)" + linger + R"(
@%p1 bra $L_end;
ld.global.u32 %r3, [%rd1+)" + std::to_string(256 * distance) + R"(];
mad.lo.u32 %r3, %r3, 3, %r2;
st.global.u32 [%rd1], %r3;
$L_end:
ret;
)"}}});
  all.push_back({"a long life that a short one disturbs", {{own_word + R"(
st.global.u32 [%rd1], %r1;
setp.ne.u32 %p1, %r11, 30;
@%p1 bra $L_short;
)" + linger + R"(
ld.global.u32 %r3, [%rd1+1280];
st.global.u32 [%rd1], %r3;
$L_short:
ret;
)"}}});
  all.push_back({"out of bounds after a long life", {{own_word + linger + R"(
st.global.u32 [%rd1], %r11;
setp.ne.u32 %p1, %r1, 17000;
@%p1 bra $L_end;
st.global.u32 [%rd1+1000000], %r1;
$L_end:
ret;
)"}}});
  all.push_back({"waits in shared memory among long lives", {{".shared .align 4 .b8 s_x[16];\n" + own_word + R"(
st.global.u32 [%rd1], %r11;
mov.u32 %r2, 0;
st.shared.u32 [s_x], %r2;
bar.sync 0;
setp.lt.u32 %p1, %r10, 32;
@!%p1 bra $L_write;
$L_wait:
ld.volatile.shared.u32 %r3, [s_x];
setp.eq.u32 %p2, %r3, 0;
@%p2 bra $L_wait;
bra $L_end;
$L_write:
)" + std::string(R"(
mov.u32 %r20, 3000;
$L_work:
sub.u32 %r20, %r20, 1;
setp.ne.u32 %p9, %r20, 0;
@%p9 bra $L_work;
st.volatile.shared.u32 [s_x], %r10;
$L_end:
)") + linger + R"(
ret;
)"}}});
  all.push_back({"out of bounds in a late block", {{own_word + R"(
st.global.u32 [%rd1], %r11;
setp.ne.u32 %p1, %r1, 17000;
@%p1 bra $L_end;
st.global.u32 [%rd1+1000000], %r1;
$L_end:
ret;
)"}}});
  all.push_back({"two blocks trap", {{own_word + R"(
st.global.u32 [%rd1], %r11;
setp.eq.u32 %p1, %r11, 280;
setp.eq.u32 %p2, %r11, 120;
or.pred %p1, %p1, %p2;
@!%p1 bra $L_end;
trap;
$L_end:
ret;
)"}}});
  all.push_back({"a barrier at which not all arrive", {{own_word + R"(
st.global.u32 [%rd1], %r11;
setp.ne.u32 %p1, %r11, 200;
@%p1 bra $L_end;
bar.sync 1, 96;
$L_end:
ret;
)"}}});
  all.push_back({"an endless loop",
                 {{own_word + R"(
st.global.u32 [%rd1], %r11;
setp.ne.u32 %p1, %r11, 210;
@%p1 bra $L_end;
mov.u32 %r2, 0;
$L_loop:
add.u32 %r2, %r2, 1;
bra $L_loop;
$L_end:
ret;
)"},
                  {300, 1, 1},
                  {64, 1, 1},
                  19200,
                  0,
                  200'000}});
  all.push_back({"a loop until the next block has written",
                 {{own_word + R"(
setp.ne.u32 %p1, %r10, 0;
@%p1 bra $L_end;
setp.eq.u32 %p2, %r11, 299;
$L_loop:
@%p2 bra $L_write;
ld.global.u32 %r3, [%rd1+256];
setp.ne.u32 %p1, %r3, 7;
@%p1 bra $L_loop;
$L_write:
st.global.u32 [%rd1], 7;
$L_end:
ret;
)"},
                  {300, 1, 1},
                  {64, 1, 1},
                  19200,
                  0,
                  3'000'000}});
  return all;
}

}  // namespace

TEST_CASE("independent blocks give the same on any number of host threads") {
  for (const auto& [name, launch] : independent())
    for (const Order order : {Order::lockstep, Order::in_order, Order::reversed})
      for (const Counting counting : {Counting::off, Counting::on}) {
        INFO(name);
        const Outcome one = outcome(launch, 1, order, counting, 3);
        REQUIRE(one.status == Status::ok);
        for (const unsigned threads : {2u, 3u, 8u}) {
          INFO(threads << " threads");
          const Outcome several = outcome(launch, threads, order, counting, 3);
          check_same(one, several);
          CHECK(several.rounds.all > 0);
          CHECK(several.rounds.undone == 0);
        }
      }
}

TEST_CASE("what blocks do to each other, and every fault, is the same on any number of host threads") {
  for (const auto& [name, launch] : entangled())
    for (const Order order : {Order::lockstep, Order::in_order, Order::reversed})
      for (const Counting counting : {Counting::off, Counting::on}) {
        INFO(name);
        const Outcome one = outcome(launch, 1, order, counting);
        for (const unsigned threads : {2u, 3u, 8u})
          for (unsigned repetition = 0; repetition < 5; ++repetition) {
            INFO(threads << " threads");
            check_same(one, outcome(launch, threads, order, counting));
          }
      }
}

TEST_CASE("a kernel whose blocks are entangled is found out once") {
  Launch launch = entangled()[3].second;
  const Outcome o = outcome(launch, 2, Order::in_order, Counting::off, 10);
  CHECK(o.rounds.undone <= 1);
}

TEST_CASE("more threads than blocks do no harm") {
  Launch launch = independent()[0].second;
  launch.grid.x = 5;
  check_same(outcome(launch, 1, Order::in_order), outcome(launch, 16, Order::in_order));
}

TEST_CASE("kernels that say that their blocks work together run on one thread") {
  for (const char* tie :
       {"atom.global.add.u32 %r2, [%out], 1;", "red.global.add.u32 [%out], 1;", "membar.gl;", "fence.acq_rel.gpu;",
        "ld.volatile.global.u32 %r2, [%rd1];", "st.relaxed.gpu.global.u32 [%rd1], %r1;", "mov.u32 %r2, %clock;",
        "mov.u64 %rd2, %globaltimer;", "nanosleep.u32 5;", "mov.u32 %r2, %smid;"}) {
    INFO(tie);
    Launch launch{{own_word + tie + "\nst.global.u32 [%rd1], %r2;\nret;\n"}};
    const Outcome several = outcome(launch, 4, Order::in_order);
    CHECK(several.rounds.all == 0);
    check_same(outcome(launch, 1, Order::in_order), several);
  }
  for (const char* apart :
       {"bar.sync 0;", "membar.cta;", "st.volatile.shared.u32 [s_x], %r1;", "atom.shared.add.u32 %r3, [s_x], 1;"}) {
    INFO(apart);
    Launch launch{{".shared .align 4 .b8 s_x[16];\n" + own_word + apart + "\nst.global.u32 [%rd1], %r1;\nret;\n"}};
    const Outcome several = outcome(launch, 4, Order::in_order);
    CHECK(several.rounds.all > 0);
    check_same(outcome(launch, 1, Order::in_order), several);
  }
}

TEST_CASE("blocks find nothing that earlier blocks have left") {
  // Registers and predicates that are read before they are written, in convergent code and out of it.
  const Launch registers{{own_word + R"(
add.u32 %r3, %r5, 1;
selp.u32 %r4, 100, 200, %p5;
add.u32 %r3, %r3, %r4;
add.u32 %r3, %r3, %r6;
xor.b32 %r13, %r1, %r7;
st.global.u32 [%rd1], %r3;
mov.u32 %r5, %r1;
mov.u32 %r6, %r11;
mul.lo.u32 %r7, %r1, %r13;
setp.gt.u32 %p5, %r11, 3;
st.global.u32 [%rd1+76800], %r5;
st.global.u32 [%rd1+153600], %r6;
st.global.u32 [%rd1+230400], %r7;
selp.u32 %r8, %r5, %r6, %p5;
st.global.u32 [%rd1+307200], %r8;
ret;
)"},
                         {300, 1, 1},
                         {64, 1, 1},
                         5 * 19200};
  // Local memory.
  const Launch local{{".local .align 4 .b8 l_x[64];\n" + own_word + R"(
and.b32 %r2, %r1, 15;
mul.wide.u32 %rd2, %r2, 4;
mov.u64 %rd3, l_x;
add.s64 %rd4, %rd3, %rd2;
ld.local.u32 %r3, [%rd4];
st.local.u32 [%rd4], %r1;
ld.local.u32 %r4, [%rd3];
add.u32 %r3, %r3, %r4;
st.global.u32 [%rd1], %r3;
ret;
)"}};
  // The register of a lane that has gone.
  const Launch shuffled{{own_word + R"(
and.b32 %r2, %r10, 31;
setp.gt.u32 %p1, %r2, 20;
@%p1 bra $L_end;
add.u32 %r3, %r1, 5;
shfl.sync.down.b32 %r4, %r3, 4, 31, 0x1fffff;
st.global.u32 [%rd1], %r4;
$L_end:
ret;
)"}};
  // Results and arguments of functions that are not, or not wholly, written.
  const Launch called{{own_word + R"(
.param .b32 result;
.param .align 4 .b8 argument[8];
st.param.b32 [argument], %r1;
call (result), f, (argument);
ld.param.b32 %r2, [result];
st.global.u32 [%rd1], %r2;
ret;
)",
                       R"(
.visible .func (.param .b32 result) f(.param .align 4 .b8 argument[8])
{
.reg .pred %p<2>;
.reg .b32 %r<5>;
ld.param.b32 %r1, [argument];
ld.param.b32 %r2, [argument+4];
and.b32 %r3, %r1, 64;
setp.ne.u32 %p1, %r3, 0;
@%p1 bra $L_end;
add.u32 %r4, %r4, %r1;
add.u32 %r4, %r4, %r2;
st.param.b32 [result], %r4;
$L_end:
ret;
}
)"}};
  for (const Launch& launch : {registers, local, shuffled, called}) {
    INFO(launch.kernel.body);
    const Outcome in_order = outcome(launch, 1, Order::in_order);
    REQUIRE(in_order.fault == "");
    REQUIRE(in_order.status == Status::ok);
    CHECK(outcome(launch, 1, Order::reversed).memory == in_order.memory);
    CHECK(outcome(launch, 1, Order::random).memory == in_order.memory);
    for (const Order order : {Order::lockstep, Order::in_order, Order::reversed})
      for (const unsigned threads : {2u, 5u}) {
        const Outcome several = outcome(launch, threads, order);
        CHECK(several.rounds.all > 0);
        CHECK(several.memory == in_order.memory);
      }
  }
}

TEST_CASE("a team may change its size, and a device its kernels") {
  std::vector<std::vector<std::uint32_t>> expected;
  for (unsigned k = 0; k < 3; ++k) expected.push_back(outcome(independent()[k].second, 1, Order::in_order).memory);
  vgpu::Device device(vgpu::small_profile());
  device.least_parallel_ns = 0;
  const auto launches = independent();
  for (unsigned k = 0; k < 12; ++k) {
    const Launch& launch = launches[k % 3].second;
    device.threads = 1 + k % 4;
    std::vector<std::uint32_t> memory(launch.words);
    std::iota(memory.begin(), memory.end(), 0u);
    const vgpu::Address out = device.memory().allocate(4 * launch.words + (k << 23));
    device.memory().write(out, memory.data(), 4 * launch.words);
    const auto parameters = std::as_bytes(std::span(&out, 1));
    vgpu::LoadedModule* const module = device.load(launch.kernel.text());
    CHECK(device.launch(test::launch_of(module, launch.grid, launch.block, parameters)).status == Status::ok);
    device.memory().read(memory.data(), out, 4 * launch.words);
    CHECK(memory == expected[k % 3]);
    device.memory().free(out);
    device.unload(module);
  }
}
