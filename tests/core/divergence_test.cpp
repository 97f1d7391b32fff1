// Diverged lanes come together again where they should, and none of them starves.
#include <catch2/catch_test_macros.hpp>

#include "kernel.hpp"
#include "vgpu/checks/cost/counters.hpp"

using namespace scanlab;
using test::Kernel;
using test::Setup;

namespace {

/// Counts how often lanes of a warp have met.
class Meetings : public vgpu::Observer {
 public:
  unsigned count = 0;
  vgpu::Mask lanes = 0;

 private:
  std::uint32_t interests() const override { return warp_syncs; }
  void warp_sync(const vgpu::Actor&, vgpu::Mask met, WarpSync) override { ++count, lanes |= met; }
};

/// Calls `work` with the stack as many times 16 bytes deeper: what is aligned there by luck alone is not, elsewhere.
template <class Work>
[[gnu::noinline]] void deeper(unsigned steps, Work work) {
  volatile auto* const room = static_cast<char*>(__builtin_alloca(16 * steps + 1));
  room[0] = 1;
  work();
}

}  // namespace

TEST_CASE("after an if and an else the lanes are one group again") {
  // 4 instructions by halves of the warp, everything else by all 32 lanes.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 16;
@%p1 bra $L_then;
mov.u32 %r2, 200;
add.u32 %r2, %r2, 1;
bra.uni $L_end;
$L_then:
mov.u32 %r2, 100;
$L_end:
)" + test::store_at_tid("%r2") +
                 "ret;\n"};
  vgpu::Counters counters;
  const auto r = test::run(k, {.observer = &counters});
  REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
  for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == (t < 16 ? 100u : 201u));
  // 2 + 3 + 3 (else) + 1 (then) + 4 + 1 instructions of the warp; the four of the two sides have 16 lanes.
  CHECK(counters.counts().warp_instructions == 14);
  CHECK(counters.counts().thread_instructions == 10 * 32 + 4 * 16);
}

TEST_CASE("lanes that leave a loop early wait for the others after it") {
  // Lane t loops t + 1 times; the store after the loop is one request of 32 lanes.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
$L_loop:
add.u32 %r2, %r2, 1;
setp.le.u32 %p1, %r2, %r1;
@%p1 bra $L_loop;
)" + test::store_at_tid("%r2") +
                 "ret;\n"};
  vgpu::Counters counters;
  const auto r = test::run(k, {.observer = &counters});
  for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == t + 1);
  CHECK(counters.counts().global_requests == 1);
  CHECK(counters.counts().warp_instructions == 2u + 2u + 3u * 32u + 4u + 1u);
}

TEST_CASE("a lock taken by one lane of a warp does not block the warp for ever") {
  const Kernel k{R"(
$L_try:
atom.global.cas.b32 %r1, [%out], 0, 1;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra $L_try;
ld.global.u32 %r2, [%out+4];
add.u32 %r2, %r2, 1;
st.global.u32 [%out+4], %r2;
membar.gl;
atom.global.exch.b32 %r3, [%out], 0;
ret;
)"};
  for (const auto order : {vgpu::Schedule::Order::lockstep, vgpu::Schedule::Order::in_order,
                           vgpu::Schedule::Order::reversed, vgpu::Schedule::Order::random}) {
    const auto r = test::run(k, {.grid = {8, 1, 1}, .block = {96, 1, 1}, .schedule = {.order = order}});
    REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
    CHECK(r.out[1] == 8 * 96);
  }
}

TEST_CASE("a barrier may stand in both arms of a branch") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 1;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra $L_even;
bar.sync 0;
mov.u32 %r3, 1;
bra.uni $L_end;
$L_even:
bar.sync 0;
mov.u32 %r3, 2;
$L_end:
)" + test::store_at_tid("%r3") +
                 "ret;\n"};
  const auto r = test::run(k, {.block = {64, 1, 1}});
  REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
  for (unsigned t = 0; t < 64; ++t) CHECK(r.out[t] == (t % 2 ? 1u : 2u));
}

TEST_CASE("threads that have returned are not waited for at a barrier") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, 40;
@%p1 bra $L_end;
bar.sync 0;
mov.u32 %r3, 7;
)" + test::store_at_tid("%r3") +
                 "$L_end:\nret;\n"};
  const auto r = test::run(k, {.block = {64, 1, 1}});
  REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
  CHECK(r.out[39] == 7);
  CHECK(r.out[40] == 0);
}

