#include "vgpu/core/run/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "vgpu/core/run/graphs.hpp"
#include "vgpu/core/run/playback_state.hpp"

namespace scanlab::vgpu {

using playback::Clock;
using playback::Event;
using playback::Journal;
using playback::LivePlaces;
using playback::merge;
using playback::mixed;
using playback::none;
using playback::Turn;

class Explorer {
 public:
  Explorer(Grid& grid, const RunLimits& limits, const ExplorationLimits& bounds,
           const std::function<bool(const Execution&)>& visit)
      : grid_(grid), limits_(limits), bounds_(bounds), visit_(visit), journal_(*grid.memory), graphs_(grid) {
    limits_.kept_blocks = &blocks_;
  }

  Exploration run() {
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t executed = grid_.executed;
    todo_.push_back({});
    while (!todo_.empty() && !is_stopped_) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      const char* why = nullptr;
      if (result_.runs >= bounds_.runs) why = "as many runs as allowed";
      if (elapsed.count() > bounds_.seconds) why = "out of time";
      if (result_.warp_instructions >= bounds_.warp_instructions) why = "too many";
      if (limits_.cancel && *limits_.cancel) why = "cancelled";
      if (why) result_.why_not = fmt::format("{}: there are more than {} executions", why, result_.executions);
      if (!result_.why_not.empty()) break;
      Item item = std::move(todo_.back());
      todo_.pop_back();
      if (item.put_off)
        take_up(*item.put_off);
      else if (!item.sames || !found(*item.sames, item.forced - 1))
        run_one(std::make_shared<Run>(grid_, std::move(item)));
    }
    journal_.restore();
    grid_.executed = executed;
    if (is_stopped_) result_.why_not = "stopped";
    result_.is_exhaustive = result_.why_not.empty();
    return result_;
  }

 private:
  using State = Playback::State;
  /// A warp's state before a step, and from which of its steps on its block had changed nothing.
  struct Reached {
    std::uint64_t state = 0;
    std::size_t quiet_from = 0;
  };
  /// A run comes to the same as another at a step, if that one is known: with an older write read by one of its events,
  /// its warp had the same state there.
  struct Same {
    std::size_t place = 0;    ///< of the step in kept_
    std::uint64_t older = 0;  ///< the graph before it, with the older write
    Reached reached;
    bool is_local = false;  ///< so it is whatever the other warps do
  };
  using Sames = std::vector<Same>;
  enum class Past : bool { own, of_writes };  ///< of a step; with what led to the writes that it reads
  struct Run;
  /// What is to be run, or has been run and put off.
  struct Item {
    Trail trail = {};
    std::size_t forced = 0;
    bool is_second = false;                   ///< it had been put off
    std::shared_ptr<const Sames> sames = {};  ///< of the run that it begins like
    std::shared_ptr<Run> put_off = {};
  };
  struct Run {
    Run(Grid& grid, Item what)
        : item(std::move(what)),
          playback(grid, item.trail, item.forced),
          views(*grid.memory, playback, grid.block_size.count()) {}

    const Item item;
    Playback playback;
    Views views;
    std::shared_ptr<const Sames> sames;
  };
  void run_one(const std::shared_ptr<Run>& run) {
    journal_.restore();
    ++result_.runs;
    State& s = *run->playback.state_;
    s.journal = &journal_;
    s.live = &live_;
    const std::span<Observer* const> before = grid_.observers;
    Observer* const observers[] = {&run->playback, &run->views};
    grid_.set_observers(observers);
    grid_.views = &run->views;
    grid_.executed = grid_.slept = 0;
    RunLimits limits = limits_;
    limits.guide = &run->playback;
    limits.chooser = &run->playback;
    limits.helper = nullptr;
    const std::optional<Fault> fault = run_grid(grid_, {Schedule::Order::weak, 0, {}}, limits);
    result_.warp_instructions += grid_.executed;
    if (!s.redundant.empty() && !s.is_infeasible)
      derive_from_redundant(s, run->item.forced);
    else if (!s.is_infeasible)
      derive(run, fault);
    grid_.views = nullptr;
    grid_.set_observers(before);
  }

