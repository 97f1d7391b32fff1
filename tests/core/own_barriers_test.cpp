// What counts as a barrier without being one, reported access by access.
#include "vgpu/checks/cost/own_barriers.hpp"

#include <catch2/catch_test_macros.hpp>
#include <memory>

using namespace scanlab;
using Order = vgpu::Access::Order;

namespace {

constexpr std::uint32_t warps = 4;

/// Blocks of four warps, each of which accesses shared memory by its first lane.
class Blocks {
 public:
  Blocks() {
    vgpu::KernelInfo kernel;
    kernel.block = {32 * warps, 1, 1};
    barriers_.kernel_begin(kernel);
  }

  void read(std::uint32_t warp, std::uint64_t word) { barriers_.load(access(warp, word, Order::volatile_)); }
  void write(std::uint32_t warp, std::uint64_t word) { barriers_.store(access(warp, word, Order::volatile_)); }
  void add(std::uint32_t warp, std::uint64_t word) { barriers_.atomic(access(warp, word, Order::relaxed)); }
  void plain(std::uint32_t warp, std::uint64_t word) {
    barriers_.load(access(warp, word, Order::weak));
    barriers_.store(access(warp, word, Order::weak));
  }
  void waits_at_mbarrier(std::uint32_t warp, std::uint64_t word, std::uint64_t phase) {
    vgpu::Access a = access(warp, word, Order::acquire);
    a.phase = &phase;
    barriers_.atomic(a);
  }
  void syncthreads() { barriers_.barrier_complete({.block = block}, 0, vgpu::Observer::Meeting::all); }

  /// All warps arrive at a counter, and each but the last looks at it until all have.
  void meet(std::uint64_t counter) {
    for (std::uint32_t warp = 0; warp < warps; ++warp) {
      add(warp, counter);
      read(warp, counter);
    }
    for (std::uint32_t warp = 0; warp + 1 < warps; ++warp) read(warp, counter);
  }

  std::uint64_t block = 0;
  vgpu::OwnBarriers& barriers() { return barriers_; }
  std::uint64_t count() const { return barriers_.count(); }

 private:
  vgpu::Access access(std::uint32_t warp, std::uint64_t word, Order order) const {
    vgpu::Access a;
    a.actor.block = block;
    a.actor.warp = warp;
    a.space = ptx::StateSpace::shared;
    a.mask = 1;
    a.bytes = 4;
    a.first = 4 * word;
    a.order = order;
    return a;
  }

  vgpu::OwnBarriers barriers_;
};

}  // namespace

TEST_CASE("warps that wait for each other at a counter have made a barrier") {
  Blocks blocks;
  for (int step = 0; step < 10; ++step) {
    blocks.meet(0);
    blocks.syncthreads();
  }
  CHECK(blocks.count() == 10);
  blocks.barriers().kernel_begin({});
  CHECK(blocks.count() == 10);
}

TEST_CASE("it is a barrier as well where each look is at another word, or comes late") {
  Blocks blocks;
  for (int step = 0; step < 10; ++step) {
    for (std::uint32_t warp = 0; warp < warps; ++warp) blocks.write(warp, 10 + warp);
    for (std::uint32_t warp = 0; warp + 1 < warps; ++warp) blocks.read(warp, 10 + warps - 1);
    blocks.syncthreads();
  }
  CHECK(blocks.count() == 10);
}

TEST_CASE("what was written before a warp first looked, or before a barrier, was not waited for") {
  Blocks blocks;
  for (int step = 0; step < 10; ++step) {
    for (std::uint32_t warp = 0; warp < warps; ++warp) blocks.add(warp, 0);  // a total, of a sum by each warp
    for (std::uint32_t warp = 0; warp < warps; ++warp) blocks.write(warp, 10 + warp);
    blocks.syncthreads();
    for (std::uint32_t warp = 0; warp < warps; ++warp)
      for (std::uint32_t other = 0; other < warps; ++other) blocks.read(warp, 10 + other);
    blocks.syncthreads();
  }
  CHECK(blocks.count() == 0);
}

TEST_CASE("plain accesses are not waits, nor are those of one warp") {
  Blocks blocks;
  for (int step = 0; step < 10; ++step) {
    blocks.add(0, 0);
    blocks.read(0, 0);
    blocks.plain(1, 0);
    blocks.plain(2, 0);
  }
  CHECK(blocks.count() == 0);
}

TEST_CASE("a warp that hands something on to the next one makes part of a barrier") {
  Blocks blocks;
  for (int step = 0; step < 3; ++step) {
    blocks.read(1, 0);
    blocks.write(0, 0);
    blocks.read(1, 0);
    blocks.syncthreads();
  }
  CHECK(blocks.count() == 1);
}

TEST_CASE("a phase of an mbarrier is one barrier, however many wait for it") {
  Blocks blocks;
  for (std::uint64_t phase = 1; phase <= 10; ++phase)
    for (std::uint32_t warp = 0; warp < warps; ++warp) blocks.waits_at_mbarrier(warp, 0, phase);
  CHECK(blocks.count() == 10);
  blocks.block = 1;
  for (std::uint32_t warp = 0; warp < warps; ++warp) blocks.waits_at_mbarrier(warp, 0, 1);
  CHECK(blocks.count() == 11);
}

TEST_CASE("blocks on several host threads are counted together, and a reset forgets") {
  Blocks blocks;
  blocks.meet(0);
  const std::unique_ptr<vgpu::Observer> fork = blocks.barriers().fork();
  Blocks others;
  others.meet(0);
  blocks.barriers().join(others.barriers());
  blocks.barriers().join(*fork);
  CHECK(blocks.count() == 2);
  blocks.barriers().reset();
  CHECK(blocks.count() == 0);
}
