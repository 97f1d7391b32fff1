#include "vgpu/core/explore/explore.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "vgpu/core/explore/graphs.hpp"
#include "vgpu/core/explore/known_steps.hpp"
#include "vgpu/core/explore/races.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace playback {

class Explorer {
 public:
  Explorer(Grid& grid, const KernelInfo& info, const RunLimits& limits, const ExplorationLimits& bounds,
           const std::function<bool(const Execution&)>& visit, const ExplorationObservers& observers)
      : grid_(grid),
        info_(info),
        observers_(observers),
        limits_(limits),
        bounds_(bounds),
        visit_(visit),
        journal_(*grid.memory),
        graphs_(grid),
        known_steps_(grid),
        watch_(grid, *info.module),
        cancel_(limits.cancel) {
    limits_.kept_blocks = &blocks_;
    limits_.cancel = &is_over_;
  }

  Exploration run() {
    const std::uint64_t executed = grid_.executed;
    todo_.push_back({});
    while (!todo_.empty() && !is_stopped_) {
      const char* why = nullptr;
      if (result_.runs >= bounds_.runs) why = "as many runs as allowed";
      if (is_out_of_time()) why = "out of time";
      if (result_.warp_instructions >= bounds_.warp_instructions) why = "too many";
      if (cancel_ && *cancel_) why = "cancelled";
      if (why) {
        result_.why_not = fmt::format("{}: {} executions run to the end, and {} known ways to begin others are left",
                                      why, result_.executions, todo_.size());
        break;
      }
      if (!result_.why_not.empty()) break;
      Item item = std::move(todo_.back());
      todo_.pop_back();
      if (item.put_off)
        take_up(*item.put_off);
      else if (!item.passages || !known_steps_.same_place(*item.passages, item.forced - 1))
        run_one(std::make_shared<Run>(grid_, std::move(item)));
    }
    journal_.restore();
    grid_.executed = executed;
    if (is_given_up_ && result_.why_not.empty())
      result_.why_not = fmt::format("out of time: {} executions run, and there may be more", result_.executions);
    if (lane_fence_ && result_.why_not.empty())
      result_.why_not = fmt::format("the order of the fence at {}:{} and one of another lane of a warp is not explored",
                                    lane_fence_->file, lane_fence_->line);
    if (is_stopped_) result_.why_not = "stopped";
    result_.is_exhaustive = result_.why_not.empty();
    std::ranges::move(watch_.races(), std::back_inserter(result_.broken));
    return result_;
  }

 private:
  static double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  bool is_out_of_time() const { return processor_seconds() - begin_ > bounds_.seconds; }

  /// Ends a run that goes on when the time is over.
  void look_at_time(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds interval{20};
    for (; !stop.stop_requested() && !is_over_; std::this_thread::sleep_for(interval))
      is_over_ = is_out_of_time() || (cancel_ && *cancel_);
  }

  struct Run;
  /// What is to be run, or has been run and put off.
  struct Item {
    Trail trail = {};
    std::size_t forced = 0;
    bool is_second = false;                                     ///< it had been put off
    std::shared_ptr<const std::vector<Passage>> passages = {};  ///< of the run that it begins like
    std::shared_ptr<Run> put_off = {};
  };
  struct Run {
    Run(Grid& grid, Item what)
        : item(std::move(what)),
          playback(grid, item.trail, item.forced),
          views(*grid.memory, playback, grid.block_size.count()) {
      views.order_as_ptx();
    }

