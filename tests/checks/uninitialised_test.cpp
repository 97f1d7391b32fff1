// Unwritten memory: the bitmaps and journals behind the check, and small kernels on which it speaks or keeps silent.
#include "vgpu/checks/uninitialised/uninitialised.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../core/kernel.hpp"
#include "vgpu/checks/check_suite.hpp"

using namespace scanlab;
using namespace scanlab::vgpu;

namespace {

/// A device with the check attached, and one kernel on it.
struct Bench {
  Device device{small_profile()};
  Uninitialised check{device.memory()};
  std::string printed;

  Bench() {
    device.attach(&check);
    device.print = [this](std::string_view text) { printed += text; };
  }
  ~Bench() { device.detach(&check); }

  Address array(std::size_t words) { return device.memory().allocate(4 * words); }
  LaunchResult launch(const std::string& body, Address out, Dim3 grid = {1, 1, 1}, Dim3 block = {32, 1, 1}) {
    LoadedModule* const module = device.load(test::Kernel{body}.text());
    return device.launch(test::launch_of(module, grid, block, std::as_bytes(std::span(&out, 1))));
  }
  std::vector<std::uint32_t> words(Address from, std::size_t count) {
    std::vector<std::uint32_t> to(count);
    device.memory().read(to.data(), from, 4 * count);
    return to;
  }
  std::size_t found() const { return check.findings().list().size(); }
  const Finding& first() const { return check.findings().list().at(0); }
};

/// %r4 is the address of s_x[thread], %rd3 that of out[thread of the grid].
const std::string begin = R"(
.shared .align 16 .b8 s_x[4096];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s_x;
add.u32 %r4, %r3, %r2;
mov.u32 %r5, %ctaid.x;
mov.u32 %r6, %ntid.x;
mad.lo.u32 %r7, %r5, %r6, %r1;
mul.wide.u32 %rd2, %r7, 4;
add.s64 %rd3, %out, %rd2;
)";

}  // namespace

TEST_CASE("a set of bytes is what a list of them would be") {
  constexpr std::uint64_t size = 1000;
  ByteSet set;
  std::set<std::uint64_t> naive;
  std::mt19937_64 random(11);
  for (unsigned round = 0; round < 3000; ++round) {
    const std::uint64_t from = random() % size, count = random() % 3 ? random() % 70 : random() % (size - from + 1);
    const std::uint64_t bytes = std::min(count, size - from);
    switch (random() % 3) {
      case 0:
        set.add(global_window + from, bytes);
        for (std::uint64_t k = 0; k < bytes; ++k) naive.insert(from + k);
        break;
      case 1:
        set.remove(global_window + from, bytes);
        for (std::uint64_t k = 0; k < bytes; ++k) naive.erase(from + k);
        break;
      default: {
        const std::uint64_t to = random() % (size - bytes + 1);
        set.copy(global_window + to, global_window + from, bytes);
        std::vector<bool> bits;
        for (std::uint64_t k = 0; k < bytes; ++k) bits.push_back(naive.contains(from + k));
        for (std::uint64_t k = 0; k < bytes; ++k) bits[k] ? void(naive.insert(to + k)) : void(naive.erase(to + k));
      }
    }
    for (std::uint64_t k = 0; k < size; ++k) REQUIRE(set.has(global_window + k) == naive.contains(k));
    const std::uint64_t at = random() % (size - 64);
    const auto some = static_cast<unsigned>(1 + random() % 64);
    bool all = true;
    for (unsigned k = 0; k < some; ++k) {
      REQUIRE((set.which(global_window + at, some) >> k & 1) == naive.contains(at + k));
      all = all && naive.contains(at + k);
    }
    REQUIRE(set.has_all(global_window + at, some) == all);
  }
}

TEST_CASE("what is forgotten of a set is its own bytes only") {
  constexpr std::uint64_t covered = 8 * page_bytes;
  ByteSet set;
  set.add(global_window, 5 * covered);
  set.forget(global_window + 100, 3 * covered);
  CHECK(set.has_all(global_window, 100));
  CHECK(set.has_all(global_window + 100 + 3 * covered, 2 * covered - 100));
  for (const std::uint64_t k : {std::uint64_t{100}, covered, 2 * covered, 3 * covered + 99})
    CHECK_FALSE(set.has(global_window + k));
}