  /// A loop has come back to where it was, though some of its steps had been forced. What it read by itself, behind
  /// those, could have been something else, or something later; and the run without the loop is one, too.
  void derive_from_redundant(const State& s, std::size_t forced) {
    keep_steps(s);
    std::vector<std::size_t> without = kept_;
    for (const std::vector<std::size_t>& vain : s.redundant) {
      std::erase_if(without, [&](std::size_t k) { return std::ranges::binary_search(vain, k); });
      remember_vain(s, vain.back(), Past::own);
      for (const std::size_t k : vain)
        if (k >= forced) {
          choose_otherwise(s, k, up_to(k));
          for (const std::size_t later : kept_)
            for (std::size_t e = 0; later > k && e < s.steps[later].events.size(); ++e) come_before(s, later, e, k);
        }
    }
    push(s, without, {}, Soft::no);
  }

  /// Of a run that had been put off: what led to where it is left; or the run again, for memory as at its end.
  void take_up(Run& run) {
    State& s = *run.playback.state_;
    grid_.views = &run.views;
    keep_steps(s);
    if (leaves(s, *run.sames)) {
      derive_others(s);
    } else {
      Item again{run.item.trail, run.item.forced, true, nullptr};
      run_one(std::make_shared<Run>(grid_, std::move(again)));
    }
    grid_.views = nullptr;
  }

  void keep_steps(const State& s) {
    kept_.clear();
    for (std::size_t k = 0; k < s.steps.size(); ++k)
      if (!s.steps[k].is_vain) kept_.push_back(k);
  }

  void derive_others(const State& s) {
    for (const std::size_t k : kept_)
      for (std::size_t e = 0; e < s.steps[k].events.size(); ++e)
        for (const std::size_t j : kept_)
          if (j < k) come_before(s, k, e, j);
    for (const std::size_t k : kept_ | std::views::reverse) choose_otherwise(s, k, up_to(k));
  }

  void derive(const std::shared_ptr<Run>& run, const std::optional<Fault>& fault) {
    State& s = *run->playback.state_;
    keep_steps(s);
    // What a warp that waits has read in vain could have been another old value.
    for (const State::Agent& a : s.agents)
      if (a.is_parked)
        for (auto k = a.vain.begin(); k != a.vain.end(); ++k) {
          std::vector<std::size_t> order = up_to(*k);
          order.insert(order.end(), a.vain.begin(), k);
          std::ranges::sort(order);
          choose_otherwise(s, *k, order);
        }
    if (s.to_wake != none) {
      std::vector<std::size_t> order = kept_;
      const State::Agent& a = s.agents[s.to_wake];
      push(s, order, {a.vain.front(), 0, std::nullopt}, Soft::yes);
      return;
    }
    // An atomic that changes nothing reads the newest write at its time: so it matters what came before it.
    depends_on_order_ = std::ranges::any_of(
        kept_, [&](std::size_t k) { return std::ranges::any_of(s.steps[k].events, &Event::changes_nothing); });
    result_.assumes_newest |= depends_on_order_;
    if (depends_on_order_ && merges_) return begin_without_merging();
    bool is_left = false;
    if (merges_) {
      run->sames = std::make_shared<const Sames>(sames_of(s));
      is_left = leaves(s, *run->sames);
      if (!is_left && !run->item.is_second && is_put_off(s, run)) return;
    }
    derive_others(s);
    if (is_left) return;
    const std::uint64_t memory = journal_.hash();
    if (!executions_.insert(mixed(graphs_.key(s, kept_, {}), depends_on_order_ ? memory : 0)).second) return;
    ++result_.executions;
    Trail trail;
    for (const std::size_t k : kept_) {
      TrailStep& step = trail.steps.emplace_back(step_of(s, k));
      for (const Event& e : s.steps[k].events)
        step.choices.push_back(e.chose_newest() || !e.choice() ? std::nullopt : std::optional(*e.choice()));
      while (!step.choices.empty() && !step.choices.back()) step.choices.pop_back();
    }
    is_stopped_ = !visit_({fault, trail, memory});
  }

  /// Where what an atomic reads depends on when it comes, the past is more than a graph.
  void begin_without_merging() {
    merges_ = false;
    vain_.clear(), seen_.clear(), states_.clear();
    todo_.assign(1, {});
  }

