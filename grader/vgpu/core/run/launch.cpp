#include "vgpu/core/run/launch.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/hash.hpp"
#include "vgpu/core/run/report.hpp"
#include "vgpu/core/run/stale_reads.hpp"
#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/sleeping.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// Instructions of a warp's turn. Long enough to make the turn cheap, short enough that a waiting warp costs little.
constexpr std::int64_t turn = 4096;
/// Turns that a block gets before another block may start beside it.
constexpr unsigned turns_of_block = 64;
/// How a kernel waits for the host: pauses of this length, and so long in one launch. What threads do in between counts
/// up to a limit, since they may have got something to do.
constexpr std::chrono::microseconds host_pause{100}, most_between_pauses{2000};
constexpr std::chrono::seconds most_host_waits{10};

/// Instructions between two samples of the spin watch.
constexpr std::int64_t watch_interval = 2048;

class GridRun : public BlockRunner {
 public:
  GridRun(Grid& grid, const Schedule& schedule, const RunLimits& limits)
      : grid_(grid),
        schedule_(schedule),
        limits_(limits),
        random_(schedule.seed),
        blocks_(grid.chosen.empty() ? grid.size.count() : grid.chosen.size()) {
    // A random order of blocks without a table of them: k → step·k + start (mod blocks), step coprime to blocks.
    if (schedule.is_interleaved() && blocks_ > 1) {
      start_ = random_() % blocks_;
      do step_ = random_() % blocks_;
      while (std::gcd(step_, blocks_) != 1);
    }
  }

  ~GridRun() override {
    if (!limits_.kept_blocks) return;
    for (const auto& slot : slots_) {
      if (!std::exchange(slot->running, false)) continue;
      slot->spare_frames.clear();  // it was left where it stood
      for (const auto& frame : slot->frames) slot->spare_frames.push_back(frame.get());
    }
    *limits_.kept_blocks = std::move(slots_);
  }

