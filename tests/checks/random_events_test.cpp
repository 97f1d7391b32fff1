// Random sequences of what a block can do, given to the race check and to the naive one: they have to find the same.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>
#include <string>

#include "naive_races.hpp"
#include "vgpu/checks/shared/shared_races.hpp"

using namespace scanlab;
using vgpu::Access;
using vgpu::Actor;
using vgpu::Mask;
using vgpu::Observer;

namespace {

constexpr std::uint64_t window = 8192, array_bytes = 512, barrier_object = window + 4096;
constexpr std::uint32_t lines = 12;

ptx::Module module_with_lines() {
  ptx::Module m;
  m.files = {"", "kernel.cu"};
  m.lines.resize(1);
  for (std::uint32_t k = 1; k <= lines; ++k) m.lines.push_back({1, k, 0, -1, {}});
  return m;
}

/// What kinds of events a sequence has.
struct Mix {
  bool has_warp_syncs = false, has_parts = false, has_counted = false, has_flags = false, has_copies = false,
       has_mbarriers = false;
};

class Block {
 public:
  Block(std::uint64_t seed, Mix mix) : random_(seed), mix_(mix), threads_(std::array{64u, 70u, 96u}[below(3)]) {
    const vgpu::KernelInfo info{"k",         {1, 1, 1}, {threads_, 1, 1},
                                array_bytes, &module_,  {{"s_a", window, array_bytes}, {"s_b", barrier_object, 8}}};
    each([&](Observer& o) {
      vgpu::KernelInfo with_paths = info;
      with_paths.fast_paths.access_log = &o != &without_log_;
      o.kernel_begin(with_paths);
      o.block_begin(0, 0);
    });
    const unsigned count = 3 + below(std::array{6u, 15u, 30u}[below(3)]);
    for (unsigned k = 0; k < count; ++k) event();
    each([](Observer& o) { o.kernel_end(); });
  }

  std::set<test::Verdict> found() const { return verdicts_of(check_); }
  /// What the check finds without its log of rows.
  std::set<test::Verdict> found_without_log() const { return verdicts_of(without_log_); }
  static std::set<test::Verdict> verdicts_of(const vgpu::SharedRaces& check) {
    std::set<test::Verdict> result;
    for (const vgpu::Finding& f : check.findings().list())
      result.insert(
          {f.kernel, f.variable, vgpu::place_text(f.parts.front().where), vgpu::place_text(f.parts.back().where)});
    return result;
  }
  /// The check has kept all that it found.
  bool is_whole() const { return check_.findings().total() <= vgpu::FindingList::most; }
  const std::set<test::Verdict>& expected() const { return naive_.verdicts(); }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool one_in(unsigned n) { return below(n) == 0; }
  unsigned warps() const { return (threads_ + 31) / 32; }
  Mask lanes_of(unsigned warp) const {
    const unsigned lanes = std::min(32u, threads_ - 32 * warp);
    return vgpu::full_mask >> (32 - lanes);
  }
  template <class Do>
  void each(Do what) {
    what(static_cast<Observer&>(check_));
    what(static_cast<Observer&>(without_log_));
    what(static_cast<Observer&>(naive_));
  }

  Mask some_lanes(unsigned warp) {
    const Mask all = lanes_of(warp);
    switch (below(4)) {
      case 0:
        return (all & (0xFFu << 8 * below(4))) | (all & 1);
      case 1:
        return (static_cast<Mask>(random_()) & all) | (all & 1);
      default:
        return all;
    }
  }

  Actor any_actor() {
    Actor a;
    a.warp = below(warps());
    a.line = 1 + below(lines);
    return a;
  }

  void event() {
    const unsigned kind = below(12);
    if (kind < 6) return plain();
    if (kind == 6 && one_in(3)) return whole_barrier();
    if (kind == 7 && mix_.has_warp_syncs) return warp_sync();
    if (kind == 8 && mix_.has_counted) return counted_barrier();
    if (kind == 9 && mix_.has_flags) return flag();
    if (kind == 10 && mix_.has_copies) return copy();
    if (kind == 11 && mix_.has_mbarriers) return mbarrier();
    plain();
  }

