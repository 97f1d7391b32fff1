#include "vgpu/core/run/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "vgpu/core/memory/claims.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace scanlab::vgpu {
namespace {

using HostClock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

double ns_since(HostClock::time_point start) {
  return Nanoseconds(HostClock::now() - start).count();
}

/// What is known of a launch's blocks after so much time is good enough to plan by.
constexpr double look_ns = 20e3;
/// A round: long enough that its end does not matter, short enough that little is lost when it has to be undone, and
/// that the copies of what it writes stay in the cache.
constexpr double round_ns = 2.5e6;
/// The same where nothing can have to be undone but for a fault: soon enough to see that a launch takes too long.
constexpr double free_round_ns = 100e6;
/// And at least this many blocks per thread, so that the last one to end makes the others wait only a little.
constexpr double round_blocks = 32;
/// What a thread takes at once: at least so much work, at first a good part of what there is.
constexpr double portion_ns = 15e3;
constexpr std::uint64_t portions_a_thread = 3;
/// Warp instructions of a slow block before a thread looks whether it runs in vain.
constexpr std::uint64_t slow_look = 2'000'000;
/// How long a thread looks for its next job before it sleeps: to wake one takes up to 0.2 ms on a virtual machine, and
/// the next launch often comes at once. Between looks it lets others run.
constexpr double awake_ns = 300e3;
constexpr unsigned looks_at_once = 64;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits until `value` is no longer `old`.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const HostClock::time_point start = HostClock::now();
  do {
    for (unsigned k = 0; k < looks_at_once; ++k) {
      if (value.load(std::memory_order_acquire) != old) return;
      pause();
    }
    std::this_thread::yield();
  } while (ns_since(start) < awake_ns);
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
  struct alignas(64) Member {
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

// --- a launch --------------------------------------------------------------------------------------------------------

class Team::Launch {
 public:
  using Outcome = BlockRunner::Outcome;

  /// A host thread's part in the launch. None of it is shared, so each lies in cache lines of its own.
  struct alignas(64) Worker {
    Grid grid;
    Claims* claims = nullptr;  ///< what it claims; nothing, where the blocks are known to be apart
    std::unique_ptr<BlockRunner> runner;
    std::vector<std::unique_ptr<Observer>> forks;
    std::vector<Observer*> observers;  ///< the same
  };

  Launch(Team::Shared& team_, Grid& grid_, const Schedule& schedule_, const RunLimits& limits_,
         const ParallelOptions& options_)
      : team(team_),
        grid(grid_),
        schedule(schedule_),
        limits(limits_),
        options(options_),
        blocks(grid_.size.count()),
        workers(team_.members.size()) {}

  // --- a worker's part ---------------------------------------------------------------------------------------------

  /// To be called by the worker's own thread, so that its memory is near. Counts of a round begin at 0.
  Worker& begin_worker(unsigned k) {
    Claims& claims = team.members[k]->claims;
    claims.begin_round();
    if (!workers[k]) {
      auto made = std::make_unique<Worker>();
      made->grid = grid;
      made->claims = &claims;
      made->grid.claims = options.apart ? nullptr : &claims;
      RunLimits own = limits;
      own.resident_blocks = 1;
      made->runner = make_block_runner(made->grid, schedule, own);
      workers[k] = std::move(made);
    }
    Worker& w = *workers[k];
    w.grid.executed = w.grid.slept = 0;
    w.forks.clear();
    w.observers.clear();
    for (const Observer* o : grid.observers) w.observers.push_back(w.forks.emplace_back(o->fork()).get());
    w.grid.set_observers(w.observers);
    return w;
  }

  /// Takes the next blocks of the round: fewer and fewer at once, so that all threads end together. False when none is
  /// left.
  bool take(std::uint64_t& first, std::uint64_t& last) {
    first = next.load(std::memory_order_relaxed);
    do {
      const std::uint64_t stop_at = end.load(std::memory_order_relaxed);
      if (first >= stop_at || team.stop.load(std::memory_order_relaxed)) return false;
      const std::uint64_t left = stop_at - first;
      last = first + std::min(left, std::max(least_portion, left / (portions_a_thread * workers.size())));
    } while (!next.compare_exchange_weak(first, last, std::memory_order_relaxed));
    return true;
  }