TEST_CASE("a shuffle waits for the lanes that its mask names") {
  // Both halves reach the same shuffle on different paths; each lane gets its neighbour's value.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, 1000;
setp.lt.u32 %p1, %r1, 5;
@%p1 bra $L_few;
add.u32 %r2, %r1, 10;
bra.uni $L_shuffle;
$L_few:
add.u32 %r2, %r1, 20;
$L_shuffle:
shfl.sync.up.b32 %r3|%p2, %r2, 1, 0, -1;
)" + test::store_at_tid("%r3") +
                 "ret;\n"};
  const auto r = test::run(k);
  REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
  CHECK(r.out[0] == 20);
  CHECK(r.out[4] == 23);
  CHECK(r.out[5] == 24);
  CHECK(r.out[6] == 15);
  CHECK(r.out[31] == 40);
}

TEST_CASE("a recursive function has its own registers in every call") {
  // fib(n) of the lane's number, n up to 9.
  const std::string before = R"(
.func (.param .b32 result) fib(.param .b32 n)
{
.reg .pred %p<2>;
.reg .b32 %r<8>;
ld.param.u32 %r1, [n];
setp.lt.u32 %p1, %r1, 2;
@%p1 bra $L_small;
add.s32 %r2, %r1, -1;
{
.param .b32 param0;
st.param.b32 [param0], %r2;
.param .b32 retval0;
call.uni (retval0), fib, (param0);
ld.param.b32 %r3, [retval0];
}
add.s32 %r4, %r1, -2;
{
.param .b32 param0;
st.param.b32 [param0], %r4;
.param .b32 retval0;
call.uni (retval0), fib, (param0);
ld.param.b32 %r5, [retval0];
}
add.s32 %r6, %r3, %r5;
st.param.b32 [result], %r6;
ret;
$L_small:
st.param.b32 [result], %r1;
ret;
}
)";
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
rem.u32 %r1, %r1, 10;
{
.param .b32 param0;
st.param.b32 [param0], %r1;
.param .b32 retval0;
call.uni (retval0), fib, (param0);
ld.param.b32 %r2, [retval0];
}
)" + test::store_at_tid("%r2") +
                     "ret;\n",
                 before};
  const auto r = test::run(k);
  REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
  const std::uint32_t fib[10] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
  for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == fib[t % 10]);
}

TEST_CASE("lanes that come to a call one after the other meet at the warp operations inside it") {
  // The loads in the loop look like waiting, so lanes that are past the loop get turns meanwhile.
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
$L_loop:
ld.volatile.global.u32 %r3, [%out];
sub.u32 %r2, %r2, 1;
setp.ge.s32 %p1, %r2, 0;
@%p1 bra $L_loop;
add.u32 %r4, %r1, 1;
add.u32 %r4, %r4, 1;
add.u32 %r4, %r4, 1;
{
.param .b32 argument;
.param .b32 result;
st.param.b32 [argument], %r4;
call (result), outer, (argument);
ld.param.b32 %r5, [result];
}
)" + test::store_at_tid("%r5") +
                     "ret;\n",
                 R"(
.func (.param .b32 result) sum(.param .b32 x)
{
.reg .b32 %a<3>;
ld.param.b32 %a1, [x];
redux.sync.add.s32 %a2, %a1, 0xffffffff;
st.param.b32 [result], %a2;
ret;
}
.func (.param .b32 result) outer(.param .b32 x)
{
.reg .b32 %a<3>;
ld.param.b32 %a1, [x];
{
.param .b32 argument;
.param .b32 inner;
st.param.b32 [argument], %a1;
call (inner), sum, (argument);
ld.param.b32 %a2, [inner];
}
st.param.b32 [result], %a2;
ret;
}
)"};
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto r = test::run(k, {.schedule = {vgpu::Schedule::Order::random, seed}});
    REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
    for (unsigned t = 0; t < 32; ++t) REQUIRE(r.out[t] == 31 * 32 / 2 + 3 * 32);
  }
}

TEST_CASE("halves of a warp that stand at different warp barriers meet, wherever the stack is") {
  const Kernel k{R"(
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 16;
@%p1 bra $L_then;
bar.warp.sync 0xffffffff;
mov.u32 %r2, 200;
bra.uni $L_end;
$L_then:
bar.warp.sync 0xffffffff;
mov.u32 %r2, 100;
$L_end:
)" + test::store_at_tid("%r2") +
                 "ret;\n"};
  for (unsigned steps = 0; steps < 8; ++steps) {
    CAPTURE(steps);
    deeper(steps, [&] {
      Meetings meetings;
      const auto r = test::run(k, {.observer = &meetings});
      REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
      CHECK(meetings.count == 1);
      CHECK(meetings.lanes == vgpu::full_mask);
      for (unsigned t = 0; t < 32; ++t) CHECK(r.out[t] == (t < 16 ? 100u : 200u));
    });
  }
}
