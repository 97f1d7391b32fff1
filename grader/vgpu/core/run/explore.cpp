#include "vgpu/core/run/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "vgpu/core/decode/frame_layout.hpp"
#include "vgpu/core/decode/liveness.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

constexpr std::size_t none = ~std::size_t{0};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

std::uint64_t mixed(std::uint64_t hash, const std::byte* bytes, std::size_t count) {
  for (std::size_t k = 0; k < count; k += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + k, std::min<std::size_t>(8, count - k));
    hash = mixed(hash, word);
  }
  return hash;
}

/// Of each warp, how many of its steps.
using Clock = std::vector<std::uint32_t>;

void merge(Clock& to, const Clock& from) {
  for (std::size_t k = 0; k < to.size(); ++k) to[k] = std::max(to[k], from[k]);
}

/// A lane's access.
struct Event {
  using Effect = MemoryChooser::Answer::Effect;
  Effect effect = Effect::read;
  bool is_atomic = false;
  StrongOperation by;
  std::uint32_t location = 0, read = 0, written = 0;
  Address address = 0;
  StrongOperation source;                        ///< the write that was read
  std::vector<StrongOperation> allowed, placed;  ///< what there was to choose from, the newest first
  unsigned chosen = 0, chosen_place = 0;
  Clock before;  ///< what led to it, but for what it has read

  bool writes() const { return written != 0; }
  bool reads() const { return effect == Effect::read || effect == Effect::update; }
  /// What it chose.
  const StrongOperation* choice() const {
    if (effect == Effect::write) return &placed[chosen_place];
    return reads() ? &source : nullptr;
  }
  bool chose_newest() const { return chosen == 0 && chosen_place == 0; }
};

/// A warp's strong access, and what it did up to the one after.
struct Turn {
  std::size_t agent = 0;
  std::uint32_t number = 0;  ///< of the warp's steps, from 1
  std::uint64_t state = 0;   ///< a hash of the warp's state before
  const Inst* inst = nullptr;
  bool is_vain = false;  ///< it and those after it have led back to the same state
  std::vector<Event> events;
  Clock clock;  ///< what led to it, itself included
};

/// Places in a frame of the registers that are still read.
class LivePlaces {
 public:
  explicit LivePlaces(const ptx::Function& function)
      : function_(function), flow_(control_flow(function)), liveness_(function, flow_), layout_(function) {
    has_slots_ = std::ranges::any_of(function.variables,
                                     [](const ptx::Variable& v) { return v.space == ptx::StateSpace::param; });
  }
  struct Place {
    OperandRef at = 0;
    std::uint32_t bytes = 0;
  };
  const std::vector<Place>& before(std::uint32_t instruction) {
    const auto [found, is_new] = known_.try_emplace(instruction);
    if (is_new)
      for (const std::int32_t r : liveness_.live_before(instruction)) {
        const std::uint32_t bytes = layout_.lane_bytes_of(r);
        found->second.push_back({*layout_.reg(r), bytes ? bytes * warp_size : std::uint32_t{sizeof(Mask)}});
      }
    return found->second;
  }
  bool has_slots() const { return has_slots_; }

 private:
  const ptx::Function& function_;
  ControlFlow flow_;
  Liveness liveness_;
  FrameLayout layout_;
  bool has_slots_ = false;
  std::unordered_map<std::uint32_t, std::vector<Place>> known_;
};

/// Pages of global memory as they were before they were written.
class Journal {
 public:
  explicit Journal(Memory& memory) : memory_(memory) {}

  void note(Address first, std::uint64_t bytes) {
    for (Address page = first / page_bytes; page <= (first + bytes - 1) / page_bytes; ++page) {
      if (page == last_) continue;
      last_ = page;
      const auto [at, is_new] = pages_.try_emplace(page);
      if (is_new) std::memcpy(at->second.data(), memory_.host(page * page_bytes), page_bytes);
    }
  }
  void note(const Access& a) {
    for (Mask m = a.mask; m; m &= m - 1) note(a.at(static_cast<unsigned>(std::countr_zero(m))), a.bytes);
  }
  void restore() {
    for (const auto& [page, bytes] : pages_) std::memcpy(memory_.host(page * page_bytes), bytes.data(), page_bytes);
  }
  /// Equal where memory differs in the same way from what it was.
  std::uint64_t hash() const {
    std::uint64_t all = 0;
    for (const auto& [page, bytes] : pages_) {
      const std::byte* now = memory_.host(page * page_bytes);
      if (std::memcmp(now, bytes.data(), page_bytes) != 0) all += mixed(page, now, page_bytes);
    }
    return all;
  }

