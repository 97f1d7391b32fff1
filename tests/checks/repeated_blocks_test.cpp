// Blocks that repeat what an earlier one did: what is found has to be the same as when each is looked at by itself.
#include "vgpu/checks/repeated_blocks.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../core/kernel.hpp"
#include "vgpu/checks/shared/shared_races.hpp"
#include "vgpu/checks/uninitialised/uninitialised.hpp"

using namespace scanlab;
using namespace scanlab::vgpu;

namespace {

constexpr std::uint64_t window = 8192;
constexpr unsigned warps = 3, lines = 8;

/// What one block may do, reported to an observer: the block's number comes from outside.
using BlockEvent = std::function<void(Observer&, Actor block)>;

class RandomBlocks {
 public:
  explicit RandomBlocks(std::uint64_t seed) : random_(seed) {
    for (unsigned k = 3 + below(12); k > 0; --k) add_event(common_);
  }

  /// A block like most of them, or one in which an event is missing, more, or another one.
  std::vector<BlockEvent> block() {
    std::vector<BlockEvent> events = common_;
    if (below(3)) return events;
    const auto at = static_cast<std::ptrdiff_t>(below(static_cast<unsigned>(events.size())));
    if (below(2)) events.erase(events.begin() + at);
    if (below(2)) {
      std::vector<BlockEvent> more;
      add_event(more);
      events.insert(events.begin() + at, more.begin(), more.end());
    }
    return events;
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  /// Mostly one that races with no other, so that there is something to repeat.
  void add_event(std::vector<BlockEvent>& to) {
    const unsigned warp = below(warps), line = 1 + below(lines);
    switch (below(12)) {
      case 0:
        to.push_back([=](Observer& o, Actor block) {
          block.warp = warp;
          o.warp_sync(block, full_mask, Observer::WarpSync::orders_memory);
        });
        break;
      case 1:
        to.push_back([=](Observer& o, Actor block) {
          block.warp = warp;
          o.fence(block, 1, Access::Scope::device);
        });
        break;
      case 2: {
        Access a = access(warp, line);
        a.order = below(2) ? Access::Order::volatile_ : Access::Order::relaxed;
        const unsigned how = below(3);
        const bool is_global = below(2);
        to.push_back([=](Observer& o, Actor block) {
          Access of = a;
          of.actor.block = block.block;
          of.actor.slot = block.slot;
          of.mask = 1;
          if (is_global) of.space = ptx::StateSpace::global, of.first = global_window;
          how == 0 ? o.load(of) : how == 1 ? o.store(of) : o.atomic(of);
        });
        break;
      }
      case 3: {
        const auto addresses = std::make_shared<std::array<std::uint64_t, warp_size>>();
        for (std::uint64_t& x : *addresses) x = window + 4 * (warp * 32 + below(below(4) ? 32 : 40));
        const Access a = access(warp, line);
        const bool writes = below(4) == 0;
        to.push_back([=](Observer& o, Actor block) {
          Access of = a;
          of.actor.block = block.block;
          of.actor.slot = block.slot;
          of.address = addresses->data();
          writes ? o.store(of) : o.load(of);
        });
        break;
      }
      default: {
        AccessRun run;
        run.first = access(below(2) ? warp : 0, line);
        run.count = run.first.actor.warp == 0 && below(2) ? warps : 1;
        run.step = run.count > 1 ? 128 : 0;
        if (below(6) == 0) run.first.first += 4;
        const bool writes = below(2);
        if (run.count == 1 && below(4) == 0) run.first.mask = static_cast<Mask>(random_()) | 1;
        to.push_back([=](Observer& o, Actor block) {
          AccessRun of = run;
          of.first.actor.block = block.block;
          of.first.actor.slot = block.slot;
          writes ? o.stores(of) : o.loads(of);
        });
      }
    }
    if (below(3)) to.push_back([](Observer& o, Actor block) { o.barrier_complete(block, 0, Observer::Meeting::all); });
  }

  static Access access(unsigned warp, unsigned line) {
    Access a;
    a.actor.warp = warp;
    a.actor.line = line;
    a.space = ptx::StateSpace::shared;
    a.mask = full_mask;
    a.bytes = 4;
    a.first = window + 128 * warp;
    a.stride = 4;
    return a;
  }

  std::mt19937_64 random_;
  std::vector<BlockEvent> common_;
};

std::string found(const SharedRaces& check) {
  std::string all;
  for (const Finding& f : check.findings().list())
    all += fmt::format("{} block {} {} {} threads {} {} × {}\n", f.headline, f.block[0], place_text(f.parts[0].where),
                       place_text(f.parts[1].where), f.parts[0].thread[0], f.parts[1].thread[0], f.count);
  return all;
}

/// On a device: what is found in 12 blocks of 64 threads of `kernel`, with the path or without.
std::string found_on_device(const std::string& kernel, bool has_path) {
  Device device(small_profile());
  Uninitialised unwritten(device.memory());
  SharedRaces races;
  device.attach(&unwritten);
  device.attach(&races);
  device.fast_paths.repeated_blocks = has_path;
  const Address out = device.memory().allocate(4096);
  LaunchRequest request;
  request.module = device.load(test::Kernel{kernel}.text());
  request.kernel = "k";
  request.grid = {12, 1, 1};
  request.block = {64, 1, 1};
  request.parameters = std::as_bytes(std::span(&out, 1));
  const LaunchResult result = device.launch(request);
  std::string all = result.status == LaunchResult::Status::ok ? "" : "fault\n";
  std::array<std::uint32_t, 12 * 64> copied;
  device.memory().read(copied.data(), out, sizeof copied);  // what was never written matters now
  for (const FindingList* list : {&unwritten.findings(), &races.findings()})
    for (const Finding& f : list->list()) all += fmt::format("{} {}\n", f.headline, f.count);
  device.detach(&races);
  device.detach(&unwritten);
  return all;
}

/// Each thread writes its element and reads the next one, with `between` in front of that; %p1: in block 7.
std::string neighbours(const std::string& before, const std::string& between) {
  return R"(
.shared .align 16 .b8 s_x[512];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s_x;
add.u32 %r4, %r3, %r2;
mov.u32 %r5, %ctaid.x;
setp.eq.u32 %p1, %r5, 7;
)" + before +
         "st.shared.u32 [%r4], %r1;\n" + between + R"(
xor.b32 %r6, %r2, 4;
add.u32 %r7, %r3, %r6;
ld.shared.u32 %r8, [%r7];
mov.u32 %r9, %ntid.x;
mad.lo.u32 %r10, %r5, %r9, %r1;
mul.wide.u32 %rd2, %r10, 4;
add.s64 %rd3, %out, %rd2;
st.global.u32 [%rd3], %r8;
ret;
)";
}

}  // namespace

