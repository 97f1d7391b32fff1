// The line of blocks that wait for each other, reported access by access.
#include "vgpu/checks/cost/waits.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace scanlab;

namespace {

/// Words of global memory, and blocks of one warp that access them by their first lane.
class Memory {
 public:
  void read(std::uint64_t block, std::uint64_t word, std::uint32_t warp = 0) {
    vgpu::Access a = access(block, word, warp);
    a.order = vgpu::Access::Order::relaxed;
    waits_.load(a);
  }
  void read_plainly(std::uint64_t block, std::uint64_t word) { waits_.load(access(block, word)); }
  void write(std::uint64_t block, std::uint64_t word, std::uint32_t warp = 0) {
    waits_.store(access(block, word, warp));
  }
  void add(std::uint64_t block, std::uint64_t word) { waits_.atomic(access(block, word)); }
  std::uint64_t longest() const { return waits_.longest(); }
  vgpu::Waits& waits() { return waits_; }

 private:
  static vgpu::Access access(std::uint64_t block, std::uint64_t word, std::uint32_t warp = 0) {
    vgpu::Access a;
    a.actor.block = block;
    a.actor.warp = warp;
    a.mask = 1;
    a.bytes = 4;
    a.first = 4 * word;
    return a;
  }

  vgpu::Waits waits_;
};

}  // namespace

TEST_CASE("a chain of blocks is as long as its waits") {
  Memory memory;
  constexpr std::uint64_t blocks = 10;
  for (std::uint64_t b = 1; b < blocks; ++b) memory.read(b, b - 1);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    if (b > 0) memory.read(b, b - 1);
    memory.write(b, b);
  }
  CHECK(memory.longest() == blocks - 1);
}

TEST_CASE("waiting for many that have not waited is one wait") {
  Memory memory;
  constexpr std::uint64_t blocks = 10;
  for (std::uint64_t b = 0; b < blocks; ++b) {
    memory.read(blocks, b);
    memory.write(b, b);
    memory.read(blocks, b);
  }
  CHECK(memory.longest() == 1);
}

TEST_CASE("what is there when it is first read was not waited for, but its writer may have waited") {
  Memory memory;
  memory.write(0, 0);
  memory.read(1, 0);
  CHECK(memory.longest() == 0);
  memory.read(2, 1);
  memory.write(1, 1);
  memory.read(2, 1);  // waited for block 1
  memory.write(2, 2);
  memory.read(3, 2);  // as far back as block 2
  memory.read(4, 3);
  memory.write(3, 3);
  memory.read(4, 3);
  CHECK(memory.longest() == 2);
}

TEST_CASE("a warp that takes numbers, and does something else in between, has not waited") {
  Memory memory;
  for (std::uint64_t round = 0; round < 5; ++round) {
    for (std::uint64_t b = 0; b < 3; ++b) {
      memory.add(b, 0);         // takes a number
      memory.read(b, 10 + b);   // and then loads
      memory.add(b, 0);         // takes another one
      memory.write(b, 20 + b);  // and stores
    }
  }
  CHECK(memory.longest() == 0);
}

TEST_CASE("an atomic waits like a read") {
  Memory memory;
  memory.add(1, 0);
  memory.write(0, 0);
  memory.add(1, 0);
  CHECK(memory.longest() == 1);
}

TEST_CASE("what a warp does while it waits changes nothing") {
  Memory memory;
  constexpr std::uint64_t blocks = 10;
  for (std::uint64_t b = 1; b < blocks; ++b) {
    memory.read(b, b - 1);
    memory.write(b, 100 + b);  // of its own
    memory.read(b, 200);       // of nobody
    memory.read_plainly(b, 300);
  }
  for (std::uint64_t b = 0; b < blocks; ++b) {
    if (b > 0) memory.read(b, b - 1);
    memory.write(b, b);
  }
  CHECK(memory.longest() == blocks - 1);
}

TEST_CASE("a plain read is no question, and what it reads has its writer's place") {
  Memory memory;
  memory.read_plainly(1, 0);
  memory.write(0, 0);
  memory.read_plainly(1, 0);
  CHECK(memory.longest() == 0);
  memory.read(2, 1);
  memory.write(1, 1);
  memory.read(2, 1);
  memory.write(2, 2);
  memory.read_plainly(3, 2);
  memory.read(4, 3);
  memory.write(3, 3);
  memory.read(4, 3);
  CHECK(memory.longest() == 2);
}

TEST_CASE("one warp waits, and another of its block passes on behind a barrier") {
  for (const bool has_barrier : {false, true}) {
    Memory memory;
    constexpr std::uint64_t blocks = 10;
    for (std::uint64_t b = 1; b < blocks; ++b) memory.read(b, b - 1, 1);
    for (std::uint64_t b = 0; b < blocks; ++b) {
      if (b > 0) memory.read(b, b - 1, 1);
      if (has_barrier) memory.waits().barrier_complete({.block = b}, 0, vgpu::Observer::Meeting::all);
      memory.write(b, b, 0);
    }
    CHECK(memory.longest() == (has_barrier ? blocks - 1 : 1));
  }
}

TEST_CASE("blocks do not wait for themselves, nor for an earlier launch") {
  Memory memory;
  memory.read(0, 0);
  memory.write(0, 0);
  memory.read(0, 0);
  CHECK(memory.longest() == 0);
  memory.read(1, 1);
  memory.write(0, 1);
  memory.waits().kernel_begin({});
  memory.read(1, 1);
  CHECK(memory.longest() == 0);
}

TEST_CASE("shared memory is not looked at, and a reset forgets") {
  Memory memory;
  memory.read(1, 0);
  memory.write(0, 0);
  memory.read(1, 0);
  CHECK(memory.longest() == 1);
  memory.waits().reset();
  CHECK(memory.longest() == 0);
  vgpu::Access a;
  a.space = ptx::StateSpace::shared;
  a.mask = 1;
  a.bytes = 4;
  memory.waits().load(a);
  a.actor.block = 1;
  memory.waits().store(a);
  a.actor.block = 0;
  memory.waits().load(a);
  CHECK(memory.longest() == 0);
}