    const Item item;
    Playback playback;
    Views views;
    std::shared_ptr<const std::vector<Passage>> passages;
  };
  void run_one(const std::shared_ptr<Run>& run) {
    journal_.restore();
    ++result_.runs;
    State& s = run->playback;
    s.journal = &journal_;
    s.live = &live_;
    if (bounds_.prunes) s.is_known = [&](std::size_t agent, std::uint64_t state) { return is_known(s, agent, state); };
    const std::span<Observer* const> before = grid_.observers;
    run->views.on_initial = [&](const StrongAccess& a) {
      for (Observer* const o : observers_.of_runs) o->may_read_initial(a.actor, a.address, a.bytes);
    };
    std::vector<Observer*> observers = {&run->playback, &watch_, &run->views};
    observers.insert(observers.end(), observers_.of_runs.begin(), observers_.of_runs.end());
    for (Observer* const o : observers_.of_runs) o->kernel_begin(info_);
    watch_.begin(run->views);
    if (!lane_fence_) run->views.causality().follow_fences();
    const std::size_t races = watch_.races().size();
    grid_.set_observers(observers);
    grid_.views = &run->views;
    grid_.executed = grid_.slept = 0;
    RunLimits limits = limits_;
    limits.guide = &run->playback;
    const std::optional<Fault> fault = run_grid(grid_, {Schedule::Order::weak, 0, {}}, limits);
    result_.warp_instructions += grid_.executed;
    if (s.is_infeasible) {
      watch_.races().resize(races);
    } else if (fault && fault->kind == Fault::Kind::budget && is_over_) {
      watch_.races().resize(races);
      is_given_up_ = true;
      result_.why_not = fmt::format(
          "out of time: {} executions run, and one that goes on without end, or for long{}", result_.executions,
          fault->where.line ? fmt::format(", at {}:{}", fault->where.file, fault->where.line) : "");
    } else if (const auto& mixed = run->views.locations().mixed_sizes()) {
      stop_at(*mixed);
    } else if (const auto& line = run->views.locations().cut_off()) {
      const SourcePlace where = own_place(*info_.module, *line);
      result_.why_not =
          fmt::format("more writes to the same memory than are followed, at {}:{}", where.file, where.line);
    } else {
      for (Observer* const o : observers_.of_runs | std::views::reverse) o->kernel_end();
      if (s.lane_fence && !lane_fence_) lane_fence_ = own_place(*info_.module, *s.lane_fence);
      known_steps_.note(s);
      keep_steps(s);
      for (std::size_t k = races; k < watch_.races().size(); ++k) watch_.races()[k].trail = trail_of(s).text();
      derive(run, fault);
      if (has_new_path(s)) look_again(run->item);
    }
    run->views.on_initial = nullptr;
    grid_.views = nullptr;
    grid_.set_observers(before);
  }

  /// What a block does within itself follows from the order of its warps' steps, and what they read.
  bool has_new_path(const State& s) {
    if (observers_.of_block_paths.empty()) return false;
    std::map<std::size_t, std::uint64_t> paths;
    for (const Turn& step : s.steps) {
      const std::size_t block = step.agent / s.warps;
      std::uint64_t& path = paths.try_emplace(block, grid_.image->alike_blocks ? 0 : block).first->second;
      path = mixed(mixed(path, step.agent % s.warps), step.state);
      for (const Event& e : step.events) {
        path = mixed(mixed(path, e.by.thread), e.address);
        if (e.reads() && !e.allowed.empty()) path = mixed(path, e.allowed[e.chosen].value);
        if (e.reads()) path = mixed(mixed(mixed(path, e.source.block), e.source.thread), e.source.number);
      }
    }
    bool is_new = false;
    for (const auto& [block, path] : paths) is_new |= block_paths_.insert(path).second;
    return is_new;
  }

  /// The same run once more, for those that see each path of a block once.
  void look_again(const Item& item) {
    journal_.restore();
    Run run(grid_, {.trail = item.trail, .forced = item.forced});
    State& s = run.playback;
    s.journal = &journal_;
    s.live = &live_;
    std::vector<Observer*> observers = {&run.playback, &run.views};
    observers.insert(observers.end(), observers_.of_block_paths.begin(), observers_.of_block_paths.end());
    for (Observer* const o : observers_.of_block_paths) o->kernel_begin(info_);
    grid_.set_observers(observers);
    grid_.views = &run.views;
    grid_.executed = grid_.slept = 0;
    RunLimits limits = limits_;
    limits.guide = &run.playback;
    (void)run_grid(grid_, {Schedule::Order::weak, 0, {}}, limits);
    result_.warp_instructions += grid_.executed;
    for (Observer* const o : observers_.of_block_paths | std::views::reverse) o->kernel_end();
  }

  /// Accesses of several sizes are not shown as the memory model has them.
  void stop_at(const MixedSizes& mixed) {
    BrokenAssumption& broken = result_.broken.emplace_back();
    broken.kind = BrokenAssumption::Kind::mixed_sizes;
    broken.where = own_place(*info_.module, mixed.other_line);
    broken.other = own_place(*info_.module, mixed.line);
    result_.why_not = broken.text();
  }

  /// The steps of a run that are kept.
  Trail trail_of(const State& s) const {
    Trail trail;
    for (const std::size_t k : kept_) {
      TrailStep& step = trail.steps.emplace_back(step_of(s, k));
      for (const Event& e : s.steps[k].events)
        step.choices.push_back(e.chose_newest() || !e.choice() ? std::nullopt : std::optional(*e.choice()));
    }
    return trail;
  }

