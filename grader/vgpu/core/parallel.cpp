#include "vgpu/core/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "vgpu/core/claims.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace scanlab::vgpu {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

double ns_since(Clock::time_point start) {
  return Nanoseconds(Clock::now() - start).count();
}

/// What is known of a launch's blocks after so much time is good enough to plan by.
constexpr double look_ns = 20e3;
/// A round: long enough that its end does not matter, short enough that little is lost when it has to be undone, and
/// that the copies of what it writes stay in the cache.
constexpr double round_ns = 2.5e6;
/// What a thread takes at once: at least so much work, at first a good part of what there is.
constexpr double portion_ns = 15e3;
constexpr std::uint64_t portions_a_thread = 3;
/// How long a thread looks for its next job before it sleeps.
constexpr unsigned spins = 2000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits until `value` is no longer `old`.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (unsigned k = 0; k < spins; ++k) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

unsigned default_threads() {
  int threads = 0;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (const char* const text = std::getenv("SCANLAB_THREADS"))
    std::from_chars(text, text + std::strlen(text), threads);
  else if (sched_getaffinity(0, sizeof set, &set) == 0)
    threads = CPU_COUNT(&set);
  return static_cast<unsigned>(std::clamp(threads, 1, static_cast<int>(Team::most_threads)));
}

// --- the team --------------------------------------------------------------------------------------------------------

struct Team::Shared {
  struct Member {
    explicit Member(Shared& shared) : claims(shared.pages, shared.stop) {}
    Claims claims;
  };

  std::atomic<bool> stop = false;  ///< the round is lost
  Pages pages;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::thread> threads;  ///< of all members but the first
  const std::function<void(unsigned)>* job = nullptr;
  alignas(64) std::atomic<std::uint32_t> jobs = 0;  ///< grows with each; odd: the threads end
  alignas(64) std::atomic<std::uint32_t> busy = 0;  ///< threads that have not finished the job

  void serve(unsigned member) {
    for (std::uint32_t done = 0;;) {
      wait_while(jobs, done);
      done = jobs.load(std::memory_order_acquire);
      if (done & 1) return;
      (*job)(member);
      if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) busy.notify_one();
    }
  }

  /// Every member does the job, each with its number.
  void all(const std::function<void(unsigned)>& what) {
    job = &what;
    busy.store(static_cast<std::uint32_t>(threads.size()), std::memory_order_relaxed);
    jobs.fetch_add(2, std::memory_order_release);
    jobs.notify_all();
    what(0);
    for (std::uint32_t left; (left = busy.load(std::memory_order_acquire)) != 0;) wait_while(busy, left);
  }
};

Team::Team(unsigned threads) : shared_(std::make_unique<Shared>()) {
  threads = std::clamp(threads, 1u, most_threads);
  for (unsigned k = 0; k < threads; ++k) {
    shared_->members.push_back(std::make_unique<Shared::Member>(*shared_));
    if (k == 0) continue;
    try {
      shared_->threads.emplace_back([s = shared_.get(), k] { s->serve(k); });
    } catch (const std::system_error&) {
      shared_->members.pop_back();
      break;
    }
  }
}

Team::~Team() {
  shared_->jobs.fetch_add(1, std::memory_order_release);
  shared_->jobs.notify_all();
  for (std::thread& t : shared_->threads) t.join();
}

unsigned Team::threads() const {
  return static_cast<unsigned>(shared_->members.size());
}

// --- a launch --------------------------------------------------------------------------------------------------------

struct ParallelRun::State {
  /// A host thread's part in the launch. None of it is shared, so each lies in cache lines of its own.
  struct alignas(64) Worker {
    Grid grid;
    std::unique_ptr<BlockRunner> runner;
    std::vector<std::unique_ptr<Observer>> forks;
    std::vector<Observer*> observers;  ///< the same
  };

  State(Team::Shared& team_, Grid& grid_, const Schedule& schedule_, const RunLimits& limits_, double least_ns_)
      : team(team_),
        grid(grid_),
        schedule(schedule_),
        limits(limits_),
        least_ns(least_ns_),
        blocks(grid_.size.count()) {}

  /// Everything a worker needs, made by its own thread: its memory is then near.
  void make_worker(unsigned k) {
    auto w = std::make_unique<Worker>();
    w->grid = grid;
    w->grid.claims = &team.members[k]->claims;
    workers[k] = std::move(w);
  }

  /// Counts of a round begin at 0.
  void begin_round(Worker& w) {
    w.grid.claims->begin_round();
    w.grid.executed = w.grid.slept = 0;
    w.forks.clear();
    w.observers.clear();
    for (const Observer* o : grid.observers) w.observers.push_back(w.forks.emplace_back(o->fork()).get());
    w.grid.observers = w.observers;
    if (w.runner) return;
    RunLimits own = limits;
    own.helper = nullptr;
    own.resident_blocks = 1;
    own.stop = &team.stop;
    w.runner = make_block_runner(w.grid, schedule, own);
  }

