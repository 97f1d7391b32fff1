// Races on global memory and missing fences, from sequences of events: by hand, and random ones that are compared with
// a check that is slow and simple enough to be trusted.
#include "vgpu/checks/global/global_races.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace scanlab;
using vgpu::Access;
using vgpu::Mask;
using vgpu::Observer;

namespace {

using enum Access::Order;
using Scope = Access::Scope;
constexpr unsigned lines = 100, threads = 64;
constexpr vgpu::Address memory = vgpu::global_window + 4096;

const ptx::Module& module_with_lines() {
  static const ptx::Module made = [] {
    ptx::Module m;
    m.files = {"", "kernel.cu"};
    m.lines.resize(1);
    for (std::uint32_t k = 1; k <= lines; ++k) m.lines.push_back({1, k, 0, -1, {}});
    return m;
  }();
  return made;
}

struct ThreadId {
  unsigned block = 0, thread = 0;
};

/// Blocks of 64 threads that run side by side. Every access has the next line.
class Grid {
 public:
  explicit Grid(unsigned blocks = 3, std::vector<Observer*> others = {}) : observers_(std::move(others)) {
    observers_.push_back(&check_);
    observers_.push_back(&without_rows_);
    const vgpu::KernelInfo info{"k", {blocks, 1, 1}, {threads, 1, 1}, 0, &module_with_lines(), {}};
    each([&](Observer& o) {
      vgpu::KernelInfo with_paths = info;
      with_paths.fast_paths.row_shadow = &o != &without_rows_;
      o.kernel_begin(with_paths);
      for (unsigned b = 0; b < blocks; ++b) o.block_begin(b, b);
    });
  }

  void load(ThreadId id, unsigned word, Access::Order order = weak, Scope scope = Scope::device) {
    const Access a = access(id, word, order, scope);
    each([&](Observer& o) { o.load(a); });
  }
  void store(ThreadId id, unsigned word, Access::Order order = weak, Scope scope = Scope::device) {
    const Access a = access(id, word, order, scope);
    each([&](Observer& o) { o.store(a); });
  }
  void atomic(ThreadId id, unsigned word, Access::Order order = relaxed, Scope scope = Scope::device) {
    const Access a = access(id, word, order, scope);
    each([&](Observer& o) { o.atomic(a); });
  }
  /// All threads of the block: thread t at `word` + t * `stride`.
  void row(unsigned block, bool writes, unsigned word, unsigned stride = 1, bool together = true) {
    vgpu::AccessRun run;
    run.first = access({block, 0}, word, weak, Scope::none);
    run.first.mask = vgpu::full_mask;
    run.first.stride = 4 * static_cast<int>(stride);
    run.count = 2;
    run.step = 32 * run.first.stride;
    each([&](Observer& o) {
      if (together) return writes ? o.stores(run) : o.loads(run);
      for (unsigned k = 0; k < 2; ++k) writes ? o.store(run.of(k)) : o.load(run.of(k));
    });
  }
  /// Of a block 16, 8, 4 or 2 threads wide: lane x of row y of its warps at `word` + x * `stride` + y * `pitch`.
  void rows(unsigned block, bool writes, unsigned word, unsigned width, unsigned stride, unsigned pitch) {
    vgpu::AccessRun run;
    run.first = access({block, 0}, word, weak, Scope::none);
    run.first.mask = vgpu::full_mask;
    run.first.row_lanes = width;
    run.first.stride = 4 * static_cast<int>(stride);
    run.first.row_step = 4 * static_cast<int>(pitch);
    run.count = 2;
    run.step = run.first.row_step * (32 / static_cast<int>(width));
    each([&](Observer& o) { writes ? o.stores(run) : o.loads(run); });
  }
  void fence(ThreadId id, Scope scope = Scope::device) {
    each([&](Observer& o) { o.fence(actor(id), Mask{1} << id.thread % 32, scope); });
  }
  void barrier(unsigned block) {
    each([&](Observer& o) { o.barrier_complete(actor({block, 0}), 0, Observer::Meeting::all); });
  }
  void warp_sync(ThreadId id, Mask lanes = vgpu::full_mask) {
    each([&](Observer& o) { o.warp_sync(actor(id), lanes, Observer::WarpSync::orders_memory); });
  }