  void plain() {
    Access a;
    a.actor = any_actor();
    a.space = ptx::StateSpace::shared;
    a.bytes = std::array{1u, 2u, 4u, 4u, 4u, 8u, 16u}[below(7)];
    a.mask = some_lanes(a.actor.warp);
    const unsigned places = array_bytes / a.bytes;
    const bool writes = one_in(2);
    std::uint64_t address[32];
    switch (below(4)) {
      case 0:  // anywhere
        for (std::uint64_t& x : address) x = window + a.bytes * below(places);
        a.address = address;
        break;
      case 1: {  // few places
        const unsigned first = below(places);
        for (std::uint64_t& x : address) x = window + a.bytes * ((first + below(2)) % places);
        a.address = address;
        break;
      }
      default: {  // the thread's own, or shifted by some
        const unsigned shift = below(3) ? 0 : below(5);
        for (unsigned l = 0; l < 32; ++l) address[l] = window + a.bytes * ((32 * a.actor.warp + l + shift) % places);
        a.address = address;
        if ((32 * a.actor.warp + 31 + shift) < places && one_in(2)) {
          a.address = nullptr;
          a.first = address[0];
          a.stride = a.bytes;
        }
      }
    }
    if (!a.address && threads_ % 32 == 0 && 4 * threads_ + 32 < array_bytes && a.bytes == 4 && one_in(2)) {
      // All warps from the first on.
      vgpu::AccessRun run;
      run.first = a;
      run.first.mask = vgpu::full_mask;
      if (one_in(2)) run.first.mask <<= below(32);
      if (one_in(4)) run.first.mask &= vgpu::full_mask >> below(32);
      if (!run.first.mask) run.first.mask = 1;
      run.first.actor.warp = 0;
      run.first.first = window + 4 * below(8);
      run.first.stride = 4;
      run.count = warps();
      run.step = one_in(4) ? 0 : 128;
      if (run.first.mask == vgpu::full_mask && one_in(2)) {  // rows of a narrow block
        const vgpu::AccessRun wide = run;
        run.first.row_lanes = 2u << below(4);
        run.first.stride = 4 * below(2);
        run.first.row_step = 4 * below(one_in(2) ? 3 : 16);
        run.step = 4 * below(one_in(2) ? 3 : 20);
        if (run.of(warps() - 1).at(31) + 4 > window + array_bytes) run = wide;
      }
      return each([&](Observer& o) { writes ? o.stores(run) : o.loads(run); });
    }
    if (mix_.has_flags && one_in(6)) {
      a.order = Access::Order::volatile_;
    } else if (one_in(8)) {
      a.order = Access::Order::relaxed;
      return each([&](Observer& o) { o.atomic(a); });
    }
    each([&](Observer& o) { writes ? o.store(a) : o.load(a); });
  }

  void whole_barrier() {
    each([&](Observer& o) { o.barrier_complete({}, 0, Observer::Meeting::all); });
  }

  void warp_sync() {
    const Actor a = any_actor();
    const Mask lanes = mix_.has_parts ? some_lanes(a.warp) : lanes_of(a.warp);
    each([&](Observer& o) { o.warp_sync(a, lanes, Observer::WarpSync::orders_memory); });
  }

  /// Some warps, or some lanes of them, wait; others may have arrived before.
  void counted_barrier() {
    const std::uint32_t id = 1 + below(2);
    Actor a = any_actor();
    if (one_in(2)) {
      const Mask lanes = some_lanes(a.warp);
      return each([&](Observer& o) { o.barrier_arrive(a, lanes, id, Observer::Arrival::goes_on); });
    }
    for (unsigned k = 0; k < 2; ++k) {
      a.warp = (a.warp + k) % warps();
      const Mask lanes = some_lanes(a.warp);
      each([&](Observer& o) { o.barrier_arrive(a, lanes, id, Observer::Arrival::waits); });
    }
    each([&](Observer& o) { o.barrier_complete(a, id, Observer::Meeting::counted); });
  }

