// A run is a function of program, input, schedule and seed.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "kernel.hpp"

using namespace scanlab;
using test::Kernel;
using test::Setup;
using Order = vgpu::Schedule::Order;

namespace {

/// Every thread takes a ticket: out[2 + its global number] = the order in which it came.
const Kernel tickets{R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1;
atom.global.add.u32 %r5, [%out], 1;
mul.wide.u32 %rd1, %r4, 4;
add.s64 %rd2, %out, %rd1;
st.global.u32 [%rd2+8], %r5;
ret;
)"};

std::vector<std::uint32_t> order_of(Order order, std::uint64_t seed) {
  const auto r =
      test::run(tickets, {.grid = {64, 1, 1}, .block = {128, 1, 1}, .words = 2 + 64 * 128, .schedule = {order, seed}});
  REQUIRE(r.result.status == vgpu::LaunchResult::Status::ok);
  return {r.out.begin() + 2, r.out.end()};
}

}  // namespace

TEST_CASE("in order means first block and first warp first, reversed the opposite") {
  const auto forward = order_of(Order::in_order, 0);
  CHECK(forward.front() == 0);
  CHECK(forward.back() == 64 * 128 - 1);
  const auto backward = order_of(Order::reversed, 0);
  CHECK(backward[63 * 128 + 96] == 0);  // lane 0 of the last warp of the last block
  CHECK(backward[31] == 64 * 128 - 1);  // the last lane of the first warp
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  CHECK(order_of(Order::random, 7) == order_of(Order::random, 7));
  CHECK(order_of(Order::random, 7) != order_of(Order::random, 8));
}

TEST_CASE("every schedule runs every thread exactly once") {
  for (const auto order : {Order::lockstep, Order::in_order, Order::reversed, Order::random})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const auto came = order_of(order, seed);
      CHECK(std::set<std::uint32_t>(came.begin(), came.end()).size() == came.size());
      CHECK(*std::max_element(came.begin(), came.end()) == came.size() - 1);
    }
}