  /// "race.global read-after-write 1 2": the id, the kind, and the lines of the parts. The same is found without rows.
  std::set<std::string> found() {
    each([](Observer& o) { o.kernel_end(); });
    CHECK(found_by(without_rows_) == found_by(check_));
    return found_by(check_);
  }
  static std::set<std::string> found_by(const vgpu::GlobalRaces& check) {
    std::set<std::string> result;
    for (const vgpu::Finding& f : check.findings().list()) {
      std::string text = f.id + " " + f.kind;
      for (const auto& p : f.parts) text += fmt::format(" {}", p.where.line);
      result.insert(text);
    }
    return result;
  }
  const std::vector<vgpu::Finding>& findings() const { return check_.findings().list(); }
  unsigned line() const { return line_; }

 private:
  static vgpu::Actor actor(ThreadId id) { return {id.block, id.thread / 32, id.block, 0}; }
  Access access(ThreadId id, unsigned word, Access::Order order, Scope scope) {
    Access a;
    a.actor = actor(id);
    a.actor.line = ++line_;
    a.mask = Mask{1} << id.thread % 32;
    a.bytes = 4;
    a.first = memory + 4 * word;
    a.order = order;
    a.scope = order == weak ? Scope::none : scope;
    return a;
  }
  template <class Do>
  void each(Do what) {
    for (Observer* o : observers_) what(*o);
  }

  vgpu::GlobalRaces check_, without_rows_;
  std::vector<Observer*> observers_;
  unsigned line_ = 0;
};

using Found = std::set<std::string>;
constexpr unsigned value = 0, flag = 512;
constexpr ThreadId a{0, 0}, b{1, 0}, c{2, 0};

}  // namespace

TEST_CASE("what two blocks do to one place is a race, unless both only read") {
  Grid g;
  g.store(a, value);
  g.load(b, value);
  g.load(c, value + 1);
  g.load(b, value + 1);
  CHECK(g.found() == Found{"race.global read-after-write 1 2"});
  const vgpu::Finding& f = g.findings().front();
  CHECK(f.weight == vgpu::Finding::Weight::mistake);
  CHECK(f.headline == "RACE (read-after-write): element 0 of global memory, kernel k");
  CHECK((f.parts[0].has_block && f.parts[0].block[0] == 0 && f.parts[1].block[0] == 1));
}

TEST_CASE("a flag passes a value on when a fence stands before it") {
  const auto run = [](auto between, Access::Order set, Access::Order seen, bool reader_fences = true) {
    Grid g;
    g.store(a, value);
    between(g);
    g.store(a, flag, set);
    g.load(b, flag, seen);
    if (reader_fences) g.fence(b);
    g.load(b, value);
    return g.found();
  };
  const auto nothing = [](Grid&) {};
  const auto fence = [](Grid& g) { g.fence(a); };
  const auto fence_of_block = [](Grid& g) { g.fence(a, Scope::block); };
  CHECK(run(fence, volatile_, volatile_).empty());
  CHECK(run(fence, relaxed, relaxed).empty());
  CHECK(run(nothing, release, acquire, false).empty());
  CHECK(run(nothing, volatile_, volatile_) == Found{"fence.missing writer 1 2 3 4"});
  CHECK(run(nothing, relaxed, acquire) == Found{"fence.missing writer 1 2 3 4"});
  CHECK(run(fence_of_block, relaxed, relaxed) == Found{"fence.missing writer 1 2 3 4"});
  CHECK(run(fence, relaxed, relaxed, false) == Found{"fence.missing reader 1 4"});
  // The plain flag itself is one; the value after it is not named too.
  CHECK(run(fence, weak, volatile_) == Found{"race.global read-after-write 2 3"});
}

TEST_CASE("a release or a flag with the scope of a block does not count for other blocks") {
  Grid g;
  g.store(a, value);
  g.store(a, flag, release, Scope::block);
  g.load(b, flag, acquire);
  g.load(b, value);
  CHECK(g.found() == Found{"fence.missing writer 1 2 3 4", "race.global read-after-write 2 3"});
}

TEST_CASE("a value that is written after its flag is a race") {
  Grid g;
  g.fence(a);
  g.store(a, flag, relaxed);
  g.store(a, value);
  g.load(b, flag, acquire);
  g.load(b, value);
  CHECK(g.found() == Found{"race.global read-after-write 2 4"});
  CHECK(g.findings().front().advice.starts_with("the flag, set in line 1 and seen in line 3, is set before the value"));
}