TEST_CASE("a journal brings pages back with what was known of them") {
  Memory memory(1 << 20);
  ByteSet defined;
  const Address a = memory.allocate(3 * page_bytes);
  memory.fill(a, std::byte{1}, 3 * page_bytes);
  defined.add(a, 10);
  PageJournal journal(memory, defined);
  const Address across = (a / page_bytes + 1) * page_bytes - 2;
  journal.note_store(across, 4);
  CHECK(journal.size() == 2);
  memory.fill(across, std::byte{2}, 4);
  defined.add(across, 4);
  journal.swap();
  CHECK(*memory.host(across) == std::byte{1});
  CHECK(*memory.host(across + 3) == std::byte{1});
  CHECK_FALSE(defined.has(across));
  CHECK(defined.has_all(a, 10));
  CHECK(journal.at(across + 3) == std::byte{2});
  CHECK(journal.at(across + 4) == std::byte{1});
  journal.swap();
  CHECK(*memory.host(across) == std::byte{2});
  CHECK(defined.has_all(across, 4));
}

TEST_CASE("no other process sees what is written to shared memory in seclusion") {
  Memory memory(1 << 20);
  const Address a = memory.allocate(100);
  const int fd = memory.share(a);
  REQUIRE(fd >= 0);
  void* const mapped = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const theirs = static_cast<std::byte*>(mapped) + (a - global_window) % page_bytes;
  *theirs = std::byte{5};
  {
    const Memory::Seclusion alone(memory);
    CHECK_FALSE(memory.shared_with_host());
    CHECK(*memory.host(a) == std::byte{5});
    *memory.host(a) = std::byte{6};
    CHECK(*theirs == std::byte{5});
    *theirs = std::byte{7};
    CHECK(*memory.host(a) == std::byte{6});
  }
  CHECK(memory.shared_with_host());
  CHECK(*memory.host(a) == std::byte{7});
  *memory.host(a) = std::byte{8};
  CHECK(*theirs == std::byte{8});
  munmap(mapped, page_bytes);
  close(fd);
}

TEST_CASE("shared memory of which all is written needs no looks") {
  KernelInfo kernel;
  kernel.shared = {{"s_a", 8192, 8}, {"s_b", 16384, 100}};
  SharedBytes bytes;
  bytes.begin(kernel);
  Access a;
  a.mask = full_mask;
  a.bytes = 4;
  a.first = 8192;
  CHECK_FALSE(bytes.surely_has({a, 1, 0}));
  bytes.write(8192, 8);
  CHECK(bytes.surely_has({a, 1, 0}));
  CHECK(bytes.has_all(8192, 8));
  CHECK_FALSE(bytes.has_all(16384, 1));
  bytes.write(16385, 99);
  CHECK_FALSE(bytes.has_all(16384, 2));
  CHECK(bytes.which(16384, 4) == 0b1110);
  a.bytes = 1;
  a.stride = 1;
  a.first = 16388;
  CHECK(bytes.surely_has({a, 1, 0}));
  CHECK(bytes.surely_has({a, 2, 32}));
  CHECK(bytes.surely_has({a, 3, 32}));
  CHECK_FALSE(bytes.surely_has({a, 4, 32}));
  // Only the first warp's lanes may be missing.
  a.first = 16384;
  CHECK_FALSE(bytes.has_all({a, 2, 32}));
  a.mask = 0xFFFFFFFE;
  CHECK(bytes.surely_has({a, 1, 0}));
  CHECK(bytes.surely_has({a, 3, 32}));
  a.first = 16484 - 64;
  a.mask = 1;
  CHECK(bytes.surely_has({a, 2, 32}));
  CHECK_FALSE(bytes.surely_has({a, 3, 32}));
  bytes.begin(kernel);
  CHECK_FALSE(bytes.has_all(16385, 1));
}