 private:
  Memory& memory_;
  Address last_ = 0;
  std::unordered_map<Address, std::array<std::byte, page_bytes>> pages_;
};

}  // namespace

// --- one run ---------------------------------------------------------------------------------------------------------

struct Playback::State {
  const Grid& grid;
  const Trail& trail;
  const std::size_t forced;
  const std::size_t warps;  ///< of a block
  Journal* journal = nullptr;
  std::unordered_map<const Program*, std::unique_ptr<LivePlaces>>* live = nullptr;
  std::unordered_map<const Program*, std::unique_ptr<LivePlaces>> own_live;

  struct Agent {
    bool is_held = false;
    bool is_parked = false;
    bool has_yielded = false;  ///< lanes that would do the same again have let others of the warp go first
    std::uint64_t changes_when_parked = 0;
    std::uint32_t steps = 0;
    Clock clock;
    /// Its steps since it last did something that others or itself could notice, by number in `steps`.
    std::vector<std::size_t> idle;
    std::vector<std::size_t> vain;  ///< those that led back to the same state, when it was parked
  };
  std::vector<Agent> agents;
  struct BlockState {
    std::uint64_t changes = 0;  ///< stores that are no strong ones to global memory, and barriers
    Clock shared;               ///< of what was written to shared memory
    struct Barrier {
      Clock arrived;
      std::vector<std::uint32_t> waiting;
    };
    std::array<Barrier, barriers_per_block> barriers;
  };
  std::vector<BlockState> blocks;
  std::vector<Turn> steps;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> step_of_write;  ///< by location and write
  std::size_t last_fence = none;
  std::size_t granted = none, acting = none;
  std::size_t next = 0;                  ///< of the trail
  const TrailStep* following = nullptr;  ///< the trail's step that is being made
  bool is_infeasible = false;            ///< the trail cannot be followed
  bool is_redundant = false;
  std::size_t vain_step = none;  ///< that alone was in vain, where the run is redundant
  std::size_t to_wake = none;    ///< the run ended since all wait, but this one would see something new

  State(const Grid& g, const Trail& t, std::size_t f)
      : grid(g), trail(t), forced(f), warps((g.block_size.count() + warp_size - 1) / warp_size), live(&own_live) {
    agents.resize(warps * g.size.count());
    blocks.resize(g.size.count());
    for (Agent& a : agents) a.clock.resize(agents.size());
    for (BlockState& b : blocks) {
      b.shared.resize(agents.size());
      for (auto& barrier : b.barriers) barrier.arrived.resize(agents.size());
    }
  }

  std::size_t agent_of(std::uint64_t block, std::uint32_t warp) const { return block * warps + warp; }
  std::size_t agent_of(const Warp& w) const { return agent_of(w.block->index, w.id); }

  /// All that the warp's further way depends on, but for what it will read.
  std::uint64_t state_of(const Warp& w, const Inst* i) {
    std::uint64_t hash = mixed(reinterpret_cast<std::uint64_t>(i), w.active);
    hash = mixed(hash, w.carry);
    hash = mixed(hash, blocks[w.block->index].changes);
    hash = registers_of(hash, w.frame, i, w.active);
    for (const Split& s : w.waiting) {
      hash = mixed(hash, reinterpret_cast<std::uint64_t>(s.pc));
      hash = mixed(mixed(hash, s.mask), static_cast<std::uint64_t>(s.state));
      hash = registers_of(hash, s.frame, s.pc, s.mask);
    }
    return hash;
  }