TEST_CASE("order goes on through barriers of a block on both sides") {
  for (const bool has_fence : {true, false}) {
    Grid g;
    g.row(0, true, value);
    g.barrier(0);
    if (has_fence) g.fence(a);
    g.atomic(a, flag);
    g.atomic(b, flag);
    g.fence(b);
    g.barrier(1);
    g.row(1, false, value + 3);
    CHECK(g.found() == (has_fence ? Found{} : Found{"fence.missing writer 1 2 3 4"}));
  }
}

TEST_CASE("a fence before the barrier is for its own thread's writes only") {
  Grid g;
  g.row(0, true, value);
  g.fence({0, 5});
  g.barrier(0);
  g.atomic(a, flag);
  g.load(b, flag, acquire);
  g.load(b, value + 5);
  g.load(b, value + 6);
  CHECK(g.found() == Found{"fence.missing writer 1 2 3 5"});
}

TEST_CASE("a thread that has not met the reader of the flag does not know") {
  Grid g;
  g.store(a, value);
  g.fence(a);
  g.store(a, flag, relaxed);
  g.load(b, flag, acquire);
  g.load({1, 33}, value);
  CHECK(g.found() == Found{"race.global read-after-write 1 4"});
}

TEST_CASE("a warp hands on what one lane has seen") {
  Grid g;
  g.store(a, value);
  g.fence(a);
  g.store(a, flag, relaxed);
  g.load(b, flag, acquire);
  g.warp_sync(b);
  g.load({1, 7}, value);
  CHECK(g.found().empty());
}

TEST_CASE("a chain of blocks passes on what each has seen") {
  for (const bool has_fence : {true, false}) {
    Grid g;
    g.store(a, value);
    if (has_fence) g.fence(a);
    g.store(a, flag, relaxed);
    g.load(b, flag, acquire);
    g.fence(b);
    g.store(b, flag + 1, relaxed);
    g.load(c, flag + 1, acquire);
    g.load(c, value);
    CHECK(g.found() == (has_fence ? Found{} : Found{"fence.missing writer 1 2 3 6"}));
  }
}

TEST_CASE("the last block to count knows what all have written") {
  for (const bool has_fence : {true, false}) {
    Grid g;
    for (const ThreadId id : {a, b, c}) {
      g.store(id, value + id.block);
      if (has_fence) g.fence(id);
      g.atomic(id, flag);
    }
    g.fence(c);
    for (unsigned k = 0; k < 3; ++k) g.load(c, value + k);
    g.store(c, flag);  // for the next launch
    CHECK(g.found() == (has_fence ? Found{} : Found{"fence.missing writer 1 2 4 7", "fence.missing writer 3 4 6 8"}));
  }
}

TEST_CASE("what has been read before a flag may be written by a thread that has seen it") {
  Grid g;
  g.load(a, value);
  g.barrier(0);
  g.store(a, flag, relaxed);
  g.load(b, flag, relaxed);
  g.store(b, value);
  CHECK(g.found().empty());
}

TEST_CASE("strong accesses do not race with each other") {
  Grid g;
  g.store(a, value, volatile_);
  g.load(b, value, volatile_);
  g.atomic(c, value);
  g.store(b, value, relaxed);
  CHECK(g.found().empty());
}

TEST_CASE("an atomic of the block races with that of another block") {
  Grid g;
  g.atomic(a, value, relaxed, Scope::block);
  g.atomic({0, 40}, value, relaxed, Scope::block);
  g.atomic(b, value, relaxed, Scope::block);
  CHECK(g.found() == Found{"race.global write-after-write 1 3", "race.global write-after-write 2 3"});
}

TEST_CASE("a look before an atomic that does not check it is a race") {
  Grid g;
  g.load(a, value);
  g.load(b, value);
  g.atomic(a, value);
  g.atomic(b, value);
  CHECK(g.found() == Found{"race.global write-after-read 1 4", "race.global write-after-read 2 3"});
}

TEST_CASE("rows of blocks are apart, and rows of one block meet in their threads only") {
  for (const bool together : {true, false}) {
    Grid g;
    for (unsigned block = 0; block < 3; ++block) {
      g.row(block, false, 64 * block, 1, together);
      g.row(block, true, 64 * block, 1, together);
      g.row(block, true, 1024 + 128 * block, 2, together);
      g.row(block, true, 1025 + 128 * block, 2, together);
    }
    CHECK(g.found().empty());
  }
  Grid g;
  g.row(0, true, 0);
  g.row(0, false, 1);
  g.row(1, true, 63);
  // Of threads that meet by the same lines, those that are furthest apart are named.
  CHECK(g.found() == Found{"race.global read-after-write 1 2", "race.global write-after-write 1 3",
                           "race.global write-after-read 2 3"});
}

