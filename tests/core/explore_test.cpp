// Exploration: all executions of a launch, and no other outcome than the memory model allows.
#include "vgpu/core/explore/explore.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <random>

#include "weak_litmus.hpp"

using namespace scanlab;
using namespace scanlab::test;

namespace {

struct Explored {
  Outcomes outcomes;
  std::map<std::string, std::string> trails;  ///< of an execution with that outcome
  vgpu::Exploration summary;
};

Explored explore(LitmusDevice& device, const vgpu::ExplorationLimits& limits = {}) {
  Explored all;
  device.clear();
  const auto visit = [&](const vgpu::Execution& execution, const std::string& trail) {
    const std::string outcome = execution.fault ? execution.fault->headline : device.outcome();
    all.outcomes.insert(outcome);
    all.trails.try_emplace(outcome, trail);
    return true;
  };
  const auto summary = device.device.explore(device.request, limits, visit);
  REQUIRE(summary);
  all.summary = *summary;
  return all;
}

}  // namespace

TEST_CASE("exploration finds exactly the outcomes that the memory model allows") {
  for (const ExpectedLitmus& e : weak_litmus()) {
    INFO(e.name);
    LitmusDevice device(e.litmus);
    const Explored all = explore(device);
    INFO(all.summary.executions << " executions in " << all.summary.runs << " runs " << all.summary.why_not);
    CHECK(all.outcomes == e.allowed);
    CHECK(all.summary.is_exhaustive);
  }
}

TEST_CASE("an execution that was explored can be shown again") {
  for (const ExpectedLitmus& e : weak_litmus()) {
    INFO(e.name);
    LitmusDevice device(e.litmus);
    const Explored all = explore(device);
    for (const auto& [outcome, trail] : all.trails) {
      INFO(trail);
      LitmusDevice again(e.litmus);
      again.device.schedule = {vgpu::Schedule::Order::weak, 0, trail};
      CHECK_FALSE(again.device.launch(again.request).fault);
      CHECK(again.outcome() == outcome);
    }
  }
}

TEST_CASE("what a later read decides to forget may matter with what comes later") {
  // r1 is forgotten when y is 0: then it is as if it had been 0. But y may be 1, too.
  for (const bool reader_is_first : {true, false}) {
    const std::string reader = ld("relaxed.gpu", 20, x) + ld("relaxed.gpu", 21, y) +
                               "setp.eq.u32 %p9, %r21, 0;\nselp.u32 %r20, 0, %r20, %p9;\n" + ld("relaxed.gpu", 22, z) +
                               "mov.u32 %r1, %r20;\n";
    const std::string writer = st("relaxed.gpu", x, 1) + st("relaxed.gpu", y, 1);
    LitmusDevice device({{{0, reader_is_first ? reader : writer}, {1, reader_is_first ? writer : reader}}, 1, {}});
    const Explored all = explore(device);
    CHECK(all.outcomes == Outcomes{"0", "1"});
    CHECK(all.summary.is_exhaustive);
  }
}