  /// Takes the next blocks of the round: fewer and fewer at once, so that all threads end together. False when none is
  /// left.
  bool take(std::uint64_t& first, std::uint64_t& last) {
    first = next.load(std::memory_order_relaxed);
    do {
      if (first >= end || team.stop.load(std::memory_order_relaxed)) return false;
      const std::uint64_t left = end - first;
      last = first + std::min(left, std::max(least_portion, left / (portions_a_thread * workers.size())));
    } while (!next.compare_exchange_weak(first, last, std::memory_order_relaxed));
    return true;
  }

  void work(unsigned k) {
    try {
      if (!workers[k]) make_worker(k);
      Worker& w = *workers[k];
      begin_round(w);
      for (std::uint64_t at, last; take(at, last);)
        for (; at < last; ++at)
          if (!w.runner->run(at)) {
            team.stop.store(true, std::memory_order_relaxed);
            return;
          }
    } catch (...) {  // no memory, say: one thread may do with less
      team.stop.store(true, std::memory_order_relaxed);
    }
  }

  bool has_conflicts() const {
    for (const auto& a : team.members)
      for (const auto& b : team.members)
        if (a != b && a->claims.conflicts_with(b->claims)) return true;
    return false;
  }

  /// Runs the blocks [first, last) on all threads. False when it was in vain, and nothing has happened.
  bool round(std::uint64_t first, std::uint64_t last) {
    team.stop.store(false, std::memory_order_relaxed);
    team.pages.begin_round(*grid.memory);
    next.store(first, std::memory_order_relaxed);
    end = last;
    team.all([this](unsigned k) { work(k); });
    std::uint64_t executed = grid.executed, slept = grid.slept;
    for (const auto& w : workers)
      if (w) executed += w->grid.executed, slept += w->grid.slept;
    if (team.stop.load(std::memory_order_relaxed) || executed > limits.max_warp_instructions || has_conflicts()) {
      for (const auto& m : team.members) m->claims.restore();
      return false;
    }
    grid.executed = executed;
    grid.slept = slept;
    ++grid.epoch;
    for (const auto& w : workers)
      for (std::size_t k = 0; k < w->forks.size(); ++k) grid.observers[k]->join(*w->forks[k]);
    return true;
  }

  Team::Shared& team;
  Grid& grid;
  const Schedule schedule;
  const RunLimits limits;
  const double least_ns;
  const std::uint64_t blocks;
  std::vector<std::unique_ptr<Worker>> workers;
  std::uint64_t end = 0;  ///< of the round
  std::uint64_t least_portion = 1;
  alignas(64) std::atomic<std::uint64_t> next = 0;  ///< block of the round

  std::optional<Clock::time_point> start;  ///< of the first block
  std::uint64_t first_block = 0;
  std::uint64_t next_look = 0;
  std::uint64_t rounds = 0;
  bool has_failed = false;
};

ParallelRun::ParallelRun(Team& team, Grid& grid, const Schedule& schedule, const RunLimits& limits, double least_ns)
    : state_(std::make_unique<State>(*team.shared_, grid, schedule, limits, least_ns)) {
  state_->workers.resize(team.threads());
}

ParallelRun::~ParallelRun() = default;

std::uint64_t ParallelRun::rounds() const {
  return state_->rounds;
}

bool ParallelRun::has_failed() const {
  return state_->has_failed;
}

std::uint64_t ParallelRun::run_from(std::uint64_t next) {
  State& s = *state_;
  if (s.has_failed || next < s.next_look || next >= s.blocks) return next;
  if (!s.start) {
    s.start = Clock::now();
    s.first_block = next;
    s.next_look = next + 1;
    return next;
  }
  // What the blocks so far have taken tells what the others will.
  const std::uint64_t done = next - s.first_block;
  const double elapsed = ns_since(*s.start);
  double block_ns = elapsed / static_cast<double>(done);
  if (elapsed < std::min(look_ns, s.least_ns) || block_ns * static_cast<double>(s.blocks - next) < s.least_ns) {
    s.next_look = next + done;
    return next;
  }
  const auto threads = static_cast<double>(s.workers.size());
  while (next < s.blocks) {
    const auto left = static_cast<double>(s.blocks - next);
    // The last round takes what would be too little for another one.
    const double wanted = std::max(round_ns * threads / block_ns, 2 * threads);
    const std::uint64_t last = wanted * 1.5 >= left ? s.blocks : next + static_cast<std::uint64_t>(wanted);
    s.least_portion = static_cast<std::uint64_t>(std::max(1.0, portion_ns / block_ns));
    const Clock::time_point begin = Clock::now();
    ++s.rounds;
    if (!s.round(next, last)) {
      s.has_failed = true;
      break;
    }
    block_ns = std::max(1.0, ns_since(begin) * threads / static_cast<double>(last - next));
    next = last;
  }
  return next;
}

}  // namespace scanlab::vgpu