  /// A loop has come back to where it was, though some of its steps had been forced. What it read by itself, behind
  /// those, could have been something else, or something later; and the run without the loop is one, too.
  void derive_from_redundant(State& s, std::size_t forced) {
    Steps without = kept_;
    for (const Steps& vain : s.redundant) {
      std::erase_if(without, [&](std::size_t k) { return std::ranges::binary_search(vain, k); });
      for (const std::size_t k : vain)
        if (k >= forced) {
          come_before_others(s, k);
          choose_otherwise(s, k, up_to(k));
          for (const std::size_t later : kept_)
            for (std::size_t e = 0; later > k && e < s.steps[later].events.size(); ++e) come_before(s, later, e, k);
        }
    }
    push(s, without, {});
  }

  /// Of a run that had been put off: what led to where it is left; or the run again, for memory as at its end.
  void take_up(Run& run) {
    State& s = run.playback;
    grid_.views = &run.views;
    keep_steps(s);
    if (leaves(*run.passages)) {
      derive_others(s);
    } else {
      Item again{.trail = run.item.trail, .forced = run.item.forced, .is_second = true};
      run_one(std::make_shared<Run>(grid_, std::move(again)));
    }
    grid_.views = nullptr;
  }

  void keep_steps(const State& s) {
    kept_.clear();
    for (std::size_t k = 0; k < s.steps.size(); ++k)
      if (!s.steps[k].is_vain) kept_.push_back(k);
  }

  void derive_others(State& s) {
    for (const std::size_t k : kept_) {
      // Of a long run this takes longer than the run.
      if (is_given_up_ = is_out_of_time(); is_given_up_) return;
      come_before_others(s, k);
    }
    for (const std::size_t k : kept_ | std::views::reverse) choose_otherwise(s, k, up_to(k));
  }

  /// What a warp that waits has read in vain could have been another old value; and what it has done besides could
  /// have come before what others did.
  void derive_from_waiting(State& s) {
    for (const State::Agent& a : s.agents) {
      if (!a.is_parked) continue;
      const Steps kept = kept_;
      kept_.insert(kept_.end(), a.vain.begin(), a.vain.end());
      std::ranges::sort(kept_);
      for (const std::size_t k : a.vain) {
        come_before_others(s, k);
        choose_otherwise(s, k, up_to(k));
      }
      kept_ = kept;
    }
  }

  /// The events of step k come before those of earlier steps.
  void come_before_others(const State& s, std::size_t k) {
    for (std::size_t e = 0; e < s.steps[k].events.size(); ++e)
      for (const std::size_t j : kept_)
        if (j < k) come_before(s, k, e, j);
  }

  void derive(const std::shared_ptr<Run>& run, const std::optional<Fault>& fault) {
    State& s = run->playback;
    if (!s.redundant.empty()) return derive_from_redundant(s, run->item.forced);
    derive_from_waiting(s);
    if (s.to_wake != none) {
      push(s, kept_, {.step = s.agents[s.to_wake].vain.front(), .may_be_vain = true});
      return derive_others(s);
    }
    bool is_left = s.is_cut;
    if (bounds_.prunes && !is_left) {
      run->passages = std::make_shared<const std::vector<Passage>>(known_steps_.passages_of(s, kept_));
      is_left = leaves(*run->passages);
      if (!is_left && !run->item.is_second && is_put_off(s, run)) return;
    }
    derive_others(s);
    if (is_left) return;
    const std::uint64_t memory = journal_.hash();
    if (!executions_.insert(graphs_.key(s, kept_, {})).second) return;
    ++result_.executions;
    is_stopped_ = !visit_({fault, trail_of(s), memory, &grid_});
  }

  /// Runs that read older writes come first: then it is known whether this one comes to the same.
  bool is_put_off(State& s, const std::shared_ptr<Run>& run) {
    const std::size_t before = todo_.size();
    for (const std::size_t k : kept_ | std::views::reverse)
      for (std::size_t e = s.steps[k].events.size(); e-- > 0;) {
        const Event& event = s.steps[k].events[e];
        if (!event.only_reads()) continue;
        for (unsigned older = event.chosen + 1; older < event.allowed.size(); ++older) {
          const std::size_t there = todo_.size();
          choose(s, k, up_to(k), e, older);
          for (std::size_t i = there; i < todo_.size(); ++i) todo_[i].passages = run->passages;
        }
      }
    if (todo_.size() == before) return false;
    run->views.forget_threads();
    todo_.insert(todo_.begin() + static_cast<std::ptrdiff_t>(before), Item{.put_off = run});
    return true;
  }

  /// Leaves the run where it comes to the same as another: what comes behind it goes out of kept_.
  bool leaves(const std::vector<Passage>& passages) {
    const std::optional<std::size_t> place = known_steps_.same_place(passages, kept_.size());
    if (place) kept_.resize(*place);
    return place.has_value();
  }

