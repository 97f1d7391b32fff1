// What the busiest warp and the busiest block do: alone, beside others, over launches, and while they wait.
#include "vgpu/checks/cost/spread.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>
#include <string>

#include "kernel.hpp"

using namespace scanlab;
using test::Kernel;
using test::Setup;
using Order = vgpu::Schedule::Order;

namespace {

vgpu::Spread spread_of(const Kernel& kernel, unsigned threads, unsigned blocks = 1, Order order = Order::lockstep,
                       int launches = 1) {
  vgpu::Spread spread;
  for (int k = 0; k < launches; ++k)
    REQUIRE(test::run(kernel, {.grid = {blocks, 1, 1},
                               .block = {threads, 1, 1},
                               .words = 1 << 16,
                               .schedule = {.order = order},
                               .observer = &spread})
                .result.status == vgpu::LaunchResult::Status::ok);
  return spread;
}

/// Thread `worker` of each block adds `times` times, one after the other; all others are done at once.
Kernel one_works(unsigned worker, unsigned times) {
  return {"mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, " + std::to_string(worker) +
          ";\n@%p1 bra $end;\nmov.u32 %r2, 0;\n$loop:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, " +
          std::to_string(times) + ";\n@%p2 bra $loop;\nst.global.u32 [%out], %r2;\n$end:\nret;\n"};
}

/// Each thread of each block writes the word of its number; block `reader` reads `words` words before.
Kernel one_reads(unsigned reader, unsigned words) {
  return {
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\n"
      "mul.wide.u32 %rd1, %r4, 4;\nadd.s64 %rd2, %out, %rd1;\nmov.u32 %r5, 0;\nsetp.ne.u32 %p1, %r2, " +
      std::to_string(reader) +
      ";\n@%p1 bra $end;\n$loop:\nmul.wide.u32 %rd3, %r5, 4;\nadd.s64 %rd4, %out, %rd3;\nld.global.u32 %r6, "
      "[%rd4];\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, " +
      std::to_string(words) + ";\n@%p2 bra $loop;\n$end:\nst.global.u32 [%rd2], %r5;\nret;\n"};
}

}  // namespace

TEST_CASE("ranges count each number once") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    vgpu::Ranges ranges;
    std::set<std::uint64_t> expected;
    const std::uint64_t span = 1 + random() % 2000;
    for (int k = 0; k < 500; ++k) {
      const std::uint64_t begin = random() % span, end = begin + random() % 9;
      ranges.add(begin, end);
      for (std::uint64_t i = begin; i < end; ++i) expected.insert(i);
      if (k % 100 == 0) CHECK(ranges.count() == expected.size());
    }
    CHECK(ranges.count() == expected.size());
  }
}

TEST_CASE("a warp that works alone is as busy as its work, whatever others do") {
  const std::uint64_t least = spread_of(one_works(0, 1), 32).busiest_warp();
  for (const unsigned threads : {32u, 64u, 1024u})
    for (const Order order : {Order::lockstep, Order::in_order}) {
      INFO(threads << " threads");
      CHECK(spread_of(one_works(threads - 1, 1001), threads, 1, order).busiest_warp() == least + 3 * 1000);
      CHECK(spread_of(one_works(0, 1001), threads, 40, order).busiest_warp() == least + 3 * 1000);
    }
}

TEST_CASE("launches come one after the other, and what they take adds up") {
  const vgpu::Spread once = spread_of(one_works(0, 100), 64), thrice = spread_of(one_works(0, 100), 64, 1, {}, 3);
  CHECK(thrice.busiest_warp() == 3 * once.busiest_warp());
  CHECK(spread_of(one_reads(0, 500), 32, 4, Order::lockstep, 3).busiest_block() == 3 * 500);
}

TEST_CASE("a block is as busy as it has words, each counted once") {
  for (const Order order : {Order::lockstep, Order::reversed, Order::random}) {
    CHECK(spread_of(one_reads(99, 0), 128, 8, order).busiest_block() == 128);  // no thread reads
    CHECK(spread_of(one_reads(3, 1000), 128, 8, order).busiest_block() == 1000);
    CHECK(spread_of(one_reads(0, 64), 128, 8, order).busiest_block() == 128);  // these it writes anyway
  }
}

TEST_CASE("a block that waits reads one word, however often it looks") {
  // Block 0 waits until block 1 has written.
  const Kernel waits{
      "mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra $write;\n$again:\nld.acquire.gpu.global.u32 %r2, "
      "[%out];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra $again;\nbra $end;\n$write:\nmov.u32 %r3, "
      "1;\nst.release.gpu.global.u32 [%out], %r3;\n$end:\nret;\n"};
  CHECK(spread_of(waits, 32, 2, Order::random).busiest_block() == 1);
}

TEST_CASE("instructions of a block that reads many sections are reported per section") {
  const std::uint64_t one = spread_of(one_reads(0, 2048), 32).busiest_warp(),
                      ten = spread_of(one_reads(0, 20480), 32).busiest_warp();
  CHECK(ten <= one);
  CHECK(ten > one - one / 50);
}
