// The tracer shows what one block does: each access with its thread, array, offset, value, line and barrier interval.
#include "vgpu/checks/cost/step_tracer.hpp"

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "../core/kernel.hpp"

using namespace scanlab;
using test::Setup;
using vgpu::StepTracer;
using vgpu::TracedAccess;

namespace {

constexpr std::uint64_t many = 100000;

/// Each thread puts its number into s_x, waits, takes its left neighbour's, and stores the sum in `out`.
const std::string neighbours = R"(
.shared .align 4 .b8 s_x[256];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s_x;
add.u32 %r4, %r3, %r2;
.loc 1 10 0
st.shared.u32 [%r4], %r1;
.loc 1 11 0
bar.sync 0;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r5, 0;
.loc 1 12 0
@!%p1 ld.shared.u32 %r5, [%r4+-4];
add.u32 %r6, %r5, %r1;
mov.u32 %r7, %ctaid.x;
mad.lo.u32 %r8, %r7, 64, %r1;
mul.wide.u32 %rd1, %r8, 4;
add.s64 %rd2, %out, %rd1;
.loc 1 13 0
st.global.u32 [%rd2], %r6;
ret;
)";

Setup setup_for(StepTracer& tracer, unsigned blocks = 1) {
  Setup setup{.grid = {blocks, 1, 1}, .block = {64, 1, 1}, .words = 64 * blocks, .observer = &tracer};
  return setup;
}

const char* name_of(TracedAccess::Does does) {
  return does == TracedAccess::Does::read ? "read" : does == TracedAccess::Does::write ? "write" : "atomic";
}

/// "write s_x+20 = 5 by 5, interval 0, line 10"
std::string text(const vgpu::TracedLaunch& launch, const TracedAccess& a) {
  return fmt::format("{} {}+{} = {} by {}, interval {}, line {}", name_of(a.does), launch.arrays[a.array].name,
                     a.offset, a.has_value ? std::to_string(a.value[0]) : "?", a.thread, a.interval,
                     launch.places[a.place].line);
}

std::vector<std::string> of_thread(const vgpu::TracedLaunch& launch, unsigned thread) {
  std::vector<std::string> found;
  for (const TracedAccess& a : launch.accesses)
    if (a.thread == thread) found.push_back(text(launch, a));
  return found;
}

}  // namespace

TEST_CASE("a thread's accesses come in their order, with values, lines and barrier intervals, in every schedule") {
  using Order = vgpu::Schedule::Order;
  for (const Order order : {Order::lockstep, Order::in_order, Order::reversed, Order::random}) {
    StepTracer tracer(0, many);
    Setup setup = setup_for(tracer);
    setup.schedule = {order, 3};
    REQUIRE(test::run({neighbours}, setup).result.status == vgpu::LaunchResult::Status::ok);
    REQUIRE(tracer.launches().size() == 1);
    const vgpu::TracedLaunch& launch = tracer.launches()[0];
    CHECK(launch.has_block);
    CHECK(launch.accesses.size() == 64 + 63 + 64);
    CHECK(of_thread(launch, 0) == std::vector<std::string>{"write s_x+0 = 0 by 0, interval 0, line 10",
                                                           "write out+0 = 0 by 0, interval 1, line 13"});
    CHECK(of_thread(launch, 33) == std::vector<std::string>{"write s_x+132 = 33 by 33, interval 0, line 10",
                                                            "read s_x+128 = 32 by 33, interval 1, line 12",
                                                            "write out+132 = 65 by 33, interval 1, line 13"});
    REQUIRE(launch.barriers.size() == 1);
    CHECK(launch.places[launch.barriers[0]].line == 11);
    CHECK_FALSE(launch.has_shuffles);
  }
}

TEST_CASE("only the block that was asked for is traced") {
  StepTracer tracer(1, many);
  test::run({neighbours}, setup_for(tracer, 3));
  const vgpu::TracedLaunch& launch = tracer.launches().at(0);
  CHECK(launch.accesses.size() == 64 + 63 + 64);
  CHECK(of_thread(launch, 2).back() == "write out+264 = 3 by 2, interval 1, line 13");
}

TEST_CASE("a block that no launch has leaves an empty trace") {
  StepTracer tracer(3, many);
  test::run({neighbours}, setup_for(tracer, 3));
  CHECK_FALSE(tracer.launches().at(0).has_block);
  CHECK(tracer.launches().at(0).accesses.empty());
}

TEST_CASE("beyond the limit accesses are counted only") {
  StepTracer tracer(0, 64);
  test::run({neighbours}, setup_for(tracer));
  CHECK(tracer.launches().at(0).accesses.size() == 64);
  CHECK(tracer.launches().at(0).left_out == 63 + 64);
}

TEST_CASE("what came before a fault is reported") {
  StepTracer tracer(0, many);
  const auto run = test::run({R"(
.shared .align 4 .b8 s_x[128];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s_x;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
ld.shared.u32 %r5, [%r4+4];
ret;
)"},
                             [&] {
                               Setup setup = setup_for(tracer);
                               setup.block.x = 32;
                               return setup;
                             }());
  REQUIRE(run.result.status == vgpu::LaunchResult::Status::fault);
  CHECK(of_thread(tracer.launches().at(0), 31).size() == 1);
}

TEST_CASE("warp synchronisations divide an interval, and shuffles are noticed") {
  StepTracer tracer(0, many);
  test::run({R"(
.shared .align 4 .b8 s_x[256];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s_x;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
bar.warp.sync 0xffffffff;
ld.shared.u32 %r5, [%r4];
shfl.sync.up.b32 %r6, %r5, 1, 0, 0xffffffff;
bar.sync 0;
st.shared.u32 [%r4], %r6;
ret;
)"},
            setup_for(tracer));
  const vgpu::TracedLaunch& launch = tracer.launches().at(0);
  CHECK(launch.has_shuffles);
  std::vector<std::pair<unsigned, unsigned>> steps;
  for (const TracedAccess& a : launch.accesses)
    if (a.thread == 40) steps.emplace_back(a.interval, a.warp_syncs);
  CHECK(steps == std::vector<std::pair<unsigned, unsigned>>{{0, 0}, {0, 1}, {1, 0}});
}

TEST_CASE("vectors are reported whole, and what an atomic leaves is not known") {
  StepTracer tracer(0, many);
  test::run({R"(
.shared .align 8 .b8 s_x[512];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 3;
mov.u32 %r3, s_x;
add.u32 %r4, %r3, %r2;
add.u32 %r5, %r1, 100;
st.shared.v2.u32 [%r4], {%r1, %r5};
ld.shared.v2.u32 {%r6, %r7}, [%r4];
atom.shared.add.u32 %r8, [%r4], 1;
ld.shared.u32 %r9, [%r4];
ret;
)"},
            setup_for(tracer));
  std::vector<TracedAccess> own;
  for (const TracedAccess& a : tracer.launches().at(0).accesses)
    if (a.thread == 7) own.push_back(a);
  REQUIRE(own.size() == 4);
  for (const int k : {0, 1}) {
    CHECK(own[k].bytes == 8);
    CHECK(own[k].offset == 56);
    CHECK(own[k].value[0] == 7);
    CHECK(own[k].value[1] == 107);
  }
  CHECK(own[2].does == TracedAccess::Does::atomic);
  CHECK_FALSE(own[2].has_value);
  CHECK(own[3].value[0] == 8);
}