  /// These steps, and then step k, one of whose events chooses something else.
  void choose_otherwise(State& s, std::size_t k, const Steps& order) {
    for (std::size_t e = s.steps[k].events.size(); e-- > 0;) {
      const Event& event = s.steps[k].events[e];
      if (!event.choice()) continue;
      // What it has chosen need not be tried again: this run is one that begins so.
      seen_.insert(graphs_.key(s, order, {k, e, *event.choice()}));
      if (event.effect == Event::Effect::write) {
        for (const StrongOperation& other : event.placed)
          if (!other.is_same_as(*event.choice())) push(s, order, {k, e, other});
      } else {
        for (unsigned other = 0; other < event.allowed.size(); ++other)
          if (other != event.chosen) choose(s, k, order, e, other);
      }
    }
  }

  /// These steps, and then step k, whose event e reads another write. Where it is known that this comes to nothing new
  /// if the events behind e read the newest, what these may read instead is tried at once.
  void choose(State& s, std::size_t k, const Steps& order, std::size_t e, unsigned other) {
    Turn& step = s.steps[k];
    const Change change{k, e, step.events[e].allowed[other].by};
    if (!has_one_read_each(step)) return push(s, order, change);
    if (!is_new(s, order, change)) return;
    const std::vector<Event> own(step.events.begin() + static_cast<std::ptrdiff_t>(e), step.events.end());
    for (std::size_t i = e; i < step.events.size(); ++i) read_instead(step.events[i], i == e ? other : 0);
    if (comes_to_nothing_new(s, k, order)) {
      for (std::size_t behind = step.events.size(); --behind > e;)
        for (unsigned another = 1; another < step.events[behind].allowed.size(); ++another)
          choose(s, k, order, behind, another);
    } else {
      add_item(s, order, change);
    }
    std::ranges::copy(own, step.events.begin() + static_cast<std::ptrdiff_t>(e));
  }

  static void read_instead(Event& e, unsigned choice) {
    e.chosen = choice;
    e.source = e.allowed[choice].by;
  }

  /// Only reads, each of another thread: what one of them chooses is nothing to the others.
  static bool has_one_read_each(const Turn& step) {
    const auto is_by_one = [](const Event& a, const Event& b) { return a.by.thread == b.by.thread; };
    return reads_of(step) && std::ranges::adjacent_find(step.events, is_by_one) == step.events.end();
  }

  /// Is it known that step k, with what its events read, leads its warp back to a state from which nothing has been
  /// noticed, or to the same as if one of them had read an older write?
  bool comes_to_nothing_new(State& s, std::size_t k, const Steps& order) const {
    return bounds_.prunes && known_steps_.come_to_nothing_new(known_steps_.passage_to(s, order, k));
  }