  /// Notes the warps' states before their steps. Returns of each step how many of the same warp come before it.
  std::vector<std::size_t> note_states(const State& s) {
    std::vector<std::size_t> before, quiet(s.agents.size()), own(s.agents.size());
    std::vector<std::uint64_t> changes(s.agents.size(), ~std::uint64_t{0});
    for (const std::size_t j : kept_) {
      const Turn& step = s.steps[j];
      if (std::exchange(changes[step.agent], step.changes) != step.changes) quiet[step.agent] = own[step.agent];
      before.push_back(own[step.agent]++);
      states_.try_emplace(graph_before(s, j), Reached{step.state, quiet[step.agent]});
    }
    return before;
  }

  /// Different reads may come to the same: a poll was too early, a status was read in half, or the sum of a tile's
  /// aggregate and what is before it is its prefix. If a read could have returned an older write instead, and that
  /// leads the warp to the same state at a later step, then whatever may follow may follow there too, for who has read
  /// the older one may still read all that come later. Here is where it could turn out so.
  Sames sames_of(State& s) {
    const std::vector<std::size_t> before = note_states(s);
    Sames sames;
    for (std::size_t at = 0; at < kept_.size(); ++at) {
      Turn& step = s.steps[kept_[at]];
      for (Event& e : step.events) {
        if (e.effect != Event::Effect::read || e.is_atomic) continue;
        for (const StrongOperation& older : older_writes(e)) {
          const StrongOperation read = std::exchange(e.source, older);
          for (std::size_t later = at + 1; later < kept_.size(); ++later) {
            const Turn& end = s.steps[kept_[later]];
            if (end.agent != step.agent) continue;
            if (end.changes != step.changes) break;
            sames.push_back({later,
                             graph_before(s, kept_[later]),
                             {end.state, before[at]},
                             !end.events.empty() && is_past(s, older, e.location, end.events.front().before)});
            if (std::ranges::any_of(end.events, &Event::writes)) break;
          }
          e.source = read;
        }
      }
    }
    std::ranges::sort(sames, {}, &Same::place);
    return sames;
  }

  /// The first that has turned out to be true, of those up to a place; nullptr: none.
  const Same* found(const Sames& sames, std::size_t place) const {
    for (const Same& one : sames) {
      if (one.place > place) break;
      const auto known = states_.find(one.older);
      if (known != states_.end() && known->second.state == one.reached.state &&
          known->second.quiet_from <= one.reached.quiet_from)
        return &one;
    }
    return nullptr;
  }

  /// Runs that read older writes come first: then it is known whether this one comes to the same.
  bool is_put_off(const State& s, const std::shared_ptr<Run>& run) {
    const std::size_t before = todo_.size();
    for (const std::size_t k : kept_ | std::views::reverse)
      for (std::size_t e = s.steps[k].events.size(); e-- > 0;)
        if (const Event& event = s.steps[k].events[e]; event.effect == Event::Effect::read && !event.is_atomic)
          for (const StrongOperation& older : older_writes(event)) {
            if (is_known_as_vain(s, k, e, older)) continue;
            const std::size_t there = todo_.size();
            push(s, up_to(k), {k, e, older}, Soft::no);
            if (todo_.size() > there) todo_.back().sames = run->sames;
          }
    if (todo_.size() == before) return false;
    run->views.forget_threads();
    todo_.insert(todo_.begin() + static_cast<std::ptrdiff_t>(before), Item{.put_off = run});
    return true;
  }

  /// Leaves the run where it comes to the same as another: what comes behind it goes out of kept_.
  bool leaves(const State& s, const Sames& sames) {
    const Same* const same = found(sames, kept_.size());
    if (!same) return false;
    if (same->is_local) remember_vain(s, last_before(s, same->place), Past::of_writes);
    kept_.resize(same->place);
    return true;
  }

  /// The warp's step before the one at this place in kept_.
  std::size_t last_before(const State& s, std::size_t place) const {
    const std::size_t agent = s.steps[kept_[place]].agent;
    while (s.steps[kept_[--place]].agent != agent) {
    }
    return kept_[place];
  }