TEST_CASE("a launch knows nothing of the one before") {
  vgpu::GlobalRaces check;
  const vgpu::KernelInfo info{"k", {2, 1, 1}, {threads, 1, 1}, 0, &module_with_lines(), {}};
  for (unsigned block = 0; block < 2; ++block) {
    check.kernel_begin(info);
    check.block_begin(block, 0);
    Access access;
    access.actor = {block, 0, 0, 1};
    access.mask = 1;
    access.bytes = 4;
    access.first = memory;
    check.store(access);
    check.block_end(block, 0);
    check.kernel_end();
  }
  CHECK(check.findings().list().empty());
}

// --- random sequences ------------------------------------------------------------------------------------------------

namespace {

/// A vector clock for each thread, and for each word every access. With `needs_reader_fence` a thread knows what a flag
/// tells it only behind a fence of its own, or by an acquire.
class Naive : public Observer {
  using Clock = std::map<unsigned, unsigned>;
  struct AccessedSpan {
    unsigned thread, time, line;
    bool writes, reads, is_strong;
  };
  struct Word {
    std::vector<AccessedSpan> accesses;
    Clock released, released_in_block;
    unsigned last = 0;
    bool is_written = false;
  };

 public:
  explicit Naive(bool needs_reader_fence = false) : needs_reader_fence_(needs_reader_fence) {}
  /// `late`: of strong accesses, those that may come in front of a write before which they have been seen here.
  std::set<std::pair<unsigned, unsigned>> races, optional, late;

  void load(const Access& x) override { touch(x, false, true); }
  void store(const Access& x) override { touch(x, true, false); }
  void atomic(const Access& x) override { touch(x, true, true); }
  void fence(const vgpu::Actor& actor, Mask lanes, Scope scope) override {
    each(actor, lanes, [&](unsigned t, unsigned) {
      join(known_[t], seen_in_block_[t]);
      if (scope != Scope::block) join(known_[t], seen_[t]);
      join(in_block_[t], own(t));
      if (scope != Scope::block) join(published_[t], own(t));
      ++time_[t];
    });
  }
  void barrier_complete(const vgpu::Actor& actor, std::uint32_t, Meeting) override {
    meet(actor.block * threads, (actor.block + 1) * threads, vgpu::full_mask);
  }
  void warp_sync(const vgpu::Actor& actor, Mask lanes, WarpSync) override {
    const auto first = static_cast<unsigned>(actor.block * threads + actor.warp * 32);
    meet(first, first + 32, lanes);
  }

 private:
  template <class Visit>
  static void each(const vgpu::Actor& actor, Mask lanes, Visit visit) {
    for (unsigned l = 0; l < 32; ++l)
      if (lanes >> l & 1) visit(static_cast<unsigned>(actor.block * threads + actor.warp * 32 + l), l);
  }
  static void join(Clock& to, const Clock& from) {
    for (const auto& [t, time] : from) to[t] = std::max(to[t], time);
  }
  Clock own(unsigned t) {
    Clock made = known_[t];
    made[t] = ++time_[t];
    return made;
  }
  void meet(std::uint64_t first, std::uint64_t end, Mask lanes) {
    Clock all, published, in_block;
    const auto takes_part = [&](std::uint64_t t) { return lanes >> t % 32 & 1; };
    for (auto t = static_cast<unsigned>(first); t < end; ++t)
      if (takes_part(t)) join(all, own(t)), join(published, published_[t]), join(in_block, in_block_[t]), ++time_[t];
    for (auto t = static_cast<unsigned>(first); t < end; ++t)
      if (takes_part(t)) join(known_[t], all), join(published_[t], published), join(in_block_[t], in_block);
  }
  bool knows(unsigned t, const AccessedSpan& x) { return x.thread == t || known_[t][x.thread] >= x.time; }