  /// What the lanes of `mask` still read, standing at `i`.
  std::uint64_t registers_of(std::uint64_t hash, const Frame* frame, const Inst* i, Mask mask) {
    auto& places = (*live)[frame->program];
    if (!places) places = std::make_unique<LivePlaces>(*frame->program->source);
    for (const LivePlaces::Place& p : places->before(i->index)) {
      if (places->has_slots()) break;
      const std::byte* const at = frame->registers + p.at;
      if (p.bytes == sizeof(Mask)) {
        Mask predicate;
        std::memcpy(&predicate, at, sizeof predicate);
        hash = mixed(hash, predicate & mask);
      } else {
        const std::size_t lane_bytes = p.bytes / warp_size;
        for (Mask m = mask; m; m &= m - 1)
          hash = mixed(hash, at + static_cast<std::size_t>(std::countr_zero(m)) * lane_bytes, lane_bytes);
      }
    }
    // Arguments and results of calls have no such analysis, nor have those who wait for a call to return.
    if (places->has_slots()) hash = mixed(hash, frame->registers, frame->program->frame_bytes);
    for (const Frame* f = frame; f; f = f->caller) {
      hash = mixed(hash, reinterpret_cast<std::uint64_t>(f->call));
      if (f != frame) hash = mixed(hash, f->registers, f->program->frame_bytes);
    }
    return hash;
  }

  void begin_step(std::size_t agent, std::uint64_t state, const Inst* i) {
    Agent& a = agents[agent];
    Turn& step = steps.emplace_back();
    step.agent = agent;
    step.number = a.clock[agent] = ++a.steps;
    step.state = state;
    step.inst = i;
    step.clock = a.clock;
    acting = agent;
    a.idle.push_back(steps.size() - 1);
  }

  StrongOperation writer(std::uint32_t location, std::uint32_t write) const {
    return grid.views->write_of(location, write).writer;
  }
};

Playback::Playback(const Grid& grid, const Trail& trail, std::size_t forced)
    : state_(std::make_unique<State>(grid, trail, forced)) {}
Playback::~Playback() = default;

bool Playback::holds_back(const Warp& w) const {
  return state_->agents[state_->agent_of(w)].is_held;
}

bool Playback::is_pending(const Warp& w) const {
  return state_->granted == state_->agent_of(w);
}

bool Playback::has_lost_its_way() const {
  return state_->is_infeasible;
}

bool Playback::may_act(Warp& w, const Inst* i) {
  State& s = *state_;
  const std::size_t agent = s.agent_of(w);
  State::Agent& a = s.agents[agent];
  // The warp's other lanes come to where they wait too: what they have to do first is not to be waited for.
  const bool others_can_go = w.pending_key != ~0u;
  if (s.granted != agent) {
    if (others_can_go)
      w.spin.unyielding = patience + 1;
    else
      a.is_held = true;
    return false;
  }
  const std::uint64_t state = s.state_of(w, i);
  const auto same =
      std::ranges::find_if(a.idle, [&](std::size_t k) { return s.steps[k].inst == i && s.steps[k].state == state; });
  if (same != a.idle.end()) {
    if (others_can_go && !a.has_yielded) {
      // They may be what these wait for.
      a.has_yielded = true;
      w.spin.unyielding = patience + 1;
      return false;
    }
    if (*same < s.forced) {
      s.is_redundant = true;
      if (*same == a.idle.back()) s.vain_step = *same;
    } else {
      s.granted = none;
      a.vain.assign(same, a.idle.end());
      for (const std::size_t k : a.vain) s.steps[k].is_vain = true;
      a.idle.clear();
      a.is_held = a.is_parked = true;
      a.changes_when_parked = s.blocks[w.block->index].changes;
      return false;
    }
  }
  s.granted = none;
  a.is_held = a.has_yielded = false;
  s.begin_step(agent, state, i);
  return true;
}

Guide::Pick Playback::pick(std::span<Warp* const> able) {
  State& s = *state_;
  s.following = nullptr;
  if (s.is_redundant || s.is_infeasible) return {};
  const auto grant = [&](Warp* w) {
    s.granted = s.agent_of(*w);
    return Pick{w, false};
  };
  if (s.next < s.trail.steps.size()) {
    s.following = &s.trail.steps[s.next++];
    for (Warp* w : able)
      if (w->block->index == s.following->block && w->id == s.following->warp) {
        s.agents[s.agent_of(*w)].is_parked = false;
        return grant(w);
      }
    s.is_infeasible = true;
    return {};
  }
  // The warp that has made the last step goes on: so what a run adds to a trail, it adds in the order in which others
  // do.
  if (!s.steps.empty()) {
    const auto last = std::ranges::find(able, s.steps.back().agent, [&](const Warp* w) { return s.agent_of(*w); });
    if (last != able.end() && !s.agents[s.steps.back().agent].is_parked) return grant(*last);
  }
  for (Warp* w : able) {
    State::Agent& a = s.agents[s.agent_of(*w)];
    if (a.is_parked && a.changes_when_parked != s.blocks[w->block->index].changes) a.is_parked = false;
    if (!a.is_parked) return grant(w);
  }
  for (Warp* w : able)
    for (const std::size_t k : s.agents[s.agent_of(*w)].vain)
      for (const Event& e : s.steps[k].events)
        if (e.reads() && s.grid.views->order_of(e.location).back() != e.read) {
          if (!s.journal) {  // it is shown, not explored
            s.agents[s.agent_of(*w)].is_parked = false;
            return grant(w);
          }
          s.to_wake = s.agent_of(*w);
          return {};
        }
  return {nullptr, true};
}

