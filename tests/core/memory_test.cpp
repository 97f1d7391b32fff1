// Device memory: allocations stand alone, and a stale pointer stays a stale pointer.
#include "vgpu/core/memory/memory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstring>

using namespace scanlab::vgpu;

TEST_CASE("an allocation holds exactly its bytes") {
  Memory memory(1 << 20);
  const Address a = memory.allocate(100, "a");
  REQUIRE(a != 0);
  CHECK(a % 256 == 0);
  CHECK(memory.find(a, 100) != nullptr);
  CHECK(memory.find(a, 101) == nullptr);
  CHECK(memory.find(a + 99, 1) != nullptr);
  CHECK(memory.find(a + 100, 1) == nullptr);
  CHECK(memory.find(a - 1, 1) == nullptr);
  std::byte first{};
  CHECK(memory.read(&first, a, 1));
  CHECK(first == poison);
}

TEST_CASE("the nearest allocation is named with the distance") {
  Memory memory(1 << 20);
  const Address a = memory.allocate(100, "a"), b = memory.allocate(50, "b");
  CHECK(memory.place(a + 100, 4).allocation->label == "a");
  CHECK(memory.place(a + 100, 4).distance == 1);
  CHECK(memory.place(a + 107, 4).distance == 8);
  CHECK(memory.place(b - 8, 4).allocation->label == "b");
  CHECK(memory.place(b - 8, 4).distance == -8);
  CHECK(memory.place(12345, 4).allocation == nullptr);
}

TEST_CASE("freed memory is invalid and never handed out again") {
  Memory memory(1 << 20);
  const Address a = memory.allocate(100, "a");
  CHECK(memory.free(a));
  CHECK_FALSE(memory.free(a));
  CHECK_FALSE(memory.free(a + 4));
  CHECK(memory.find(a, 1) == nullptr);
  CHECK(memory.place(a, 4).allocation->freed);
  CHECK(memory.allocate(100, "b") != a);
}

TEST_CASE("capacity is enforced, and given back") {
  Memory memory(1000);
  const Address a = memory.allocate(600, "a");
  CHECK(memory.allocate(600, "b") == 0);
  CHECK(memory.free(a));
  CHECK(memory.allocate(1000, "c") != 0);
  CHECK(memory.allocate(~0ull, "d") == 0);
}

TEST_CASE("an empty allocation has an address and no valid byte") {
  Memory memory(1000);
  const Address a = memory.allocate(0, "empty");
  CHECK(a != 0);
  CHECK(memory.find(a, 1) == nullptr);
  CHECK(memory.free(a));
}

TEST_CASE("the heap of device code has a limit of its own, and the host cannot use what lies on it") {
  Memory memory(1000);
  REQUIRE(memory.set_heap_limit(256));
  const Address ordinary = memory.allocate(1000);
  REQUIRE(ordinary != 0);
  const Address a = memory.allocate_on_heap(200);
  REQUIRE(a != 0);
  CHECK_FALSE(memory.set_heap_limit(1 << 20));
  CHECK(memory.bytes_free() == 0);
  CHECK(memory.find(a, 200) != nullptr);
  CHECK(memory.allocate_on_heap(57) == 0);
  CHECK(memory.allocate_on_heap(48) != 0);
  CHECK(memory.allocate_on_heap(1) == 0);
  CHECK(memory.allocate_on_heap(~std::uint64_t{0}) == 0);

  char bytes[4] = {};
  CHECK_FALSE(memory.read(bytes, a, 4));
  CHECK_FALSE(memory.write(a, bytes, 4));
  CHECK_FALSE(memory.fill(a, std::byte{0}, 4));
  CHECK_FALSE(memory.copy(ordinary, a, 4));
  CHECK_FALSE(memory.free(a));
  CHECK_FALSE(memory.free_on_heap(ordinary));
  CHECK(memory.free_on_heap(a));
  CHECK_FALSE(memory.free_on_heap(a));
  CHECK(memory.allocate_on_heap(100) != 0);

  memory.reset_heap();
  CHECK(memory.find(ordinary, 1000) != nullptr);
  CHECK(memory.set_heap_limit(16));
}
