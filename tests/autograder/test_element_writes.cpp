// Who writes an element of device memory: kernels that store to it whole, in parts and beside others, and the host.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "autograder/device/element_writes.hpp"

using namespace scanlab;
using namespace scanlab::grade;

namespace {

using Write = ElementWrites::Write;

struct Fixture {
  vgpu::Device device{vgpu::small_profile()};
  vgpu::Address memory = device.memory().allocate(256, "memory");

  /// Runs a kernel of two blocks of 32 threads, in one place of the source; %thread and %place are their numbers.
  void run(const std::string& body) {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"scan.cu\"\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .b32 %r<9>;\n.reg .pred %p<3>;\n.reg .b32 %thread, %place;\n.reg .b64 %out;\n.loc 1 7 0\n"
        "ld.param.u64 %out, [p];\nmov.u32 %thread, %tid.x;\nmov.u32 %place, %ctaid.x;\n" +
        body + "ret;\n}\n";
    std::byte parameters[8];
    std::memcpy(parameters, &memory, sizeof memory);
    vgpu::LaunchRequest request;
    request.module = device.load(text);
    request.kernel = "k";
    request.grid = {2, 1, 1};
    request.block = {32, 1, 1};
    request.parameters = parameters;
    REQUIRE(device.launch(request).status == vgpu::LaunchResult::Status::ok);
  }
  void host_writes(std::uint64_t offset, std::uint32_t value) {
    REQUIRE(device.memory().write(memory + offset, &value, sizeof value));
  }
  static std::uint32_t word(const Write& write, unsigned k = 0) {
    std::uint32_t value = 0;
    std::memcpy(&value, write.after.data() + 4 * k, sizeof value);
    return value;
  }
};

/// Thread 5 of block 1 alone goes on.
const std::string one_thread =
    "setp.ne.u32 %p1, %thread, 5;\nsetp.ne.u32 %p2, %place, 1;\n@%p1 bra DONE;\n@%p2 bra DONE;\n";

}  // namespace

TEST_CASE_METHOD(Fixture, "of each write it is known who made it, where, and what the element held then") {
  const ElementWrites seen(device, {memory + 20, 4});
  run("mul.wide.u32 %out, %thread, 4;\n.reg .b64 %base;\nld.param.u64 %base, [p];\nadd.u64 %out, %out, %base;\n"
      "add.u32 %r1, %place, 40;\n.loc 1 9 0\nst.global.u32 [%out], %r1;\n");
  const std::vector<Write> writes = seen.writes();
  REQUIRE(writes.size() == 2);
  for (unsigned block = 0; block < 2; ++block) {
    CHECK(writes[block].block == std::array<std::uint64_t, 3>{block, 0, 0});
    CHECK(writes[block].thread == std::array<std::uint64_t, 3>{5, 0, 0});
    CHECK(writes[block].where.line == 9);
    CHECK(word(writes[block]) == 40 + block);
  }
  CHECK_FALSE(seen.has_host_written_last());
  CHECK(seen.is_changed());
}

TEST_CASE_METHOD(Fixture,
                 "what a thread stores in parts in one line is one write, and vectors reach their neighbours") {
  const ElementWrites seen(device, {memory + 8, 8});
  SECTION("parts") {
    run(one_thread +
        "mov.u32 %r1, 3;\nst.global.u32 [%out+8], %r1;\nmov.u32 %r1, 4;\nst.global.u32 [%out+12], %r1;\nDONE:\n");
  }
  SECTION("a vector that begins before the element") {
    run(one_thread +
        "mov.u32 %r1, 1;\nmov.u32 %r3, 3;\nmov.u32 %r4, 4;\nst.global.v4.u32 [%out], {%r1, %r1, %r3, %r4};\nDONE:\n");
  }
  const std::vector<Write> writes = seen.writes();
  REQUIRE(writes.size() == 1);
  CHECK(word(writes[0], 0) == 3);
  CHECK(word(writes[0], 1) == 4);
}

TEST_CASE_METHOD(Fixture, "the host writes last where the element does not hold what was stored") {
  const ElementWrites seen(device, {memory + 8, 4});
  SECTION("after a kernel") {
    run(one_thread + "mov.u32 %r1, 3;\nst.global.u32 [%out+8], %r1;\nDONE:\n");
    host_writes(8, 77);
    CHECK(seen.has_host_written_last());
    REQUIRE(seen.writes().size() == 1);
    CHECK(word(seen.writes()[0]) == 3);
  }
  SECTION("before a kernel") {
    host_writes(8, 77);
    run(one_thread + "mov.u32 %r1, 3;\nst.global.u32 [%out+8], %r1;\nDONE:\n");
    CHECK_FALSE(seen.has_host_written_last());
  }
  SECTION("alone") {
    CHECK_FALSE(seen.is_changed());
    host_writes(8, 77);
    CHECK(seen.is_changed());
    CHECK(seen.writes().empty());
  }
  SECTION("beside it") {
    host_writes(4, 77);
    host_writes(12, 77);
    CHECK_FALSE(seen.is_changed());
  }
}

TEST_CASE_METHOD(Fixture, "atomics write, too, and nothing is known of what they store") {
  const ElementWrites seen(device, {memory + 8, 4});
  host_writes(8, 1);
  run("mov.u32 %r1, 2;\n" + one_thread + "atom.global.add.u32 %r2, [%out+8], %r1;\nDONE:\n");
  REQUIRE(seen.writes().size() == 1);
  CHECK(word(seen.writes()[0]) == 3);
  CHECK_FALSE(seen.has_host_written_last());
}

TEST_CASE_METHOD(Fixture, "of very many writes the last is kept") {
  const ElementWrites seen(device, {memory, 4});
  for (unsigned launch = 0; launch < 40; ++launch) run("add.u32 %r1, %thread, 100;\nst.global.u32 [%out], %r1;\n");
  const std::vector<Write> writes = seen.writes();
  CHECK(writes.size() <= 1024);
  CHECK(writes.back().block[0] == 1);
  CHECK(word(writes.back()) == writes.back().thread[0] + 100);
}

TEST_CASE("which write has made an element wrong", "[element_writes]") {
  const auto writes_of = [](const std::string& states) {  // r: right after it, w: wrong
    std::vector<Write> writes(states.size());
    for (std::size_t k = 0; k < states.size(); ++k) writes[k].after[0] = std::byte(states[k] == 'r');
    return writes;
  };
  const auto is_right = [](const ElementWrites::Bytes& bytes) { return bytes[0] == std::byte{1}; };
  const auto place = [](const std::vector<Write>& writes, const Write* one) { return one ? one - writes.data() : -1; };
  struct Row {
    const char* states;
    int wrong, right;
  };
  for (const auto& [states, wrong, right] :
       {Row{"w", 0, -1}, {"ww", 1, -1}, {"rw", 1, 0}, {"rww", 1, 0}, {"wrwrww", 4, 3}}) {
    INFO(states);
    const std::vector<Write> writes = writes_of(states);
    const std::optional<WrongWrite> found = wrong_write(writes, is_right);
    REQUIRE(found);
    CHECK(place(writes, found->wrong) == wrong);
    CHECK(place(writes, found->right) == right);
  }
  // The same call may be wrong elsewhere when it is made again: what is right then has no wrong write.
  for (const char* states : {"", "r", "wr", "rr", "rwr"}) {
    INFO(states);
    CHECK_FALSE(wrong_write(writes_of(states), is_right));
  }
}