TEST_CASE("random blocks, most of them alike: what is found is found without the path, too") {
  unsigned racy = 0, clean = 0;
  ptx::Module module;
  module.files = {"", "kernel.cu"};
  module.lines.resize(1);
  for (std::uint32_t k = 1; k <= lines; ++k) module.lines.push_back({1, k, 0, -1, {}});
  for (unsigned seed = 0; seed < 1500; ++seed) {
    INFO("seed " << seed);
    RandomBlocks blocks(seed);
    SharedRaces with, without;
    KernelInfo info{"k", {9, 1, 1}, {32 * warps, 1, 1}, 512, &module, {{"s_a", window, 512}}};
    with.kernel_begin(info);
    info.fast_paths.repeated_blocks = false;
    without.kernel_begin(info);
    for (std::uint64_t b = 0; b < 9; ++b) {
      const Actor block{b, 0, static_cast<std::uint32_t>(b % 2), 0};
      const std::vector<BlockEvent> events = blocks.block();
      for (Observer* const o : {static_cast<Observer*>(&with), static_cast<Observer*>(&without)}) {
        o->block_begin(b, block.slot);
        for (const BlockEvent& event : events) event(*o, block);
        o->block_end(b, block.slot);
      }
    }
    with.kernel_end();
    without.kernel_end();
    REQUIRE(found(with) == found(without));
    (found(with).empty() ? clean : racy) += 1;
  }
  CHECK(racy > 300);
  CHECK(clean > 300);
}

TEST_CASE("a block that alone leaves out its barrier is found to race") {
  const std::string kernel = neighbours("", "@!%p1 bar.sync 0;\n");
  const std::string all = found_on_device(kernel, true);
  CHECK(all.find("block 7") != std::string::npos);
  CHECK(all == found_on_device(kernel, false));
  CHECK(found_on_device(neighbours("", "bar.sync 0;\n"), true).empty());
}

TEST_CASE("a block that alone does not write all that it reads is found to") {
  const std::string kernel =
      neighbours("setp.lt.u32 %p2, %r1, 40;\nand.pred %p3, %p1, %p2;\n@%p3 bra skip;\n", "skip:\nbar.sync 0;\n");
  const std::string all = found_on_device(kernel, true);
  CHECK(all.find("block 7") != std::string::npos);
  CHECK(all == found_on_device(kernel, false));
}

TEST_CASE("threads that write one place race in the block where their values differ") {
  // The value is 1 but in block 7, where it is the thread's number.
  const std::string kernel = R"(
.shared .align 16 .b8 s_x[512];
mov.u32 %r1, %tid.x;
mov.u32 %r3, s_x;
mov.u32 %r5, %ctaid.x;
setp.eq.u32 %p1, %r5, 7;
selp.u32 %r6, %r1, 1, %p1;
st.shared.u32 [%r3], %r6;
bar.sync 0;
ld.shared.u32 %r8, [%r3];
mul.wide.u32 %rd2, %r1, 4;
mul.wide.u32 %rd4, %r5, 256;
add.s64 %rd3, %out, %rd2;
add.s64 %rd3, %rd3, %rd4;
st.global.u32 [%rd3], %r8;
ret;
)";
  const std::string all = found_on_device(kernel, true);
  CHECK(all.find("block 7") != std::string::npos);
  CHECK(all == found_on_device(kernel, false));
}