namespace {

enum class Values : bool { kept, forgotten };

/// A litmus test of a few random instructions. Where values are forgotten, threads keep only a bit of what they read,
/// or nothing, or decide that by what they read next; they wait for some of it; and some are several lanes of a warp,
/// which may wait for each other.
Litmus random_litmus(std::mt19937& random, Values values = Values::kept) {
  const auto pick = [&](std::initializer_list<const char*> some) {
    return std::string(*(some.begin() + random() % some.size()));
  };
  Litmus litmus;
  const unsigned threads = 2 + random() % 3, instructions = 8;
  const bool has_blocks = random() % 3 == 0;
  for (unsigned t = 0; t < threads; ++t) {
    Litmus::Thread thread;
    thread.block = static_cast<int>(has_blocks ? t / 2 : t);
    if (values == Values::forgotten && threads < 4 && random() % 3 == 0)
      thread.lanes = 2 + static_cast<int>(random() % 2);
    const auto load = [&](const std::string& how, int result, int at) {
      return thread.lanes > 1 ? ld_by_lane(how, result, at) : ld(how, result, at);
    };
    const auto read = [&](const std::string& how, int at) {
      const int result = ++litmus.results, next = (at + 64) % 192;
      if (values == Values::kept) return ld(how, result, at);
      const unsigned kind = random() % 6;
      if (kind < 3) return load(how, 20, at) + fmt::format("and.b32 %r{}, %r20, {};\n", result, kind);
      const std::string both = load(how, 20, at) + load(how, 21, next);
      if (kind == 3)
        return both +
               fmt::format("setp.eq.u32 %p9, %r21, 0;\nselp.u32 %r{}, 0, %r20, %p9;\nmov.u32 %r20, 0;\n", result);
      const std::string wait =
          kind == 4 ? "" : fmt::format("vote.sync.any.pred %p9, %p9, {};\n", (1 << thread.lanes) - 1);
      return fmt::format(
          "{0}:\n{1}and.b32 %r{2}, %r20, 1;\nadd.u32 %r21, %r21, %r{2};\nsetp.eq.u32 %p9, %r21, 0;\n"
          "mov.u32 %r21, 0;\n{3}@%p9 bra {0};\n",
          fmt::format("POLL{}", result), both, result, wait);
    };
    for (unsigned k = 0; k < (thread.lanes > 1 ? 2 : (instructions + t) / threads); ++k) {
      const int at = static_cast<int>(random() % (threads == 2 ? 2 : 3)) * 64,
                value = static_cast<int>(1 + random() % 3);
      const std::string scope = has_blocks ? pick({"gpu", "gpu", "cta"}) : "gpu";
      switch (random() % (thread.lanes > 1 ? 3 : 9)) {
        case 0:
        case 1:
        case 2:
          if (litmus.results < 8) thread.body += read(pick({"relaxed.", "relaxed.", "acquire."}) + scope, at);
          break;
        case 3:
        case 4:
        case 5:
          thread.body += st(pick({"relaxed.", "relaxed.", "release."}) + scope, at, value);
          break;
        case 6:
          if (litmus.results < 8)
            thread.body += atom(pick({"relaxed.", "acquire.", "release.", "acq_rel."}) + scope + ".global.add",
                                ++litmus.results, at, random() % 2 ? 4 : 0);
          break;
        case 7:
          if (litmus.results < 8)
            thread.body += fmt::format("atom.relaxed.{}.global.cas.b32 %r{}, [%out+{}], {}, {};\n", scope,
                                       ++litmus.results, at, random() % 3, 3 + value);
          break;
        default:
          thread.body += fence(pick({"sc.", "acq_rel."}) + scope);
      }
    }
    litmus.threads.push_back(thread);
  }
  litmus.locations = {x, y, z};
  return litmus;
}

}  // namespace

TEST_CASE("runs that are left, since others came to the same, would have shown nothing else") {
  const char* const more = std::getenv("SCANLAB_LITMUS");
  const unsigned programs = more ? static_cast<unsigned>(std::atoi(more)) : 100;
  std::uint64_t merged = 0, all = 0;
  unsigned whole = 0;
  for (unsigned n = 0; n < programs; ++n) {
    std::mt19937 random(n);
    const Litmus litmus = random_litmus(random, Values::forgotten);
    INFO("program " << n << "\n" << litmus.kernel().text());
    LitmusDevice device(litmus);
    const Explored each = explore(device, {.runs = 20'000, .prunes = false}), some = explore(device, {.runs = 20'000});
    if (!each.summary.is_exhaustive) continue;
    ++whole;
    CHECK(some.summary.is_exhaustive);
    CHECK(some.outcomes == each.outcomes);
    merged += some.summary.executions;
    all += each.summary.executions;
  }
  INFO(merged << " executions where there are " << all << ", in " << whole << " programs");
  CHECK(10 * whole > 9 * programs);
  CHECK(10 * merged < 9 * all);
  if (more) WARN(merged << " executions where there are " << all << ", in " << whole << " programs");
}