unsigned Playback::choose(const Question& question) {
  State& s = *state_;
  const std::size_t event = s.steps.back().events.size();
  if (!s.following || event >= s.following->choices.size() || !s.following->choices[event]) return 0;
  for (unsigned k = 0; k < question.writes.size(); ++k)
    if (s.writer(question.location, question.writes[k]).is_same_as(*s.following->choices[event])) return k;
  s.is_infeasible = true;
  return 0;
}

void Playback::happened(const Answer& answer) {
  State& s = *state_;
  if (s.acting == none) return;
  Turn& step = s.steps.back();
  State::Agent& a = s.agents[step.agent];
  Event& e = step.events.emplace_back();
  e.effect = answer.effect;
  e.is_atomic = answer.is_atomic;
  e.by = answer.by;
  e.before = step.clock;
  if (answer.effect == Event::Effect::fence) {
    if (s.last_fence != none) merge(step.clock, s.steps[s.last_fence].clock);
    s.last_fence = s.steps.size() - 1;
    a.clock = step.clock;
    return;
  }
  const Views& views = *s.grid.views;
  e.location = answer.location;
  e.address = views.address_of(answer.location);
  e.read = answer.read;
  e.written = answer.written;
  e.chosen = answer.chosen;
  e.chosen_place = answer.chosen_place;
  for (const std::uint32_t w : answer.allowed) e.allowed.push_back(s.writer(e.location, w));
  for (const std::uint32_t w : answer.placed) e.placed.push_back(s.writer(e.location, w));
  if (e.reads()) {
    e.source = s.writer(e.location, e.read);
    if (const auto from = s.step_of_write.find({e.location, e.read}); from != s.step_of_write.end())
      merge(step.clock, s.steps[from->second].clock);
  }
  if (e.writes()) {
    s.step_of_write[{e.location, e.written}] = s.steps.size() - 1;
    a.idle.clear();
  }
  a.clock = step.clock;
  const std::size_t at = step.events.size() - 1;
  if (s.following && at < s.following->choices.size() && s.following->choices[at]) {
    const StrongOperation* choice = e.choice();
    const bool is_as_said = choice && choice->is_same_as(*s.following->choices[at]);
    s.is_infeasible |= !is_as_said;
  }
}

void Playback::load(const Access& a) {
  if (a.space != ptx::StateSpace::shared || a.order == Access::Order::weak) return;
  merge(state_->agents[state_->agent_of(a.actor.block, a.actor.warp)].clock, state_->blocks[a.actor.block].shared);
}

void Playback::store(const Access& a) {
  State& s = *state_;
  State::BlockState& block = s.blocks[a.actor.block];
  const bool is_weak = a.order == Access::Order::weak;
  if (a.space == ptx::StateSpace::global && s.journal) s.journal->note(a);
  if (is_weak || a.space != ptx::StateSpace::global) ++block.changes;
  if (!is_weak && a.space == ptx::StateSpace::shared)
    merge(block.shared, s.agents[s.agent_of(a.actor.block, a.actor.warp)].clock);
}

void Playback::atomic(const Access& a) {
  State& s = *state_;
  if (a.space == ptx::StateSpace::global && s.journal) s.journal->note(a);
  if (a.space != ptx::StateSpace::shared) return;
  State::BlockState& block = s.blocks[a.actor.block];
  State::Agent& agent = s.agents[s.agent_of(a.actor.block, a.actor.warp)];
  ++block.changes;
  merge(agent.clock, block.shared);
  merge(block.shared, agent.clock);
}