  std::optional<Fault> run() {
    if (limits_.kept_blocks) slots_ = std::move(*limits_.kept_blocks);
    slots_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limits_.resident_blocks, blocks_)));
    try {
      if (limits_.guide)
        run_guided();
      else if (schedule_.is_interleaved())
        run_random();
      else
        run_by_index();
    } catch (FaultException& f) {
      return std::move(f.fault);
    }
    return std::nullopt;
  }

  Outcome run(std::uint64_t k) override {
    slots_.resize(1);
    next_ = k;
    is_sensitive_ = false;
    start_next(0);
    return advance(*slots_[0]);
  }

  Outcome go_on() override {
    const Outcome outcome = advance(*slots_[0]);
    return is_sensitive(*slots_[0]) ? Outcome::failed : outcome;
  }

 private:
  // --- blocks --------------------------------------------------------------------------------------------------------

  std::uint64_t block_at(std::uint64_t k) const {
    const std::uint64_t place = place_at(k);
    return grid_.chosen.empty() ? place : grid_.chosen[place];
  }

  std::uint64_t place_at(std::uint64_t k) const {
    if (limits_.guide) return k;
    switch (schedule_.order) {
      case Schedule::Order::lockstep:
      case Schedule::Order::in_order:
        return k;
      case Schedule::Order::reversed:
        return blocks_ - 1 - k;
      case Schedule::Order::random:
      case Schedule::Order::weak:
        return (start_ + step_ * (k % blocks_)) % blocks_;
    }
    return k;
  }

  bool start_next(std::uint32_t slot) {
    if (next_ >= blocks_) return false;
    if (!slots_[slot]) slots_[slot] = std::make_unique<Block>();
    Block& block = *slots_[slot];
    start_block(block, grid_, block_at(next_++), slot);
    block.woken = block.rejoins = schedule_.order == Schedule::Order::lockstep && grid_.image->fast.whole_blocks;
    return true;
  }

  // --- one warp ------------------------------------------------------------------------------------------------------

  /// Whether the warp can run now; wakes splits that spin if memory has changed since.
  bool can_run(Warp& w) {
    if (w.spin.epoch != grid_.epoch && !w.waiting.empty()) wake_spinning(w);
    return w.stop == Stop::none;
  }

  static void wake_spinning(Warp& w) {
    bool woke = false;
    for (Split& s : w.waiting)
      if (s.state == Split::State::spin) {
        s.state = Split::State::ready;
        woke = true;
      }
    if (!woke) return;
    update_pending(w);
    w.stop = Stop::none;
  }

  void run_warp(Warp& w, std::int64_t quantum) {
    w.budget = w.quantum = w.segment_start = quantum;
    const bool is_latest = w.spin.unyielding > patience;
    const Inst* i = is_latest ? run_latest(w) : w.active ? w.pc : run_next(w);
    try {
      while (i) i = i->run(w, i);
    } catch (FaultException& f) {
      if (f.fault.kernel.empty()) complete(f.fault, w, w.pc, f.lane);
      throw;
    }
    const std::int64_t used = w.quantum - w.budget;
    grid_.executed += static_cast<std::uint64_t>(used);
    if (w.active && w.stop == Stop::none) {
      if (watch(w, used))
        suspend(w, Split::State::spin), is_sensitive_ = true;
      else if (!w.waiting.empty())
        suspend(w);
      else
        flush_executed(w);
    }
    if (is_latest) {
      wake_spinning(w);
      is_sensitive_ = true;
    }
    check_limits();
  }

  void check_limits() {
    if (grid_.executed > limits_.max_warp_instructions || (limits_.cancel && *limits_.cancel)) stop_endless();
  }

  /// Lets the split run that is last in the order, for one turn: it may be what the others wait for (a lock, say).
  const Inst* run_latest(Warp& w) {
    suspend(w);
    w.spin.unyielding = 0;
    auto latest = w.waiting.end();
    for (auto it = w.waiting.begin(); it != w.waiting.end(); ++it)
      if (it->state == Split::State::ready && (latest == w.waiting.end() || it->key() > latest->key())) latest = it;
    if (latest == w.waiting.end()) return run_next(w);
    // The others are hidden for this turn, so that none of them takes over at the next branch.
    for (Split& s : w.waiting)
      if (&s != &*latest && s.state == Split::State::ready) s.state = Split::State::spin;
    return run_next(w);
  }

  /// True when the running split is proven to repeat itself until another thread writes memory.
  bool watch(Warp& w, std::int64_t used) {
    SpinWatch& s = w.spin;
    const bool others_wait = w.pending_key != ~0u;
    s.unwatched += used;
    if (s.epoch != grid_.epoch) {
      const bool is_long = s.unwatched >= watch_interval;
      s.unyielding = others_wait ? s.unyielding + is_long : 0;
      s.epoch = grid_.epoch;
      s.samples = 0;
      if (is_long) s.unwatched = 0;
      return false;
    }
    if (s.unwatched < watch_interval) return false;
    s.unwatched = 0;
    if (s.unyielding <= patience) s.unyielding = others_wait ? s.unyielding + 1 : 0;
    if (w.frame->depth > 256) return false;  // an endless recursion is found by its depth, and the hash would be long
    std::uint64_t state = mixed(mixed(1, reinterpret_cast<std::uint64_t>(w.pc)), w.active);
    // After a barrier the block's other warps have done something too, if only in their registers.
    state = mixed(mixed(state, w.carry), w.block->barriers_released);
    for (const Frame* f = w.frame; f; f = f->caller)
      state = mixed(mixed(state, reinterpret_cast<std::uint64_t>(f->call)), f->registers, f->program->frame_bytes);
    if (const Gang* g = w.block->gang.get())
      for (std::uint32_t pair = 0; pair < g->code.pairs; ++pair) {
        const Pair p = g->column(pair).of(w.id);
        state = mixed(mixed(mixed(state, p.value), static_cast<std::uint64_t>(p.stride)),
                      static_cast<std::uint64_t>(p.jump));
      }
    const bool repeats = s.samples > 0 && state == s.snapshot;
    if (std::has_single_bit(++s.samples)) s.snapshot = state;
    return repeats;
  }

  // --- schedules -----------------------------------------------------------------------------------------------------

  /// All warps at once, as far as they take the same path. False when they do not.
  bool run_as_one(Block& block) {
    if (!block.rejoins || !std::exchange(block.woken, false)) return false;
    if (!block.is_as_before && !stands_together(block)) return false;
    run_together(block);
    check_limits();
    return true;
  }

  /// A block's turns: every warp as far as it gets, again and again while any makes progress. True when one did.
  bool run_block(Block& block) {
    const bool reversed = schedule_.order == Schedule::Order::reversed;
    const std::size_t count = block.warps.size();
    bool any = false;
    for (unsigned k = 0; k < turns_of_block && block.live > 0; ++k) {
      bool ran = run_as_one(block);
      for (std::size_t n = 0; n < count && block.live > 0; ++n) {
        Warp& w = block.warps[reversed ? count - 1 - n : n];
        if (!can_run(w)) continue;
        run_warp(w, turn);
        // Lanes that hold what the others of the warp wait for go on at once, before other warps come to wait too.
        if (w.spin.unyielding > patience && can_run(w)) run_warp(w, turn);
        ran = true;
      }
      if (!ran) break;
      any = true;
    }
    return any;
  }

  Outcome advance(Block& block) {
    try {
      if (!run_block(block)) return Outcome::failed;
    } catch (FaultException&) {
      return Outcome::failed;
    }
    if (block.live > 0) return Outcome::slow;
    end_block(block);
    return Outcome::ended;
  }

  /// A thread that waits for memory to change is woken by the writes of other blocks too, and may execute more then.
  bool is_sensitive(const Block& block) const {
    return is_sensitive_ || std::any_of(block.warps.begin(), block.warps.end(), [](const Warp& w) {
             return w.spin.poll_epoch != SpinWatch{}.poll_epoch || w.spin.waits > 0;
           });
  }

  /// Blocks by ascending or descending index; another one starts only when those that run are stuck or slow.
  void run_by_index() {
    std::size_t running = 0, used = 0;
    while (next_ < blocks_ || running > 0) {
      bool progress = false, ended = false;
      for (auto& slot : std::span(slots_).first(used)) {
        if (!slot->running) continue;
        progress |= run_block(*slot);
        if (slot->live == 0) {
          end_block(*slot);
          --running;
          progress = ended = true;
        }
      }
      if (ended && running > 0) continue;
      if (running == 0 && limits_.help) next_ = limits_.help(next_);
      const auto free = std::find_if(slots_.begin(), slots_.end(), [](const auto& s) { return !s || !s->running; });
      if (free != slots_.end() && start_next(static_cast<std::uint32_t>(free - slots_.begin()))) {
        ++running;
        used = std::max(used, static_cast<std::size_t>(free - slots_.begin()) + 1);
      } else if (!progress && running > 0) {
        wait_for_host_or_stop();
      }
    }
  }

  void list(Block& block) {
    for (Warp& w : block.warps)
      if (!w.listed && can_run(w)) {
        w.listed = true;
        runnable_.push_back(&w);
      }
    block.woken = false;
  }

  void list_all() {
    for (auto& slot : slots_)
      if (slot && slot->running) list(*slot);
  }

  void start_listed(std::uint32_t slot) {
    if (!start_next(slot)) return;
    for (Warp& w : slots_[slot]->warps) w.listed = false;
    list(*slots_[slot]);
  }

  /// As many blocks as the device holds; any warp may run next, for any number of instructions.
  void run_random() {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) start_listed(slot);
    for (std::uint64_t picks = 1;; ++picks) {
      if (runnable_.empty() || picks % 256 == 0) list_all();
      if (runnable_.empty()) {
        if (std::none_of(slots_.begin(), slots_.end(), [](const auto& s) { return s && s->running; })) return;
        wait_for_host_or_stop();
        continue;
      }
      const std::uint64_t r = random_();
      const std::size_t at = static_cast<std::size_t>(r >> 32) % runnable_.size();
      Warp& w = *runnable_[at];
      Block& block = *w.block;
      // Usually short turns, now and then a long one: both kinds of interleaving find races.
      const auto quantum = static_cast<std::int64_t>(1 + (r & 31) * ((r >> 5 & 7) == 0 ? 32 : 1));
      if (can_run(w)) run_warp(w, quantum);
      if (w.stop != Stop::none) {
        w.listed = false;
        runnable_[at] = runnable_.back();
        runnable_.pop_back();
      }
      if (block.live == 0) {
        end_block(block);
        start_listed(block.slot);
      } else if (block.woken) {
        list(block);
      }
    }
  }

  /// All blocks side by side. Between strong accesses warps run as far as they get, by block and number.
  void run_guided() {
    grid_.is_guided = true;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) start_next(slot);
    std::vector<Warp*> able;
    std::uint32_t leaps = 0;
    for (;;) {
      // Those that wait for memory to change look again when all others have got as far as they get.
      for (bool wakes = false, any = true; any; wakes = !any && !wakes, any |= wakes) {
        any = false;
        for (auto& slot : slots_) {
          for (Warp& w : slot->warps)
            while (slot->running && (wakes ? can_run(w) : w.stop == Stop::none) && !limits_.guide->holds_back(w)) {
              run_warp(w, turn);
              any = true;
            }
          if (slot->running && slot->live == 0) end_block(*slot);
        }
      }
      able.clear();
      for (auto& slot : slots_)
        for (Warp& w : slot->warps)
          if (slot->running && can_run(w)) able.push_back(&w);
      if (able.empty()) {
        if (std::none_of(slots_.begin(), slots_.end(), [](const auto& s) { return s->running; })) return;
        if (++leaps == clock_leaps) stop_deadlock();
        grid_.slept += std::uint64_t{1} << leaps;  // a wait with a time limit comes to its end
        ++grid_.epoch;
        continue;
      }
      const Guide::Pick pick = limits_.guide->pick(able);
      if (pick.is_deadlock) {
        for (Warp* w : able) suspend(*w, Split::State::spin);
        stop_deadlock();
      }
      if (!pick.warp) return;
      leaps = 0;
      do run_warp(*pick.warp, turn);
      while (limits_.guide->is_pending(*pick.warp) && can_run(*pick.warp));
    }
  }

  // --- ends ----------------------------------------------------------------------------------------------------------

  std::vector<const Block*> running_blocks() const {
    std::vector<const Block*> running;
    for (const auto& slot : slots_)
      if (slot && slot->running) running.push_back(slot.get());
    return running;
  }

  /// Nothing on the device can go on. What loops until memory changes may wait for the host, if it looks at memory that
  /// the host shares with the device: the host gets some time for that.
  void wait_for_host_or_stop() {
    const auto spins = [](const auto& slot) {
      if (!slot || !slot->running) return false;
      for (const Warp& w : slot->warps)
        for (const Split& s : w.waiting)
          if (s.state == Split::State::spin) return true;
      return false;
    };
    // Of all that has looked so far, or since the last pause of those that still wait.
    const auto now = std::chrono::steady_clock::now();
    if (last_host_pause_)
      host_waits_ += std::min<std::chrono::nanoseconds>(now - *last_host_pause_, most_between_pauses);
    const bool can_write = !limits_.host_waits || !(*limits_.host_waits)();
    const bool hope = can_write && grid_.memory->shared_with_host() && grid_.asks_host &&
                      host_waits_ < most_host_waits && std::any_of(slots_.begin(), slots_.end(), spins);
    if (!hope) stop_deadlock();
    if (limits_.cancel && *limits_.cancel) stop_endless();
    last_host_pause_ = now;
    grid_.asks_host = false;
    std::this_thread::sleep_for(host_pause);
    ++grid_.epoch;  // as if the host had written
  }

  [[noreturn]] void stop_deadlock() { throw FaultException(report_deadlock(grid_, running_blocks(), unstarted())); }

  Unstarted unstarted() const {
    Unstarted blocks{blocks_ - next_, blocks_};
    for (std::uint64_t k = next_; k < blocks_; ++k) blocks.lowest = std::min(blocks.lowest, block_at(k));
    return blocks;
  }

  [[noreturn]] void stop_endless() {
    throw FaultException(report_endless(grid_, running_blocks(), limits_.cancel && *limits_.cancel));
  }

  Grid& grid_;
  const Schedule schedule_;
  const RunLimits limits_;
  std::mt19937_64 random_;
  const std::uint64_t blocks_;
  std::uint64_t next_ = 0, start_ = 0, step_ = 1;
  std::vector<std::unique_ptr<Block>> slots_;
  std::vector<Warp*> runnable_;
  std::optional<std::chrono::steady_clock::time_point> last_host_pause_;
  std::chrono::nanoseconds host_waits_{0};
  bool is_sensitive_ = false;  ///< see is_sensitive
};

}  // namespace