  /// Is it known of a run, whose warp comes to this state now, that it could have come there by reading something
  /// older? Only asked behind what a run has been made for: what a warp reads by itself may end in a wait, which has to
  /// be seen.
  bool is_known(State& s, std::size_t agent, std::uint64_t state) const {
    const std::size_t last = s.agents[agent].last;
    if (last == none || last >= s.forced || s.steps[last].changes != s.blocks[agent / s.warps].changes) return false;
    Steps all(s.steps.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return known_steps_.lead_to(known_steps_.passage_to(s, all, last), s, agent, state);
  }

  /// Event e of step k comes before those of step j that it conflicts with, and did not depend on.
  void come_before(const State& s, std::size_t k, std::size_t e, std::size_t j) {
    const Turn& step = s.steps[k];
    const Event& event = step.events[e];
    const Turn& earlier = s.steps[j];
    if (earlier.agent == step.agent) return;
    const bool is_after_step = earlier.number <= step.clock[earlier.agent];
    const bool is_after = earlier.number <= event.before[earlier.agent];
    for (std::size_t f = 0; f < earlier.events.size(); ++f) {
      const Event& other = earlier.events[f];
      const bool are_fences = event.effect == Event::Effect::fence && other.effect == Event::Effect::fence;
      if (!are_fences && (event.effect == Event::Effect::fence || other.effect == Event::Effect::fence ||
                          event.location != other.location))
        continue;
      if (event.writes() && other.reads() && !is_after_step) {
        // The earlier one reads what the later one writes. Where runs are left, what its warp has read just before is
        // open again: had the run been left, another choice there would not have come to see this write.
        Steps order = up_to(j, k, s, step.clock);
        order.push_back(k);
        const Steps quiet = bounds_.prunes ? KnownSteps::quiet_before(s, kept_, j) : Steps{};
        const std::size_t begin = quiet.empty() ? j : quiet.front();
        std::erase_if(order, [&](std::size_t i) { return i >= begin && s.steps[i].agent == earlier.agent; });
        push(s, order, begin == j ? Change{j, f, event.by} : Change{});
      }
      if ((are_fences || (event.may_update && other.writes())) && !is_after)
        push(s, up_to(j, k, s, event.before), {k, e});
    }
  }

  Steps up_to(std::size_t k) const { return {kept_.begin(), std::ranges::lower_bound(kept_, k)}; }

  /// The steps before j, and those between j and k that led to k.
  Steps up_to(std::size_t j, std::size_t k, const State& s, const Clock& clock) const {
    Steps order;
    for (const std::size_t i : kept_)
      if (i < j || (i > j && i < k && s.steps[i].number <= clock[s.steps[i].agent])) order.push_back(i);
    return order;
  }

  TrailStep step_of(const State& s, std::size_t k) const {
    return {s.steps[k].agent / s.warps, static_cast<std::uint32_t>(s.steps[k].agent % s.warps), {}};
  }

  /// To be run later: these steps, and then the change; unless that has been run already.
  void push(const State& s, const Steps& order, const Change& change) {
    if (is_new(s, order, change)) add_item(s, order, change);
  }

  bool is_new(const State& s, const Steps& order, const Change& change) {
    return seen_.insert(graphs_.key(s, order, change)).second;
  }

  void add_item(const State& s, const Steps& order, const Change& change) {
    Item item;
    std::unordered_set<std::uint64_t> there;  // writes that have been made, by location and number
    const auto id = [](std::uint32_t location, std::uint32_t write) { return std::uint64_t{location} << 32 | write; };
    const auto place = [&](const Event& e) {
      const Location& at = grid_.views->locations()[e.location];
      const std::span<const std::uint32_t> all = at.order();
      for (std::size_t r = at.of(e.written).rank; r-- > 0;)
        if (all[r] == 0 || there.contains(id(e.location, all[r]))) return s.writer(e.location, all[r]);
      return StrongOperation{};
    };
    const auto add = [&](std::size_t k, std::size_t events) {
      TrailStep& step = item.trail.steps.emplace_back(step_of(s, k));
      for (std::size_t e = 0; e < events; ++e) {
        const Event& event = s.steps[k].events[e];
        auto& choice = step.choices.emplace_back();
        if (event.effect == Event::Effect::write)
          choice = place(event);
        else if (event.reads())
          choice = event.source;
        if (event.writes()) there.insert(id(event.location, event.written));
      }
    };
    for (const std::size_t k : order) add(k, s.steps[k].events.size());
    item.forced = item.trail.steps.size();
    if (change.step != none) {
      add(change.step, change.event);
      item.trail.steps.back().choices.push_back(change.choice);
      if (!change.may_be_vain) ++item.forced;
    }
    todo_.push_back(std::move(item));
  }

  Grid& grid_;
  const KernelInfo& info_;
  const ExplorationObservers& observers_;
  std::unordered_set<std::uint64_t> block_paths_;  ///< that `of_block_paths` have seen
  RunLimits limits_;
  const ExplorationLimits bounds_;
  const std::function<bool(const Execution&)>& visit_;
  Journal journal_;
  std::unordered_map<const Program*, std::unique_ptr<LivePlaces>> live_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< kept from run to run
  const Graphs graphs_;
  std::vector<Item> todo_;
  Steps kept_;  ///< of the last run: the steps that were not in vain
  std::unordered_set<std::uint64_t> seen_, executions_;
  KnownSteps known_steps_;
  Exploration result_;
  RaceWatch watch_;
  std::optional<SourcePlace> lane_fence_;  ///< State::lane_fence of any run
  bool is_stopped_ = false;
  bool is_given_up_ = false;  ///< of what follows from a run, a part is missing
  const double begin_ = processor_seconds();
  const volatile bool* const cancel_;  ///< from outside
  volatile bool is_over_ = false;      ///< each run ends: the time is over, or it was cancelled
  std::jthread clock_{[this](const std::stop_token& stop) { look_at_time(stop); }};  // last: it uses the above
};

}  // namespace playback

Exploration explore_grid(Grid& grid, const KernelInfo& info, const RunLimits& limits,
                         const ExplorationLimits& exploration, const std::function<bool(const Execution&)>& visit,
                         const ExplorationObservers& observers) {
  return playback::Explorer(grid, info, limits, exploration, visit, observers).run();
}

}  // namespace scanlab::vgpu