void Playback::barrier_arrive(const Actor& actor, Mask, std::uint32_t id, Arrival arrival) {
  State& s = *state_;
  auto& barrier = s.blocks[actor.block].barriers[id];
  merge(barrier.arrived, s.agents[s.agent_of(actor.block, actor.warp)].clock);
  if (arrival == Arrival::waits) barrier.waiting.push_back(actor.warp);
}

void Playback::barrier_complete(const Actor& actor, std::uint32_t id, Meeting) {
  State& s = *state_;
  auto& barrier = s.blocks[actor.block].barriers[id];
  for (const std::uint32_t warp : barrier.waiting)
    merge(s.agents[s.agent_of(actor.block, warp)].clock, barrier.arrived);
  barrier.waiting.clear();
  std::ranges::fill(barrier.arrived, 0);
  ++s.blocks[actor.block].changes;
}

// --- all runs --------------------------------------------------------------------------------------------------------

class Explorer {
 public:
  Explorer(Grid& grid, const RunLimits& limits, const ExplorationLimits& bounds,
           const std::function<bool(const Execution&)>& visit)
      : grid_(grid), limits_(limits), bounds_(bounds), visit_(visit), journal_(*grid.memory) {
    limits_.kept_blocks = &blocks_;
    BlockNames names(grid.size.count());
    std::iota(names.begin(), names.end(), std::uint64_t{0});
    const bool are_alike = grid.image->alike_blocks && names.size() <= most_alike;
    do block_names_.push_back(names);
    while (are_alike && std::next_permutation(names.begin(), names.end()));
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
      const Item item = std::move(todo_.back());
      todo_.pop_back();
      run_one(item);
    }
    journal_.restore();
    grid_.executed = executed;
    if (is_stopped_) result_.why_not = "stopped";
    result_.is_exhaustive = result_.why_not.empty();
    return result_;
  }

 private:
  using State = Playback::State;
  struct Item {
    Trail trail;
    std::size_t forced = 0;
  };
  /// By block.
  using BlockNames = std::vector<std::uint64_t>;
  /// Blocks of which any two may be taken for each other; of more there would be too many orders.
  static constexpr std::size_t most_alike = 5;
  /// A choice of one event instead of its own.
  struct Change {
    std::size_t step = none;  ///< which is made last
    std::size_t event = 0;
    std::optional<StrongOperation> choice;  ///< nothing: as it comes
  };

  void run_one(const Item& item) {
    journal_.restore();
    ++result_.runs;
    Playback playback(grid_, item.trail, item.forced);
    State& s = *playback.state_;
    s.journal = &journal_;
    s.live = &live_;
    Views views(*grid_.memory, playback, grid_.block_size.count());
    const std::span<Observer* const> before = grid_.observers;
    Observer* const observers[] = {&playback, &views};
    grid_.set_observers(observers);
    grid_.views = &views;
    grid_.executed = grid_.slept = 0;
    RunLimits limits = limits_;
    limits.guide = &playback;
    limits.chooser = &playback;
    limits.helper = nullptr;
    const std::optional<Fault> fault = run_grid(grid_, {Schedule::Order::weak, 0, {}}, limits);
    result_.warp_instructions += grid_.executed;
    if (s.is_redundant && s.vain_step != none) remember_vain(s);
    if (!s.is_infeasible && !s.is_redundant) derive(s, fault);
    grid_.views = nullptr;
    grid_.set_observers(before);
  }

  void derive(State& s, const std::optional<Fault>& fault) {
    kept_.clear();
    for (std::size_t k = 0; k < s.steps.size(); ++k)
      if (!s.steps[k].is_vain) kept_.push_back(k);
    // What a warp that waits has read in vain could have been another old value.
    for (const State::Agent& a : s.agents)
      if (a.is_parked)
        for (const std::size_t k : a.vain) choose_otherwise(s, k);
    if (s.to_wake != none) {
      std::vector<std::size_t> order = kept_;
      const State::Agent& a = s.agents[s.to_wake];
      push(s, order, {a.vain.front(), 0, std::nullopt}, Soft::yes);
      return;
    }
    // An atomic that changes nothing reads the newest write at its time: so it matters what came before it.
    depends_on_order_ = std::ranges::any_of(kept_, [&](std::size_t k) {
      return std::ranges::any_of(s.steps[k].events, [](const Event& e) { return e.is_atomic && !e.writes(); });
    });
    for (const std::size_t k : kept_) choose_otherwise(s, k);
    for (const std::size_t k : kept_)
      for (std::size_t e = 0; e < s.steps[k].events.size(); ++e) come_before(s, k, e);
    if (!executions_.insert(key(s, kept_, {})).second) return;
    ++result_.executions;
    Trail trail;
    for (const std::size_t k : kept_) {
      TrailStep& step = trail.steps.emplace_back(step_of(s, k));
      for (const Event& e : s.steps[k].events)
        step.choices.push_back(e.chose_newest() || !e.choice() ? std::nullopt : std::optional(*e.choice()));
      while (!step.choices.empty() && !step.choices.back()) step.choices.pop_back();
    }
    is_stopped_ = !visit_({fault, trail, journal_.hash()});
  }

  /// What led to step k, and what its events choose; its thread then does the same, whatever else there is.
  std::uint64_t decision(const State& s, std::size_t k, const std::vector<StrongOperation>& choices) const {
    const Clock& before = s.steps[k].events.front().before;
    std::vector<std::size_t> past;
    for (std::size_t i = 0; i < k; ++i)
      if (!s.steps[i].is_vain && s.steps[i].number <= before[s.steps[i].agent]) past.push_back(i);
    std::uint64_t hash = mixed(key(s, past, {}, block_names_.front()), s.steps[k].agent);
    for (const StrongOperation& c : choices) hash = mixed(mixed(mixed(hash, c.block), c.thread), c.number);
    return hash;
  }

  /// A thread that reads this has then come back to where it was.
  void remember_vain(const State& s) {
    const Turn& step = s.steps[s.vain_step];
    std::vector<StrongOperation> choices;
    for (const Event& e : step.events) {
      if (e.effect != Event::Effect::read) return;
      choices.push_back(e.source);
    }
    if (!choices.empty()) vain_.insert(decision(s, s.vain_step, choices));
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
    return vain_.contains(decision(s, k, choices));
  }

  /// The same up to step k, one of whose events chooses something else.
  void choose_otherwise(const State& s, std::size_t k) {
    std::vector<std::size_t> order;
    for (const std::size_t i : kept_)
      if (i < k) order.push_back(i);
    const Turn& step = s.steps[k];
    for (std::size_t e = 0; e < step.events.size(); ++e) {
      const Event& event = step.events[e];
      if (!event.choice()) continue;
      // What it has chosen need not be tried again: this run is one that begins so.
      seen_.insert(mixed(key(s, order, {k, e, *event.choice()}), static_cast<std::uint64_t>(Soft::no)));
      const auto& from = event.effect == Event::Effect::write ? event.placed : event.allowed;
      for (const StrongOperation& other : from)
        if (!other.is_same_as(*event.choice()) && !is_known_as_vain(s, k, e, other))
          push(s, order, {k, e, other}, Soft::no);
    }
  }

  /// The event comes before others that it conflicts with, and did not depend on.
  void come_before(const State& s, std::size_t k, std::size_t e) {
    const Turn& step = s.steps[k];
    const Event& event = step.events[e];
    for (const std::size_t j : kept_) {
      if (j >= k) break;
      const Turn& earlier = s.steps[j];
      if (earlier.agent == step.agent) continue;
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
  }

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
    if (!seen_.insert(mixed(key(s, order, change), static_cast<std::uint64_t>(soft))).second) return;
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

  /// The graph of these steps, and the change behind them: where blocks are alike, the same whichever is which.
  std::uint64_t key(const State& s, const std::vector<std::size_t>& order, const Change& change) const {
    if (block_names_.size() > 1)
      if (const auto names = names_by_writes(s, order, change)) return key(s, order, change, *names);
    std::uint64_t least = ~std::uint64_t{0};
    for (const BlockNames& names : block_names_) least = std::min(least, key(s, order, change, names));
    return least;
  }

  /// Names for blocks that are alike, by the first of the writes that each has made: the same for graphs that differ in
  /// the blocks' names alone. Nothing where several have only read so far.
  std::optional<BlockNames> names_by_writes(const State& s, const std::vector<std::size_t>& order,
                                            const Change& change) const {
    using Place = std::pair<Address, std::uint32_t>;  // in modification order
    constexpr Place nowhere{~Address{0}, 0};
    std::vector<std::pair<Place, std::size_t>> firsts;
    for (std::size_t b = 0; b < s.blocks.size(); ++b) firsts.emplace_back(nowhere, b);
    std::vector<bool> has_acted(s.blocks.size());
    for (const std::size_t k : order) {
      const std::size_t block = s.steps[k].agent / s.warps;
      has_acted[block] = true;
      for (const Event& e : s.steps[k].events)
        if (e.writes())
          firsts[block].first =
              std::min<Place>(firsts[block].first, {e.address, grid_.views->write_of(e.location, e.written).rank});
    }
    if (change.step != none) has_acted[s.steps[change.step].agent / s.warps] = true;
    const auto only_reads = [&](const auto& first) { return first.first == nowhere && has_acted[first.second]; };
    if (std::ranges::count_if(firsts, only_reads) > 1) return std::nullopt;
    std::ranges::sort(firsts, {}, [&](const auto& f) { return std::tuple(f.first, !has_acted[f.second], f.second); });
    BlockNames names(firsts.size());
    for (std::size_t k = 0; k < firsts.size(); ++k) names[firsts[k].second] = k;
    return names;
  }

  std::uint64_t key(const State& s, const std::vector<std::size_t>& order, const Change& change,
                    const BlockNames& names) const {
    const auto own = [&](std::size_t agent) { return names[agent / s.warps] * s.warps + agent % s.warps; };
    const auto with = [&](std::uint64_t hash, const StrongOperation& o) {
      return mixed(mixed(mixed(hash, o.is_initial() ? o.block : names[o.block]), o.thread), o.number);
    };
    std::vector<std::uint64_t> of_agent(s.agents.size());
    std::map<std::uint32_t, std::vector<std::uint32_t>> ranks;  // of the writes to a location
    std::uint64_t fences = 0;
    for (const std::size_t k : order) {
      const Turn& step = s.steps[k];
      std::uint64_t& hash = of_agent[own(step.agent)];
      for (const Event& e : step.events) {
        hash = mixed(mixed(hash, static_cast<std::uint64_t>(e.effect)), e.address);
        if (e.reads()) hash = with(hash, e.source);
        if (e.writes()) ranks[e.location].push_back(grid_.views->write_of(e.location, e.written).rank);
        if (e.effect == Event::Effect::fence) fences = mixed(mixed(fences, own(step.agent) + 1), e.by.thread);
      }
      hash = mixed(hash, 1);
    }
    std::uint64_t all = mixed(1, fences);
    for (std::size_t k = 0; k < of_agent.size(); ++k) all += mixed(k + 1, of_agent[k]);
    for (auto& [location, in] : ranks) {
      std::ranges::sort(in);
      std::uint64_t hash = grid_.views->address_of(location);
      for (const std::uint32_t rank : in) hash = with(hash, s.writer(location, grid_.views->order_of(location)[rank]));
      all += mixed(hash, 3);
    }
    if (change.step == none) return all;
    const Turn& last = s.steps[change.step];
    all = mixed(all, own(last.agent));
    for (std::size_t e = 0; e < change.event; ++e)
      if (const StrongOperation* choice = last.events[e].choice()) all = with(all, *choice);
    all = mixed(all, change.event);
    return change.choice ? with(all, *change.choice) : mixed(all, 7);
  }

  Grid& grid_;
  RunLimits limits_;
  const ExplorationLimits bounds_;
  const std::function<bool(const Execution&)>& visit_;
  Journal journal_;
  std::unordered_map<const Program*, std::unique_ptr<LivePlaces>> live_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< kept from run to run
  std::vector<BlockNames> block_names_;         ///< all that the blocks could have
  std::vector<Item> todo_;
  std::vector<std::size_t> kept_;  ///< of the last run: the steps that were not in vain
  std::unordered_set<std::uint64_t> seen_, executions_, vain_;
  Exploration result_;
  bool depends_on_order_ = false;  ///< the last run was no function of its graph alone
  bool is_stopped_ = false;
};

Exploration explore_grid(Grid& grid, const RunLimits& limits, const ExplorationLimits& exploration,
                         const std::function<bool(const Execution&)>& visit) {
  return Explorer(grid, limits, exploration, visit).run();
}

}  // namespace scanlab::vgpu