  /// The step of a write that is no initial value.
  const Turn* maker(const State& s, const StrongOperation& write, std::uint32_t location) const {
    if (write.is_initial()) return nullptr;
    for (const std::uint32_t w : grid_.views->order_of(location))
      if (s.writer(location, w).is_same_as(write))
        if (const auto made = s.step_of_write.find({location, w}); made != s.step_of_write.end())
          return &s.steps[made->second];
    return nullptr;
  }

  /// Is the write in this past?
  bool is_past(const State& s, const StrongOperation& write, std::uint32_t location, const Clock& past) const {
    if (write.is_initial()) return true;
    const Turn* const by = maker(s, write, location);
    return by && by->number <= past[by->agent];
  }

  /// Those that a read could have returned, and from which its thread would have known no more than from its own.
  std::vector<StrongOperation> older_writes(const Event& e) const {
    const Views& views = *grid_.views;
    const std::span<const std::uint32_t> order = views.order_of(e.location);
    const LocationWrite& own = views.write_of(e.location, e.read);
    std::vector<StrongOperation> all;
    for (std::uint32_t rank = own.rank; rank-- > 0;) {
      const LocationWrite& w = views.write_of(e.location, order[rank]);
      const auto is_it = [&](const StrongOperation& o) { return o.is_same_as(w.writer); };
      if (std::ranges::any_of(e.allowed, is_it) && views.carries_no_more(w, own)) all.push_back(w.writer);
    }
    return all;
  }

  /// The graph of the steps before k, and whose step k is.
  std::uint64_t graph_before(const State& s, std::size_t k) const {
    return graphs_.key(s, up_to(k), {k, 0, std::nullopt});
  }

  /// What led to step k, and what its events choose; its thread then does the same, whatever else there is.
  std::uint64_t decision(const State& s, std::size_t k, const std::vector<StrongOperation>& choices, Past what) const {
    Clock before = s.steps[k].events.front().before;
    if (what == Past::of_writes)
      for (std::size_t e = 0; e < choices.size(); ++e)
        if (const Turn* by = maker(s, choices[e], s.steps[k].events[e].location)) merge(before, by->clock);
    std::vector<std::size_t> past;
    for (std::size_t i = 0; i < k; ++i)
      if (!s.steps[i].is_vain && s.steps[i].number <= before[s.steps[i].agent]) past.push_back(i);
    std::uint64_t hash = mixed(graphs_.key_with_names(s, past), s.steps[k].agent);
    hash = mixed(hash, static_cast<std::uint64_t>(what));
    for (const StrongOperation& c : choices) hash = mixed(mixed(mixed(hash, c.block), c.thread), c.number);
    return hash;
  }

  /// A thread that reads this has then come back to where it was.
  void remember_vain(const State& s, std::size_t k, Past what) {
    const Turn& step = s.steps[k];
    std::vector<StrongOperation> choices;
    for (const Event& e : step.events) {
      if (e.effect != Event::Effect::read) return;
      choices.push_back(e.source);
    }
    if (!choices.empty()) vain_.insert(decision(s, k, choices, what));
  }

  /// Is it known that step k is in vain when its event e chooses `other`, and those behind it the newest?
  bool is_known_as_vain(const State& s, std::size_t k, std::size_t e, const StrongOperation& other) const {
    if (vain_.empty()) return false;
    std::vector<StrongOperation> choices;
    for (std::size_t i = 0; i < s.steps[k].events.size(); ++i) {
      const Event& event = s.steps[k].events[i];
      if (event.effect != Event::Effect::read) return false;
      choices.push_back(i < e ? event.source : i == e ? other : event.allowed.front());
    }
    return vain_.contains(decision(s, k, choices, Past::own)) ||
           vain_.contains(decision(s, k, choices, Past::of_writes));
  }