TEST_CASE("shared memory knows what has been written, however the lanes lie") {
  constexpr std::uint64_t begin = 8192, size = 6000;
  KernelInfo kernel;
  kernel.shared = {{"s_a", begin, size}, {"s_never", 20480, 4}};
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    SharedBytes bytes;
    bytes.begin(kernel);
    std::vector<bool> written(size);
    std::vector<AccessRun> writes_so_far;
    const std::uint32_t width = 1u << below(5);
    const std::int64_t usual = static_cast<std::int64_t>(width * (1 + below(4)));
    for (unsigned step = 0; step < 60; ++step) {
      AccessRun run;
      Access& a = run.first;
      a.bytes = below(4) ? width : std::min(width, 1u << below(5));
      a.stride = usual * static_cast<std::int64_t>(below(4) ? 1 : below(4)) * (below(4) ? 1 : -1);
      run.count = 1 + static_cast<unsigned>(below(3));
      a.mask = below(3) == 0 ? full_mask << below(32) : below(3) == 0 ? full_mask >> below(32) : full_mask;
      if (below(8) == 0) a.mask = static_cast<Mask>(random()) | 1;
      if (run.count > 1) run.step = below(4) ? a.stride * warp_size : usual * static_cast<std::int64_t>(below(40));
      if (a.mask == full_mask && below(3) == 0) {  // rows of a narrow block
        a.row_lanes = 2u << below(4);
        a.row_step = static_cast<std::int64_t>(usual * (below(2) ? a.row_lanes : below(20)));
        if (below(3) == 0) a.stride = 0;
      }
      a.first = 1 << 20;
      const Extent e = extent_of(run);
      if (e.end - e.begin > size) continue;
      const std::uint64_t room = size - (e.end - e.begin);
      const std::uint64_t unit = below(3) ? static_cast<std::uint64_t>(usual) : a.bytes;
      a.first += begin + below(room / unit + 1) * unit - e.begin;
      bool has = true;
      const bool writes = below(2);
      for (unsigned k = 0; k < run.count; ++k)
        for (unsigned lane = 0; lane < warp_size; ++lane)
          for (unsigned byte = 0; byte < a.bytes && (run.lanes_of(k) >> lane & 1); ++byte) {
            const std::uint64_t at = run.of(k).at(lane) + byte - begin;
            REQUIRE(at < size);
            has = has && written[at];
          }
      if (writes) {
        bytes.write(run);
        writes_so_far.push_back(run);
        for (unsigned k = 0; k < run.count; ++k)
          for (unsigned lane = 0; lane < warp_size; ++lane)
            for (unsigned byte = 0; byte < a.bytes && (run.lanes_of(k) >> lane & 1); ++byte)
              written[run.of(k).at(lane) + byte - begin] = true;
        has = true;
      }
      REQUIRE(bytes.has_all(run) == has);
      if (!has) REQUIRE_FALSE(bytes.surely_has(run));
    }
    for (std::uint64_t k = 0; k < size; ++k) REQUIRE(bytes.has_all(begin + k, 1) == written[k]);
    // The next block.
    bytes.begin(kernel);
    for (const AccessRun& run : writes_so_far) REQUIRE_FALSE(bytes.has_all(run));
  }
}

TEST_CASE("a launch that is tried again leaves everything as it was") {
  // Every block reads shared memory that was never written, for nothing, and adds to what is there.
  const std::string body = begin + R"(
ld.volatile.shared.u32 %r10, [%r4];
and.b32 %r10, %r10, 0;
ld.global.u32 %r11, [%rd3];
add.u32 %r11, %r11, %r10;
add.u32 %r11, %r11, %r7;
st.global.u32 [%rd3], %r11;
atom.global.add.u32 %r12, [%out+4096], 1;
ret;
)";
  for (const auto order : {Schedule::Order::lockstep, Schedule::Order::reversed, Schedule::Order::random}) {
    Bench b;
    b.device.schedule.order = order;
    const Address out = b.array(1025);
    b.device.memory().fill(out, std::byte{0}, 4 * 1025);
    for (unsigned round = 1; round <= 2; ++round) {
      REQUIRE(b.launch(body, out, {16, 1, 1}, {64, 1, 1}).status == LaunchResult::Status::ok);
      const auto got = b.words(out, 1025);
      for (unsigned k = 0; k < 1024; ++k) REQUIRE(got[k] == round * k);
      CHECK(got[1024] == round * 1024);
    }
    CHECK(b.found() == 0);
    CHECK_FALSE(b.check.undefined_value(out, 4 * 1025));
  }
}

TEST_CASE("a result that depends on unwritten memory is found where the host reads it") {
  Bench b;
  const Address out = b.array(64);
  b.device.memory().fill(out, std::byte{0}, 256);
  // Thread 3 does not write its element.
  b.launch(begin + R"(
setp.ne.u32 %p1, %r1, 3;
@%p1 st.shared.u32 [%r4], %r1;
bar.sync 0;
ld.shared.u32 %r10, [%r4];
add.u32 %r10, %r10, 1;
st.global.u32 [%rd3], %r10;
ret;
)",
           out);
  b.words(out, 3);
  b.words(out + 16, 60);
  CHECK(b.found() == 0);
  CHECK_FALSE(b.check.undefined_value(out, 12));
  const auto asked = b.check.undefined_value(out, 256);
  REQUIRE(asked);
  CHECK(asked->id == "uninitialised.shared");
  b.words(out, 4);
  REQUIRE(b.found() == 1);
  CHECK(b.first().variable == "s_x");
  CHECK(b.first().element == 3);
  CHECK(b.first().kind == "result");
  REQUIRE(b.first().parts.size() == 2);
  CHECK(b.first().parts[0].thread[0] == 3);
  CHECK(b.first().parts[1].thread[0] == 3);
  b.words(out, 4);
  CHECK(b.first().count == 1);

  SECTION("a value that replaces it is defined") {
    b.device.memory().fill(out, std::byte{0}, 256);
    CHECK_FALSE(b.check.undefined_value(out, 256));
  }
  SECTION("a copy of it is as undefined") {
    const Address other = b.array(64);
    b.device.memory().copy(other + 8, out + 8, 100);
    const auto there = b.check.undefined_value(other, 256);
    REQUIRE(there);
    CHECK(there->element == 3);
    CHECK_FALSE(b.check.undefined_value(other + 16, 200));
  }
}