  /// Runs the slow block that `w` has begun to its end. False when the round is lost.
  bool finish_slow(Worker& w) {
    end.store(blocks, std::memory_order_relaxed);
    Outcome outcome = Outcome::slow;
    for (std::uint64_t look_at = w.grid.executed + slow_look; outcome == Outcome::slow;) {
      outcome = w.runner->go_on();
      if (team.stop.load(std::memory_order_relaxed)) return false;
      if (w.grid.executed < look_at) continue;
      // What it reads may have been spoilt by others, so that it never ends.
      look_at = 2 * w.grid.executed;
      if (conflicts_with_others(w)) return false;
    }
    return outcome == Outcome::ended && w.claims->set_apart();
  }

  /// Runs blocks as long as there are any, after the slow one that it may have begun. False when the round is lost.
  bool run_blocks(Worker& w, bool has_begun) {
    if (has_begun && !finish_slow(w)) return false;
    for (std::uint64_t at, last; take(at, last);)
      for (; at < last && !team.stop.load(std::memory_order_relaxed); ++at) {
        const Outcome outcome = w.runner->run(at);
        if (outcome == Outcome::failed || (outcome == Outcome::slow && !finish_slow(w))) return false;
      }
    return !w.claims->has_set_apart() || w.claims->set_apart();
  }

  void work(unsigned k, bool has_begun) {
    bool ended = false;
    try {
      ended = run_blocks(has_begun ? *workers[k] : begin_worker(k), has_begun);
    } catch (...) {  // no memory, say: one thread may do with less
    }
    if (!ended) team.stop.store(true, std::memory_order_relaxed);
  }

  bool conflicts_with_others(const Worker& w) const {
    return std::any_of(team.members.begin(), team.members.end(),
                       [&](const auto& m) { return &m->claims != w.claims && w.claims->conflicts_with(m->claims); });
  }

  // --- rounds ------------------------------------------------------------------------------------------------------

  /// False when there is no memory for it.
  bool begin_round(std::uint64_t first, std::uint64_t last) {
    try {
      team.pages.begin_round(*grid.memory);
      for (const auto& m : team.members) m->claims.make_room();
    } catch (const std::bad_alloc&) {
      has_failed = true;
      return false;
    }
    team.stop.store(false, std::memory_order_relaxed);
    next.store(first, std::memory_order_relaxed);
    end.store(last, std::memory_order_relaxed);
    return true;
  }

  /// All threads run the blocks of the round; the first may have begun a slow one. False when it was in vain, and
  /// nothing has happened.
  bool run_round(bool has_begun) {
    ++rounds;
    team.all([&](unsigned k) { work(k, has_begun && k == 0); });
    const bool holds =
        !team.stop.load(std::memory_order_relaxed) &&
        std::none_of(workers.begin(), workers.end(), [&](const auto& w) { return conflicts_with_others(*w); });
    return holds && commit() ? true : undo();
  }

  /// The round counts. False when it has taken more instructions than a launch may.
  bool commit() {
    std::uint64_t executed = grid.executed, slept = grid.slept;
    for (const auto& w : workers)
      if (w) executed += w->grid.executed, slept += w->grid.slept;
    if (executed > limits.max_warp_instructions) return false;
    grid.executed = executed;
    grid.slept = slept;
    ++grid.epoch;
    for (const auto& w : workers) {
      if (!w) continue;
      for (std::size_t k = 0; k < w->forks.size(); ++k) grid.observers[k]->join(*w->forks[k]);
    }
    return true;
  }

  /// Always false.
  bool undo() {
    for (const auto& m : team.members) m->claims.restore();
    has_failed = true;
    return false;
  }