  void flag() {
    Access a;
    a.actor = any_actor();
    a.mask = Mask{1} << below(16) & lanes_of(a.actor.warp);
    if (!a.mask) a.mask = 1;
    if (one_in(3)) return each([&](Observer& o) { o.fence(a.actor, a.mask, Access::Scope::block); });
    a.space = one_in(3) ? ptx::StateSpace::global : ptx::StateSpace::shared;
    a.bytes = 4;
    a.first = (a.space == ptx::StateSpace::global ? vgpu::global_window : window) + 4 * below(2);
    using enum Access::Order;
    a.scope = Access::Scope::block;
    const unsigned how = below(3);
    if (how == 0) a.order = std::array{volatile_, relaxed, acquire}[below(3)];
    if (how == 1) a.order = std::array{volatile_, relaxed, release}[below(3)];
    if (how == 2) a.order = std::array{relaxed, acquire, release, acq_rel}[below(4)];
    each([&](Observer& o) { how == 0 ? o.load(a) : how == 1 ? o.store(a) : o.atomic(a); });
  }

  void copy() {
    Access a;
    a.actor = any_actor();
    a.mask = some_lanes(a.actor.warp);
    const std::uint32_t left = one_in(3) ? Observer::wait_for_all : below(2);
    switch (below(3)) {
      case 0:
        a.space = ptx::StateSpace::shared;
        a.bytes = 4;
        a.first = window + 4 * below(20);
        a.stride = 4;
        a.is_async = true;
        return each([&](Observer& o) { o.store(a); });
      case 1:
        return each([&](Observer& o) { o.async_commit(a.actor, a.mask); });
      default:
        return each([&](Observer& o) { o.async_wait(a.actor, a.mask, left); });
    }
  }

  void mbarrier() {
    Access a;
    a.actor = any_actor();
    a.mask = some_lanes(a.actor.warp);
    a.space = ptx::StateSpace::shared;
    a.bytes = 8;
    a.first = barrier_object;
    a.scope = Access::Scope::block;
    const bool arrives = one_in(2);
    a.order = arrives ? Access::Order::release : Access::Order::acquire;
    a.is_async = arrives && mix_.has_copies && one_in(2);
    if (arrives && one_in(3)) ++phase_;
    std::uint64_t phase[32];
    for (std::uint64_t& x : phase) x = arrives ? phase_ : phase_ - below(2);
    a.phase = phase;
    each([&](Observer& o) { o.atomic(a); });
  }

  std::mt19937_64 random_;
  Mix mix_;
  unsigned threads_;
  std::uint64_t phase_ = 2;
  ptx::Module module_ = module_with_lines();
  vgpu::SharedRaces check_, without_log_;
  test::NaiveRaces naive_;
};

void compare(Mix mix, unsigned count) {
  unsigned racy = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    const Block block(seed, mix);
    if (!block.is_whole()) continue;
    INFO("seed " << seed);
    const auto missing = [](const std::set<test::Verdict>& verdicts, const std::set<test::Verdict>& others) {
      std::string all;
      for (const test::Verdict& v : verdicts)
        if (const auto& [kernel, array, earlier, later] = v; !others.contains(v))
          all += fmt::format("{} {} {}\n", array, earlier, later);
      return all;
    };
    REQUIRE(missing(block.expected(), block.found()) == "");
    REQUIRE(missing(block.found(), block.expected()) == "");
    REQUIRE(block.found_without_log() == block.found());
    racy += !block.expected().empty();
  }
  // A comparison of nothing with nothing would not be worth much.
  CHECK(racy > count / 4);
}

}  // namespace

TEST_CASE("random accesses between barriers: the check and the naive one agree") {
  compare({}, 400);
}
TEST_CASE("random accesses and barriers of warps: the check and the naive one agree") {
  compare({.has_warp_syncs = true}, 400);
}
TEST_CASE("random accesses and barriers of lanes: the check and the naive one agree") {
  compare({.has_warp_syncs = true, .has_parts = true}, 400);
}
TEST_CASE("random accesses and barriers with a count: the check and the naive one agree") {
  compare({.has_warp_syncs = true, .has_parts = true, .has_counted = true}, 400);
}
TEST_CASE("random accesses, flags and fences: the check and the naive one agree") {
  compare({.has_warp_syncs = true, .has_flags = true}, 400);
}
TEST_CASE("random accesses and copies: the check and the naive one agree") {
  compare({.has_warp_syncs = true, .has_copies = true}, 400);
}
TEST_CASE("random accesses and mbarriers: the check and the naive one agree") {
  compare({.has_warp_syncs = true, .has_copies = true, .has_mbarriers = true}, 400);
}
TEST_CASE("random events of all kinds: the check and the naive one agree") {
  compare({true, true, true, true, true, true}, 400);
}