TEST_CASE("exploration misses no outcome that a seed shows") {
  const char* const more = std::getenv("SCANLAB_LITMUS");
  const unsigned programs = more ? static_cast<unsigned>(std::atoi(more)) : 60, seeds = more ? 4000 : 500;
  std::size_t shown_all = 0, explored_all = 0;
  for (unsigned n = 0; n < programs; ++n) {
    std::mt19937 random(n);
    const Litmus litmus = random_litmus(random, n % 2 == 0 ? Values::kept : Values::forgotten);
    INFO("program " << n << "\n" << litmus.kernel().text());
    LitmusDevice device(litmus);
    const Explored all = explore(device, {200'000, 20});
    const Outcomes shown = device.of_seeds(seeds);
    if (!all.summary.is_exhaustive) {
      WARN("program " << n << ": " << all.summary.executions << " executions, " << all.summary.runs << " runs");
      continue;
    }
    shown_all += shown.size();
    explored_all += all.outcomes.size();
    for (const std::string& outcome : shown) {
      INFO(outcome << ": seen with a seed, not among " << all.outcomes.size() << " outcomes of "
                   << all.summary.executions << " executions in " << all.summary.runs << " runs");
      CHECK(all.outcomes.contains(outcome));
    }
  }
  INFO(shown_all << " of " << explored_all << " outcomes are seen with seeds");
  CHECK(10 * shown_all > 6 * explored_all);
  if (more) WARN(shown_all << " of " << explored_all << " outcomes are seen with seeds");
}

namespace {

/// Blocks take a ticket each; each waits for the block before, adds 1 to its value, and passes it on. out: tickets at
/// 0, flags from 64, values from 128, results from 192 on. `first` is made before everything else.
Kernel domino(const std::string& fence, const std::string& first = "") {
  return {fmt::format(R"(
{1}
mov.u32 %r1, %tid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra END;
atom.global.add.u32 %r2, [%out], 1;
mul.wide.u32 %rd1, %r2, 4;
add.s64 %rd2, %out, %rd1;
mov.u32 %r3, 0;
setp.eq.u32 %p2, %r2, 0;
@%p2 bra FIRST;
WAIT:
ld.volatile.global.u32 %r4, [%rd2+60];
setp.eq.u32 %p3, %r4, 0;
@%p3 bra WAIT;
{0}
ld.volatile.global.u32 %r3, [%rd2+124];
FIRST:
add.u32 %r5, %r3, 1;
st.volatile.global.u32 [%rd2+128], %r5;
{0}
st.volatile.global.u32 [%rd2+64], 1;
st.global.u32 [%rd2+192], %r5;
END:
bar.sync 0;
ret;
)",
                      fence, first)};
}

struct DominoRuns {
  std::set<std::vector<std::uint32_t>> results;
  vgpu::Exploration summary;
  std::string wrong;  ///< the trail of an execution with a wrong result
};

DominoRuns explore_domino(const Kernel& kernel, std::uint32_t blocks) {
  vgpu::Device device(vgpu::small_profile());
  const vgpu::Address out = device.memory().allocate(512, "out");
  device.memory().fill(out, std::byte{0}, 512);
  const auto request =
      test::launch_of(device.load(kernel.text()), {blocks, 1, 1}, {64, 1, 1}, std::as_bytes(std::span(&out, 1)));
  DominoRuns runs;
  std::vector<std::uint32_t> right(blocks);
  for (std::uint32_t k = 0; k < blocks; ++k) right[k] = k + 1;
  const auto explored = device.explore(request, {}, [&](const vgpu::Execution& e, const std::string& trail) {
    std::vector<std::uint32_t> result(blocks);
    device.memory().read(result.data(), out + 192, 4 * blocks);
    if (e.fault) result = {0};
    if (result != right) runs.wrong = trail;
    runs.results.insert(result);
    return true;
  });
  REQUIRE(explored);
  runs.summary = *explored;
  std::uint32_t ticket = 1;
  device.memory().read(&ticket, out, 4);
  CHECK(ticket == 0);  // memory is as before
  if (!runs.wrong.empty()) {
    device.schedule = {vgpu::Schedule::Order::weak, 0, runs.wrong};
    CHECK_FALSE(device.launch(request).fault);
    std::vector<std::uint32_t> result(blocks);
    device.memory().read(result.data(), out + 192, 4 * blocks);
    CHECK(result != right);
    CHECK(runs.results.contains(result));
  }
  return runs;
}

}  // namespace

/// With it no block can be taken for another.
constexpr const char* which_block = "mov.u32 %r9, %ctaid.x;";

TEST_CASE("a domino with fences has one execution for each order of its tickets, and one if its blocks are alike") {
  for (const char* fence : {"membar.gl;", "fence.acq_rel.gpu;"})
    for (const char* first : {which_block, ""}) {
      const DominoRuns runs = explore_domino(domino(fence, first), 4);
      CHECK(runs.results.size() == 1);
      CHECK(runs.wrong.empty());
      CHECK(runs.summary.executions == (*first ? 24 : 1));  // 4!
      CHECK(runs.summary.is_exhaustive);
    }
}

TEST_CASE("blocks that are alike show what all of them would") {
  for (const std::string fence : {"", "membar.cta;", "membar.gl;"})
    CHECK(explore_domino(domino(fence), 3).results == explore_domino(domino(fence, which_block), 3).results);
}

TEST_CASE("a domino without fences may read each value too early") {
  const DominoRuns runs = explore_domino(domino("", which_block), 4);
  CHECK(runs.results.size() == 8);           // each of three blocks sees the value, or 0
  CHECK(runs.summary.executions == 24 * 8);  // the same for each order of the tickets
  CHECK(explore_domino(domino(""), 4).summary.executions == 8);
  CHECK(runs.summary.is_exhaustive);
  CHECK_FALSE(runs.wrong.empty());
  // The scope of a block is too narrow.
  CHECK(explore_domino(domino("membar.cta;"), 3).results.size() == 4);
}

namespace {

std::string plain_st(int at, int value) {
  return fmt::format("st.global.u32 [%out+{}], {};\n", at, value);
}
std::string plain_ld(int result, int at) {
  return fmt::format("ld.global.u32 %r{}, [%out+{}];\n", result, at);
}

}  // namespace

TEST_CASE("a race is seen in whichever execution has it, and an order where it is one") {
  using Kind = vgpu::BrokenAssumption::Kind;
  const auto races = [](const std::string& writer, const std::string& reader) {
    std::vector<Kind> kinds;
    for (const bool is_turned : {false, true}) {
      LitmusDevice device({{{0, is_turned ? reader : writer}, {1, is_turned ? writer : reader}}, 1, {}});
      const Explored all = explore(device);
      CHECK(all.summary.is_exhaustive);
      for (const vgpu::BrokenAssumption& broken : all.summary.broken) {
        kinds.push_back(broken.kind);
        CHECK_FALSE(broken.trail.empty());
      }
    }
    return kinds;
  };
  const std::string passes_on = plain_st(x, 1) + fence("acq_rel.gpu") + st("relaxed.gpu", y, 1);
  const std::string waits = await("relaxed.gpu", y, "A");
  CHECK(races(passes_on, waits + fence("acq_rel.gpu") + plain_ld(1, x)).empty());
  CHECK(races(passes_on, await("acquire.gpu", y, "A") + plain_ld(1, x)).empty());
  CHECK(races(passes_on, waits + plain_ld(1, x)) == std::vector(2, Kind::reader_fence));
  CHECK(races(plain_st(x, 1) + st("relaxed.gpu", y, 1), waits + fence("acq_rel.gpu") + plain_ld(1, x)) ==
        std::vector(2, Kind::race));
  CHECK(races(plain_st(x, 1) + fence("acq_rel.cta") + st("relaxed.gpu", y, 1),
              waits + fence("acq_rel.gpu") + plain_ld(1, x)) == std::vector(2, Kind::race));
  // Only who finds the flag unset reads too early, also where that is an old value.
  const std::string looks =
      ld("acquire.gpu", 20, y) + "setp.eq.u32 %p9, %r20, {};\n@%p9 bra DONE;\n" + plain_ld(1, x) + "DONE:\n";
  CHECK(races(passes_on, fmt::format(fmt::runtime(looks), 0)).empty());
  CHECK(races(passes_on, fmt::format(fmt::runtime(looks), 1)) == std::vector(2, Kind::race));
  // The last to count resets the counter.
  const std::string counts = atom("relaxed.gpu.global.add", 20, x, 1) +
                             "setp.eq.u32 %p9, %r20, 0;\n@%p9 bra DONE{};\n" + plain_st(x, 0) + "DONE{}:\n";
  CHECK(races(fmt::format(fmt::runtime(counts), 1, 1), fmt::format(fmt::runtime(counts), 2, 2)).empty());
}

TEST_CASE("an arrival at an mbarrier passes on what its thread has done, and a look at it does not") {
  const std::string object = ".shared .align 8 .b64 object;\n", begin = "mbarrier.init.shared.b64 [object], 1;\n";
  const auto look = [](int parity) {
    return fmt::format("mbarrier.test_wait.parity.shared.b64 %p9, [object], {};\n", parity);
  };
  /// How many races of a plain write and a plain read are found, with either warp in front.
  const auto races = [&](const std::string& writer, const std::string& reader) {
    std::size_t found = 0;
    for (const bool is_turned : {false, true}) {
      const std::string write = bar() + plain_st(x, 1) + writer, read = bar() + reader + plain_ld(1, x);
      LitmusDevice device({{{0, object + begin + (is_turned ? read : write)},
                            {0, is_turned ? write : read},
                            {1, st("relaxed.gpu", y, 1)},
                            {2, st("relaxed.gpu", y, 2)}},
                           1,
                           {}});
      const Explored all = explore(device);
      CHECK(all.summary.is_exhaustive);
      CHECK(all.summary.runs > 0);  // other blocks talk
      found += all.summary.broken.size();
    }
    return found;
  };
  const std::string waits = "WAIT:\n" + look(0) + "@!%p9 bra WAIT;\n";
  CHECK(races("mbarrier.arrive.shared.b64 %rd9, [object];\n", waits) == 0);
  CHECK(races(look(1), look(1)) == 2);  // the phase before the first one counts as complete
}

TEST_CASE("strong accesses of different sizes to the same bytes end an exploration, and others do not") {
  for (const int at : {x, x + 2, y}) {
    LitmusDevice device(
        {{{0, st("relaxed.gpu", x, 1)}, {1, fmt::format("ld.relaxed.gpu.global.u16 %r1, [%out+{}];\n", at)}}, 1, {}});
    const Explored all = explore(device);
    CHECK(all.summary.is_exhaustive == (at == y));
    REQUIRE(all.summary.broken.size() == (at == y ? 0 : 1));
    if (at != y) CHECK(all.summary.broken.front().kind == vgpu::BrokenAssumption::Kind::mixed_sizes);
  }
}

TEST_CASE("blocks that wait for each other are a deadlock in all executions") {
  LitmusDevice device({{{0, await("relaxed.gpu", x, "A") + st("relaxed.gpu", y, 1)},
                        {1, await("relaxed.gpu", y, "B") + st("relaxed.gpu", x, 1)}},
                       0,
                       {x, y}});
  const Explored all = explore(device);
  CHECK(all.summary.executions == 1);
  CHECK(all.summary.is_exhaustive);
  CHECK(all.outcomes.size() == 1);
  CHECK_FALSE(all.outcomes.contains("0 0"));
}

TEST_CASE("a wait is over whatever is read meanwhile, and what comes after it sees the latest value") {
  // Without an acquire the data may be old.
  const auto passing = [](const std::string& how) {
    return Litmus{
        {{0, st("relaxed.gpu", x, 1) + st("release.gpu", y, 1)}, {1, await(how, y, "A") + ld("relaxed.gpu", 1, x)}},
        1,
        {}};
  };
  LitmusDevice acquiring(passing("acquire.gpu")), relaxed(passing("relaxed.gpu"));
  CHECK(explore(acquiring).outcomes == Outcomes{"1"});
  CHECK(explore(relaxed).outcomes == Outcomes{"0", "1"});
  CHECK(acquiring.of_seeds(200) == Outcomes{"1"});
  CHECK(relaxed.of_seeds(200) == Outcomes{"0", "1"});
}

TEST_CASE("a lock keeps its section for one at a time, if it acquires and releases") {
  // y: the lock; x is read and written in it.
  const auto section = [](const std::string& acquire, const std::string& release, int n) {
    return fmt::format(
        "LOCK{0}:\natom.{1}.gpu.global.cas.b32 %r29, [%out+64], 0, 1;\nsetp.ne.u32 %p9, %r29, 0;\n@%p9 bra LOCK{0};\n"
        "ld.relaxed.gpu.global.u32 %r28, [%out];\nadd.u32 %r28, %r28, 1;\nst.relaxed.gpu.global.u32 [%out], %r28;\n"
        "atom.{2}.gpu.global.exch.b32 %r27, [%out+64], 0;\n",
        n, acquire, release);
  };
  const auto lock = [&](const std::string& acquire, const std::string& release, int threads) {
    Litmus litmus{{}, 0, {x}};
    for (int n = 0; n < threads; ++n) litmus.threads.push_back({n, section(acquire, release, n)});
    return litmus;
  };
  LitmusDevice right(lock("acquire", "release", 3)), no_acquire(lock("relaxed", "release", 2)),
      no_release(lock("acquire", "relaxed", 2));
  const Explored all = explore(right);
  INFO(all.summary.runs << " runs");
  CHECK(all.outcomes == Outcomes{"3"});
  CHECK(all.summary.executions == 6);  // 3!
  CHECK(all.summary.is_exhaustive);
  CHECK(explore(no_acquire).outcomes == Outcomes{"1", "2"});
  CHECK(explore(no_release).outcomes == Outcomes{"1", "2"});
}

TEST_CASE("a location has as many writes as are followed, or the exploration is not all") {
  for (const int stores : {60, 100, 5000}) {
    INFO(stores);
    std::string writer;
    for (int k = 1; k <= stores; ++k) writer += st("relaxed.gpu", x, k);
    LitmusDevice device({{{0, writer}, {1, ld("relaxed.gpu", 1, x)}}, 1, {}});
    const Explored all = explore(device);
    CHECK(all.summary.is_exhaustive == (stores == 60));
    if (stores == 60) CHECK(all.outcomes.size() == 61);
    if (stores == 100) CHECK(all.summary.why_not.find("more writes to the same memory") == 0);
  }
}

TEST_CASE("a wait that writes in every round ends, or the exploration says that it did not") {
  const std::string waits =
      "WAIT:\n" + atom("global.add", 20, y, 1) + ld("relaxed.gpu", 1, x) + "setp.eq.u32 %p9, %r1, 0;\n@%p9 bra WAIT;\n";
  LitmusDevice device({{{0, waits}, {1, st("relaxed.gpu", x, 1)}}, 1, {}});
  const Explored all = explore(device, {.runs = 500, .seconds = 20});
  CHECK_FALSE(all.summary.is_exhaustive);
  CHECK_FALSE(all.summary.why_not.empty());
}

TEST_CASE("an exploration ends at its limits, and says so") {
  LitmusDevice device(
      {{{0, st("relaxed.gpu", x, 1) + ld("relaxed.gpu", 1, y)}, {1, st("relaxed.gpu", y, 1) + ld("relaxed.gpu", 2, x)}},
       2,
       {}});
  const Explored few = explore(device, {2, 10});
  CHECK_FALSE(few.summary.is_exhaustive);
  CHECK(few.summary.why_not.starts_with("as many runs as allowed: "));
  unsigned seen = 0;
  const auto stopped = device.device.explore(device.request, {}, [&](const auto&, const auto&) { return ++seen < 2; });
  REQUIRE(stopped);
  CHECK(seen == 2);
  CHECK(stopped->why_not == "stopped");
  LitmusDevice plain({{{0, "st.global.u32 [%out], 1;\n"}}, 0, {x}});
  const auto one = plain.device.explore(plain.request, {}, [](const auto&, const auto&) { return true; });
  REQUIRE(one);
  CHECK(one->executions == 1);
  CHECK(one->runs == 0);
  CHECK(one->is_exhaustive);
}

TEST_CASE("an exploration ends in the midst of a run without end, and says where") {
  // One waits and counts its rounds, so that no two of them are alike; the other one waits only.
  const std::string counts = "A:\nadd.u32 %r1, %r1, 1;\n" + ld("relaxed.gpu", 29, y) +
                             "setp.eq.u32 %p9, %r29, 0;\n@%p9 bra A;\n",
                    waits = await("relaxed.gpu", y, "A"), sets = st("relaxed.gpu", y, 1);
  for (const bool is_counted : {true, false}) {
    LitmusDevice device({{{0, is_counted ? counts : waits}, {1, sets}}, 1, {}});
    const auto begin = std::chrono::steady_clock::now();
    const Explored all = explore(device, {.seconds = 0.5});
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    CHECK(all.summary.is_exhaustive == !is_counted);
    CHECK(all.summary.why_not.starts_with(is_counted ? "out of time: 0 executions run, and one that goes on" : ""));
    CHECK(all.summary.executions == (is_counted ? 0 : 1));
  }
}

TEST_CASE("a trail is read as it was written, and nothing else is") {
  for (const char* text : {"", "0.0", "0.0*3 1.2=i 3.0=,0.32.1,i*2"}) CHECK(vgpu::Trail::parse(text).text() == text);
  for (const char* text : {"x", "0", "0.", "0.0=1", "0.0=1.2", "0.0*", "0.0*99999999", "0.0,1", "0.0;1.0", "-1.0"})
    CHECK_THROWS_AS(vgpu::Trail::parse(text), std::invalid_argument);
  LitmusDevice device({{{0, st("relaxed.gpu", x, 1)}, {1, ld("relaxed.gpu", 1, x)}}, 1, {}});
  device.device.schedule = {vgpu::Schedule::Order::weak, 0, "1:7.0"};
  CHECK(device.device.launch(device.request).fault);
}