  /// Blocks that may be slow: the launch's own thread begins alone, as one of the workers, until it is known whether
  /// the others are worth waking. Returns the first block that has not been run.
  std::uint64_t run_alone() {
    if (!begin_round(0, blocks)) return 0;
    // What others claimed in earlier launches is no longer so.
    for (const auto& m : team.members) m->claims.begin_round();
    Worker& w = begin_worker(0);
    const HostClock::time_point start = HostClock::now();
    for (std::uint64_t k = 0, look = 1; k < blocks; ++k) {
      if (k == look) {
        if (learn(ns_since(start), k, blocks - k)) return commit() ? k : (undo(), 0);
        look *= 2;
      }
      const Outcome outcome = w.runner->run(k);
      if (outcome == Outcome::failed) return undo(), 0;
      if (outcome == Outcome::slow) {
        next.store(k + 1, std::memory_order_relaxed);
        least_portion = 1;
        return run_round(true) ? blocks : 0;
      }
    }
    return commit() ? blocks : (undo(), 0);
  }

  /// `done` blocks have taken `elapsed`. True when that is enough to know that the `left` ones are worth it.
  bool learn(double elapsed, std::uint64_t done, std::uint64_t left) {
    block_ns = elapsed / static_cast<double>(done);
    return elapsed >= std::min(look_ns, options.least_ns) && block_ns * static_cast<double>(left) >= options.least_ns;
  }

  std::uint64_t run_together(std::uint64_t first) {
    const auto threads = static_cast<double>(workers.size());
    while (first < blocks) {
      // The last round takes what would be too little for another one.
      const double length = options.apart ? free_round_ns : round_ns;
      const double wanted = std::max(length * threads / block_ns, round_blocks * threads);
      const std::uint64_t last =
          wanted * 1.5 >= static_cast<double>(blocks - first) ? blocks : first + static_cast<std::uint64_t>(wanted);
      least_portion = static_cast<std::uint64_t>(std::max(1.0, portion_ns / block_ns));
      const HostClock::time_point begin = HostClock::now();
      if (!begin_round(first, last) || !run_round(false)) break;
      const std::uint64_t reached = end.load(std::memory_order_relaxed);
      block_ns = std::max(1.0, ns_since(begin) * threads / static_cast<double>(reached - first));
      first = reached;
    }
    return first;
  }

  /// See RunLimits::help.
  std::uint64_t run_from(std::uint64_t first) {
    if (has_failed || first < next_look || first >= blocks) return first;
    if (first == 0) {
      next_look = 1;
      if (grid.image->loops) first = run_alone();
      if (first == 0) {
        start = HostClock::now();
        return first;
      }
    } else if (!learn(ns_since(*start), first, blocks - first)) {
      next_look = 2 * first;
      return first;
    }
    return run_together(first);
  }

  Team::Shared& team;
  Grid& grid;
  const Schedule schedule;
  const RunLimits limits;
  const ParallelOptions options;
  const std::uint64_t blocks;
  std::vector<std::unique_ptr<Worker>> workers;
  std::uint64_t least_portion = 1;
  double block_ns = 1;                              ///< what a block takes
  alignas(64) std::atomic<std::uint64_t> next = 0;  ///< block of the round
  std::atomic<std::uint64_t> end = 0;               ///< of the round

  std::optional<HostClock::time_point> start;  ///< of the first block
  std::uint64_t next_look = 0;
  std::uint64_t rounds = 0;
  bool has_failed = false;
};

Team::Result Team::run(Grid& grid, const Schedule& schedule, RunLimits limits, const ParallelOptions& options) {
  Launch launch(*shared_, grid, schedule, limits, options);
  limits.help = [&](std::uint64_t next) { return launch.run_from(next); };
  std::optional<Fault> fault = run_grid(grid, schedule, limits);
  return {std::move(fault), launch.rounds, launch.has_failed};
}

}  // namespace scanlab::vgpu