  /// These steps, and then step k, one of whose events chooses something else.
  void choose_otherwise(const State& s, std::size_t k, const std::vector<std::size_t>& order) {
    const Turn& step = s.steps[k];
    for (std::size_t e = step.events.size(); e-- > 0;) {
      const Event& event = step.events[e];
      if (!event.choice()) continue;
      // What it has chosen need not be tried again: this run is one that begins so.
      seen_.insert(mixed(graphs_.key(s, order, {k, e, *event.choice()}), static_cast<std::uint64_t>(Soft::no)));
      const auto& from = event.effect == Event::Effect::write ? event.placed : event.allowed;
      for (const StrongOperation& other : from)
        if (!other.is_same_as(*event.choice()) && !is_known_as_vain(s, k, e, other))
          push(s, order, {k, e, other}, Soft::no);
    }
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
        // The earlier one reads what the later one writes.
        std::vector<std::size_t> order = up_to(j, k, s, step.clock);
        order.push_back(k);
        push(s, order, {j, f, event.by}, Soft::no);
        if (depends_on_order_) {
          order = without(s, j, k);
          order.push_back(k);
          push(s, order, {j, f, event.by}, Soft::no);
        }
      }
      if ((are_fences || (event.is_atomic && other.writes())) && !is_after) {
        push(s, up_to(j, k, s, event.before), {k, e, std::nullopt}, Soft::no);
        if (depends_on_order_ && !is_after_step) push(s, without(s, j, k), {k, e, std::nullopt}, Soft::no);
      }
    }
  }

  std::vector<std::size_t> up_to(std::size_t k) const { return {kept_.begin(), std::ranges::lower_bound(kept_, k)}; }

  /// The steps before j, and those between j and k that led to k.
  std::vector<std::size_t> up_to(std::size_t j, std::size_t k, const State& s, const Clock& clock) const {
    std::vector<std::size_t> order;
    for (const std::size_t i : kept_)
      if (i < j || (i > j && i < k && s.steps[i].number <= clock[s.steps[i].agent])) order.push_back(i);
    return order;
  }

  /// The steps before k but j and those to which j led.
  std::vector<std::size_t> without(const State& s, std::size_t j, std::size_t k) const {
    std::vector<std::size_t> order;
    for (const std::size_t i : kept_)
      if (i < k && s.steps[i].clock[s.steps[j].agent] < s.steps[j].number) order.push_back(i);
    return order;
  }

  TrailStep step_of(const State& s, std::size_t k) const {
    TrailStep step;
    step.block = s.steps[k].agent / s.warps;
    step.warp = static_cast<std::uint32_t>(s.steps[k].agent % s.warps);
    return step;
  }

  enum class Soft : bool { no, yes };
  /// To be run later: these steps, and then the change; unless that has been run already.
  void push(const State& s, const std::vector<std::size_t>& order, const Change& change, Soft soft) {
    if (!seen_.insert(mixed(graphs_.key(s, order, change), static_cast<std::uint64_t>(soft))).second) return;
    Item item;
    std::unordered_set<std::uint64_t> there;  // writes that have been made, by location and number
    const auto id = [](std::uint32_t location, std::uint32_t write) { return std::uint64_t{location} << 32 | write; };
    const auto place = [&](const Event& e) {
      const std::span<const std::uint32_t> all = grid_.views->order_of(e.location);
      for (std::size_t r = grid_.views->write_of(e.location, e.written).rank; r-- > 0;)
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
      if (soft == Soft::no) ++item.forced;
    }
    todo_.push_back(std::move(item));
  }

  Grid& grid_;
  RunLimits limits_;
  const ExplorationLimits bounds_;
  const std::function<bool(const Execution&)>& visit_;
  Journal journal_;
  std::unordered_map<const Program*, std::unique_ptr<LivePlaces>> live_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< kept from run to run
  const Graphs graphs_;
  std::vector<Item> todo_;
  std::vector<std::size_t> kept_;  ///< of the last run: the steps that were not in vain
  std::unordered_set<std::uint64_t> seen_, executions_, vain_;
  std::unordered_map<std::uint64_t, Reached> states_;  ///< by the graph before the step
  Exploration result_;
  bool depends_on_order_ = false;  ///< the last run was no function of its graph alone
  bool merges_ = bounds_.merges;
  bool is_stopped_ = false;
};

Exploration explore_grid(Grid& grid, const RunLimits& limits, const ExplorationLimits& exploration,
                         const std::function<bool(const Execution&)>& visit) {
  return Explorer(grid, limits, exploration, visit).run();
}

}  // namespace scanlab::vgpu