TEST_CASE("memory that the host forgets counts as unwritten") {
  Bench b;
  const Address out = b.array(32);
  b.device.memory().fill(out, std::byte{0}, 128);
  const std::string add =
      begin + "ld.global.u32 %r10, [%rd3];\nadd.u32 %r10, %r10, 1;\nst.global.u32 [%rd3], %r10;\nret;\n";
  b.launch(add, out);
  CHECK_FALSE(b.check.undefined_value(out, 128));
  b.check.forget(out + 8, 4);
  b.launch(add, out);
  REQUIRE(b.check.undefined_value(out, 128));
  CHECK(b.check.undefined_value(out, 128)->id == "uninitialised.global");
  CHECK(b.check.undefined_value(out, 128)->element == 2);
  CHECK(b.words(out, 32)[2] == 2);
}

TEST_CASE("a branch and an address that depend on unwritten memory are found at once") {
  Bench b;
  const Address out = b.array(64);
  SECTION("branch") {
    b.launch(begin + R"(
ld.shared.u32 %r10, [%r4];
setp.eq.u32 %p1, %r10, 0;
@%p1 bra DONE;
bar.warp.sync 0xFFFFFFFF;
DONE:
ret;
)",
             out);
    REQUIRE(b.found() == 1);
    CHECK(b.first().kind == "branch");
  }
  SECTION("address") {
    b.launch(begin + R"(
ld.shared.u32 %r10, [%r4];
and.b32 %r10, %r10, 31;
mul.wide.u32 %rd5, %r10, 4;
add.s64 %rd6, %out, %rd5;
st.global.u32 [%rd6], %r1;
ret;
)",
             out);
    REQUIRE(b.found() == 1);
    CHECK(b.first().kind == "address");
  }
  SECTION("address that faults") {
    const LaunchResult result = b.launch(begin + R"(
ld.shared.u32 %r10, [%r4];
mul.wide.u32 %rd5, %r10, 4;
add.s64 %rd6, %out, %rd5;
st.global.u32 [%rd6], %r1;
ret;
)",
                                         out);
    CHECK(result.status == LaunchResult::Status::fault);
    REQUIRE(b.found() == 1);
    CHECK(b.first().kind == "address");
    CHECK(b.first().parts[0].thread[0] == b.first().parts[1].thread[0]);
  }
  CHECK(b.first().variable == "s_x");
}

TEST_CASE("blocks that hand values on are tried together") {
  // Block 0 leaves what it has not written to block 1, which the host then sees.
  Bench b;
  const Address out = b.array(64);
  b.device.memory().fill(out, std::byte{0}, 256);
  b.launch(begin + R"(
setp.ne.u32 %p1, %r5, 0;
@%p1 bra SECOND;
ld.shared.u32 %r10, [%r4];
st.global.u32 [%rd3], %r10;
ret;
SECOND:
ld.global.u32 %r10, [%rd3+-128];
add.u32 %r10, %r10, 5;
st.global.u32 [%rd3], %r10;
ret;
)",
           out, {2, 1, 1});
  const auto there = b.check.undefined_value(out + 128, 128);
  REQUIRE(there);
  CHECK(there->id == "uninitialised.shared");
}

TEST_CASE("an endless loop is not run again") {
  Bench b;
  b.device.max_warp_instructions = 30'000'000;
  const Address out = b.array(64);
  const LaunchResult result = b.launch(begin + R"(
ld.volatile.shared.u32 %r10, [%r4];
mov.u32 %r11, 0;
LOOP:
add.u32 %r11, %r11, 1;
bra LOOP;
)",
                                       out);
  CHECK(result.status == LaunchResult::Status::fault);
  CHECK(b.found() == 0);
}