  void touch(const Access& x, bool writes, bool reads) {
    const bool is_strong = x.order != weak;
    each(x.actor, x.mask, [&](unsigned t, unsigned l) {
      Word& word = words_[x.at(l)];
      for (const AccessedSpan& then : word.accesses) {
        if (!(then.writes || writes) || knows(t, then)) continue;
        if (then.is_strong && is_strong) {
          const bool is_late = then.writes && std::ranges::none_of(word.accesses, [&](const AccessedSpan& m) {
                                 return m.is_strong && m.line > then.line && knows(t, m);
                               });
          if (is_late) late.insert({then.line, x.actor.line});
          continue;
        }
        const bool is_behind =
            then.is_strong && then.writes && std::ranges::any_of(word.accesses, [&](const AccessedSpan& m) {
              return m.is_strong && m.reads && m.line > then.line && knows(t, m);
            });
        if (is_behind) continue;
        (then.writes || then.thread / threads == t / threads ? races : optional).insert({then.line, x.actor.line});
      }
    });
    each(x.actor, x.mask, [&](unsigned t, unsigned l) {
      Word& word = words_[x.at(l)];
      if (reads && word.is_written) {
        const bool acquires = !needs_reader_fence_ || x.order == acquire || x.order == acq_rel;
        join(acquires ? known_[t] : seen_[t], word.released);
        join(published_[t], word.released);
        if (word.last / threads == t / threads) join(acquires ? known_[t] : seen_in_block_[t], word.released_in_block);
      }
      if (is_strong && (x.order == release || x.order == acq_rel))
        join(published_[t], own(t)), join(in_block_[t], own(t));
      word.accesses.push_back({t, ++time_[t], x.actor.line, writes, reads, is_strong});
      if (!writes) return;
      word.released = published_[t];
      word.released_in_block = in_block_[t];
      word.last = t;
      word.is_written = true;
    });
  }

  std::map<std::uint64_t, Word> words_;
  const bool needs_reader_fence_;
  std::map<unsigned, Clock> known_, published_, in_block_, seen_, seen_in_block_;
  std::map<unsigned, unsigned> time_;
};

}  // namespace

TEST_CASE("random events: whatever is found is a race, and where there are races one is found") {
  unsigned racy = 0, clean = 0, late = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    Naive naive, strict(true);
    Grid g(3, {&naive, &strict});
    const unsigned count = 4 + below(30);
    const auto any_thread = [&] { return ThreadId{below(3), below(2) * 32 + below(2)}; };
    for (unsigned k = 0; k < count; ++k) {
      const ThreadId w = any_thread();
      switch (below(10)) {
        case 0:
          below(2) ? g.store(w, value + below(4) * 16) : g.load(w, value + below(4) * 16);
          break;
        case 1:
          if (const bool writes = below(2); below(2)) {
            g.row(w.block, writes, value + below(2), 1, below(2));
          } else {  // lanes of one store are apart
            const unsigned width = 2u << below(4);
            g.rows(w.block, writes, value + below(2), width, writes || below(2), writes ? width + below(2) : below(20));
          }
          break;
        case 2:
        case 3:
          g.fence(w, below(4) ? Scope::device : Scope::block);
          break;
        case 4:
          g.barrier(w.block);
          break;
        case 5:
          g.warp_sync(w, below(2) ? vgpu::full_mask : 3);
          break;
        case 6:
          g.atomic(w, flag + below(2), below(3) ? relaxed : acq_rel);
          break;
        case 7:
          g.store(w, flag + below(2), below(3) ? relaxed : release);
          break;
        default:
          g.load(w, flag + below(2), below(2) ? volatile_ : acquire);
      }
    }
    INFO("seed " << seed);
    std::set<std::pair<unsigned, unsigned>> found;
    g.found();
    for (const vgpu::Finding& f : g.findings()) {
      const std::pair<unsigned, unsigned> pair{f.parts.front().where.line, f.parts.back().where.line};
      INFO("lines " << pair.first << " " << pair.second);
      if (f.kind == "reader") {
        CHECK((strict.races.contains(pair) || strict.optional.contains(pair) || strict.late.contains(pair)));
      } else if (f.weight == vgpu::Finding::Weight::mistake) {
        CHECK((naive.races.contains(pair) || naive.optional.contains(pair) || naive.late.contains(pair)));
        late += naive.late.contains(pair);
        if (!naive.late.contains(pair)) found.insert(pair);
      }
    }
    if (!naive.races.empty()) CHECK(!found.empty());
    racy += !naive.races.empty();
    clean += naive.races.empty();
  }
  CHECK(racy > 500);
  CHECK(clean > 500);
  CHECK(late > 5);
}
