#include "vgpu/core/explore/playback.hpp"

#include <algorithm>

namespace scanlab::vgpu {

namespace playback {

std::uint64_t State::state_of(const Warp& w, const Inst* i) {
  std::uint64_t hash = mixed(reinterpret_cast<std::uint64_t>(i), w.active);
  hash = mixed(mixed(hash, w.carry), shared_of(*w.block));
  hash = registers_of(hash, w.frame, i, w.active);
  for (const Split& s : w.waiting) {
    hash = mixed(hash, reinterpret_cast<std::uint64_t>(s.pc));
    hash = mixed(mixed(hash, s.mask), static_cast<std::uint64_t>(s.state));
    hash = registers_of(hash, s.frame, s.pc, s.mask);
  }
  for (unsigned lane = 0; lane < warp_size && w.local_written > local_start; ++lane)
    hash = mixed(hash, w.local.data() + lane * w.local_stride + local_start, w.local_written - local_start);
  return hash;
}

std::uint64_t State::registers_of(std::uint64_t hash, const Frame* frame, const Inst* i, Mask mask) {
  auto& places = (*live)[frame->program];
  if (!places) places = std::make_unique<LivePlaces>(*frame->program->source);
  for (const LivePlaces::Place& p : places->before(i->index)) {
    if (places->has_slots()) break;
    const std::byte* const at = frame->registers + p.place;
    if (p.bytes == sizeof(Mask)) {
      Mask predicate;
      std::memcpy(&predicate, at, sizeof predicate);
      hash = mixed(hash, predicate & mask);
    } else {
      const std::size_t lane_bytes = p.bytes / warp_size;
      for (const unsigned lane : lanes_in(mask)) hash = mixed(hash, at + lane * lane_bytes, lane_bytes);
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

std::uint64_t State::shared_of(const Block& block) {
  BlockState& b = blocks[block.index];
  if (std::exchange(b.hashed_at, b.changes) != b.changes) b.hash = mixed(0, block.shared.data(), block.shared.size());
  return b.hash;
}

void State::begin_step(std::size_t agent, std::uint64_t state) {
  Agent& a = agents[agent];
  Turn& step = steps.emplace_back();
  step.agent = agent;
  step.number = a.clock[agent] = ++a.steps;
  step.state = state;
  step.changes = blocks[agent / warps].changes;
  step.clock = a.clock;
  a.last = steps.size() - 1;
  a.idle.push_back(a.last);
}

void State::note_order(const Access& access) {
  const std::size_t last = agents[agent_of(access.actor.block, access.actor.warp)].last;
  if (last == none || access.order == Access::Order::weak || access.space != ptx::StateSpace::global) return;
  std::uint64_t& hash = steps[last].sync.access;
  hash = mixed(mixed(hash, static_cast<std::uint64_t>(access.order)), static_cast<std::uint64_t>(access.scope));
}

void State::end_step(std::size_t agent, std::uint64_t state) {
  if (agents[agent].last == none) return;
  Turn& step = steps[agents[agent].last];
  if (!step.after && !step.has_looked && step.changes == blocks[agent / warps].changes) step.after = state;
}

}  // namespace playback

using playback::Event;
using playback::merge;
using playback::none;
using playback::Turn;

bool Playback::may_act(Warp& w, const Inst* i) {
  const std::size_t agent = agent_of(w);
  Agent& a = agents[agent];
  // The warp's other lanes come to where they wait too: what they have to do first is not to be waited for.
  const bool others_can_go = w.pending_key != ~0u;
  if (granted != agent) {
    if (others_can_go)
      w.spin.unyielding = patience + 1;
    else
      a.is_held = true;
    return false;
  }
  const std::uint64_t before = state_of(w, i), changes = blocks[w.block->index].changes;
  end_step(agent, before);
  const auto same = std::ranges::find_if(
      a.idle, [&](std::size_t k) { return steps[k].state == before && steps[k].changes == changes; });
  if (same != a.idle.end()) {
    if (others_can_go && !a.has_yielded) {
      // They may be what these wait for.
      a.has_yielded = true;
      w.spin.unyielding = patience + 1;
      return false;
    }
    const bool is_forced = *same < forced;
    if (is_forced) redundant.emplace_back(same, a.idle.end());
    is_redundant |= is_forced && a.idle.back() < forced;
    if (!is_redundant) {
      granted = none;
      // What it had to do stays; behind that it can do something else when others have gone on.
      if (!is_forced) a.vain.assign(same, a.idle.end());
      for (auto k = same; k != a.idle.end() && !is_forced; ++k) steps[*k].is_vain = true;
      a.idle.clear();
      a.is_held = a.is_parked = true;
      a.changes_when_parked = changes;
      return false;
    }
  }
  granted = none;
  if (is_known && is_known(agent, before)) {
    is_cut = a.is_held = true;
    return false;
  }
  a.is_held = a.has_yielded = false;
  begin_step(agent, before);
  return true;
}

Guide::Pick Playback::pick(std::span<Warp* const> able) {
  following = nullptr;
  if (is_redundant || is_infeasible || is_cut || grid.views->locations().cut_off()) return {};
  const auto grant = [&](Warp* w) {
    granted = agent_of(*w);
    return Pick{w, false};
  };
  if (next < trail.steps.size()) {
    following = &trail.steps[next++];
    for (Warp* w : able)
      if (w->block->index == following->block && w->id == following->warp) {
        agent_at(*w).is_parked = false;
        return grant(w);
      }
    is_infeasible = true;
    return {};
  }
  // The warp that has made the last step goes on: so what a run adds to a trail, it adds in the order in which others
  // do.
  if (!steps.empty()) {
    const auto last = std::ranges::find(able, steps.back().agent, [&](const Warp* w) { return agent_of(*w); });
    if (last != able.end() && !agents[steps.back().agent].is_parked) return grant(*last);
  }
  for (Warp* w : able) {
    Agent& a = agent_at(*w);
    if (a.is_parked && a.changes_when_parked != blocks[w->block->index].changes) a.is_parked = false;
    if (!a.is_parked) return grant(w);
  }
  for (Warp* w : able)
    for (const std::size_t k : agent_at(*w).vain)
      for (const Event& e : steps[k].events)
        if (e.reads() && grid.views->locations()[e.location].newest() != e.read) {
          if (!journal) {  // it is shown, not explored
            agent_at(*w).is_parked = false;
            return grant(w);
          }
          to_wake = agent_of(*w);
          return {};
        }
  return {nullptr, true};
}

unsigned Playback::choose(const Question& question) {
  const std::size_t event = steps.back().events.size();
  if (!following || event >= following->choices.size() || !following->choices[event]) return 0;
  for (unsigned k = 0; k < question.writes.size(); ++k)
    if (writer(question.location, question.writes[k]).is_same_as(*following->choices[event])) return k;
  is_infeasible = true;
  return 0;
}

void Playback::happened(const Answer& answer) {
  if (steps.empty()) return;
  Turn& step = steps.back();
  Agent& a = agents[step.agent];
  Event& e = step.events.emplace_back();
  e.effect = answer.effect;
  e.may_update = answer.may_update;
  e.by = answer.by;
  e.before = step.clock;
  if (!a.thread) a.thread = answer.by.thread;
  has_lanes |= *a.thread != answer.by.thread;
  if (answer.effect == Event::Effect::fence) {
    for (const std::uint32_t k : grid.views->causality().fences_heard()) {
      const Turn& earlier = steps[fences[k]];
      if (has_lanes && earlier.number <= e.before[earlier.agent] && !lane_fence) lane_fence = answer.by.line;
    }
    fences.push_back(steps.size() - 1);
    if (last_fence != none) merge(step.clock, steps[last_fence].clock);
    last_fence = steps.size() - 1;
    a.clock = step.clock;
    return;
  }
  const Locations& locations = grid.views->locations();
  e.location = answer.location;
  e.address = locations[answer.location].address();
  e.read = answer.read;
  e.written = answer.written;
  e.chosen = answer.chosen;
  e.chosen_place = answer.chosen_place;
  for (std::size_t k = 0; k < answer.allowed.size(); ++k) {
    const std::uint32_t w = answer.allowed[k];
    const std::span<const std::byte> value = locations.value_of(e.location, w);
    e.allowed.push_back({writer(e.location, w), w, mixed(0, value.data(), value.size()), !(answer.updating >> k & 1)});
  }
  for (const std::uint32_t w : answer.placed) e.placed.push_back(writer(e.location, w));
  if (e.reads()) {
    e.source = writer(e.location, e.read);
    if (const auto from = step_of_write.find({e.location, e.read}); from != step_of_write.end())
      merge(step.clock, steps[from->second].clock);
  }
  if (e.writes()) {
    step_of_write[{e.location, e.written}] = steps.size() - 1;
    a.idle.clear();
  }
  a.clock = step.clock;
  const std::size_t at = step.events.size() - 1;
  if (following && at < following->choices.size() && following->choices[at]) {
    const StrongOperation* choice = e.choice();
    const bool is_as_said = choice && choice->is_same_as(*following->choices[at]);
    is_infeasible |= !is_as_said;
  }
}

void Playback::fence(const Actor& actor, Mask mask, Access::Scope scope) {
  const std::size_t last = agent_at(actor).last;
  if (last == none) return;
  std::uint64_t& hash = steps[last].sync.behind;
  hash = mixed(mixed(hash, mask), static_cast<std::uint64_t>(scope) + 1);
}

void Playback::warp_sync(const Actor& actor, Mask mask, WarpSync how) {
  const std::size_t last = agent_at(actor).last;
  if (last != none && how == WarpSync::orders_memory) steps[last].sync.behind = mixed(steps[last].sync.behind, mask);
}

void Playback::load(const Access& a) {
  note_order(a);
  Agent& agent = agent_at(a.actor);
  const bool is_weak = a.order == Access::Order::weak;
  if (agent.last != none && is_weak && a.space == ptx::StateSpace::global) steps[agent.last].has_looked = true;
  if (!is_weak && a.space == ptx::StateSpace::shared) merge(agent.clock, blocks[a.actor.block].shared);
}

void Playback::store(const Access& a) {
  BlockState& block = blocks[a.actor.block];
  const bool is_weak = a.order == Access::Order::weak;
  if (a.space == ptx::StateSpace::global && journal) journal->note(a);
  if (is_weak || a.space != ptx::StateSpace::global) ++block.changes;
  if (!is_weak && a.space == ptx::StateSpace::shared) merge(block.shared, agent_at(a.actor).clock);
}

void Playback::atomic(const Access& a) {
  note_order(a);
  if (a.space == ptx::StateSpace::global && journal) journal->note(a);
  if (a.space != ptx::StateSpace::shared) return;
  BlockState& block = blocks[a.actor.block];
  Agent& agent = agent_at(a.actor);
  ++block.changes;
  merge(agent.clock, block.shared);
  merge(block.shared, agent.clock);
}

void Playback::barrier_arrive(const Actor& actor, Mask, std::uint32_t id, Arrival arrival) {
  auto& barrier = blocks[actor.block].barriers[id];
  merge(barrier.arrived, agent_at(actor).clock);
  if (arrival == Arrival::waits)
    barrier.waiting.push_back(actor.warp);
  else
    ++blocks[actor.block].changes;
}

void Playback::barrier_complete(const Actor& actor, std::uint32_t id, Meeting) {
  auto& barrier = blocks[actor.block].barriers[id];
  for (const std::uint32_t warp : barrier.waiting) merge(agents[agent_of(actor.block, warp)].clock, barrier.arrived);
  barrier.waiting.clear();
  std::ranges::fill(barrier.arrived, 0);
  ++blocks[actor.block].changes;
}

}  // namespace scanlab::vgpu