/// Runs the grid with the view machine in place of the latest value of memory.
static std::optional<Fault> run_weakly(Grid& grid, const Schedule& schedule, const RunLimits& limits) {
  RandomChooser random(schedule.seed);
  MemoryChooser& chooser = limits.guide ? static_cast<MemoryChooser&>(*limits.guide) : random;
  Views views(*grid.memory, chooser, grid.block_size.count());
  if (limits.guide) views.order_as_ptx();  // an execution that was explored
  const std::span<Observer* const> observers = grid.observers;
  std::vector<Observer*> with_views(observers.begin(), observers.end());
  with_views.push_back(&views);
  grid.set_observers(with_views);
  grid.views = &views;
  std::optional<Fault> fault = GridRun(grid, schedule, limits).run();
  if (grid.stale_reads) *grid.stale_reads = describe_stale(grid, views.stale());
  grid.views = nullptr;
  grid.set_observers(observers);
  return fault;
}

std::optional<Fault> run_grid(Grid& grid, const Schedule& schedule, const RunLimits& limits) {
  if (schedule.order == Schedule::Order::weak && !grid.views) return run_weakly(grid, schedule, limits);
  return GridRun(grid, schedule, limits).run();
}

std::unique_ptr<BlockRunner> make_block_runner(Grid& grid, const Schedule& schedule, const RunLimits& limits) {
  return std::make_unique<GridRun>(grid, schedule, limits);
}

}  // namespace scanlab::vgpu
