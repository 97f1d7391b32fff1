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
  acting = agent;
  a.last = steps.size() - 1;
  a.idle.push_back(a.last);
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
using playback::State;
using playback::Turn;

bool Playback::may_act(Warp& w, const Inst* i) {
  State& s = state;
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
  const std::uint64_t before = s.state_of(w, i), changes = s.blocks[w.block->index].changes;
  s.end_step(agent, before);
  const auto same = std::ranges::find_if(
      a.idle, [&](std::size_t k) { return s.steps[k].state == before && s.steps[k].changes == changes; });
  if (same != a.idle.end()) {
    if (others_can_go && !a.has_yielded) {
      // They may be what these wait for.
      a.has_yielded = true;
      w.spin.unyielding = patience + 1;
      return false;
    }
    const bool is_forced = *same < s.forced;
    if (is_forced) s.redundant.emplace_back(same, a.idle.end());
    s.is_redundant |= is_forced && a.idle.back() < s.forced;
    if (!s.is_redundant) {
      s.granted = none;
      // What it had to do stays; behind that it can do something else when others have gone on.
      if (!is_forced) a.vain.assign(same, a.idle.end());
      for (auto k = same; k != a.idle.end() && !is_forced; ++k) s.steps[*k].is_vain = true;
      a.idle.clear();
      a.is_held = a.is_parked = true;
      a.changes_when_parked = changes;
      return false;
    }
  }
  s.granted = none;
  if (s.is_known && s.is_known(agent, before)) {
    s.is_cut = a.is_held = true;
    return false;
  }
  a.is_held = a.has_yielded = false;
  s.begin_step(agent, before);
  return true;
}

Guide::Pick Playback::pick(std::span<Warp* const> able) {
  State& s = state;
  s.following = nullptr;
  if (s.is_redundant || s.is_infeasible || s.is_cut) return {};
  const auto grant = [&](Warp* w) {
    s.granted = s.agent_of(*w);
    return Pick{w, false};
  };
  if (s.next < s.trail.steps.size()) {
    s.following = &s.trail.steps[s.next++];
    for (Warp* w : able)
      if (w->block->index == s.following->block && w->id == s.following->warp) {
        s.agent_at(*w).is_parked = false;
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
    State::Agent& a = s.agent_at(*w);
    if (a.is_parked && a.changes_when_parked != s.blocks[w->block->index].changes) a.is_parked = false;
    if (!a.is_parked) return grant(w);
  }
  for (Warp* w : able)
    for (const std::size_t k : s.agent_at(*w).vain)
      for (const Event& e : s.steps[k].events)
        if (e.reads() && s.grid.views->order_of(e.location).back() != e.read) {
          if (!s.journal) {  // it is shown, not explored
            s.agent_at(*w).is_parked = false;
            return grant(w);
          }
          s.to_wake = s.agent_of(*w);
          return {};
        }
  return {nullptr, true};
}

unsigned Playback::choose(const Question& question) {
  State& s = state;
  const std::size_t event = s.steps.back().events.size();
  if (!s.following || event >= s.following->choices.size() || !s.following->choices[event]) return 0;
  for (unsigned k = 0; k < question.writes.size(); ++k)
    if (s.writer(question.location, question.writes[k]).is_same_as(*s.following->choices[event])) return k;
  s.is_infeasible = true;
  return 0;
}

void Playback::happened(const Answer& answer) {
  State& s = state;
  if (s.acting == none) return;
  Turn& step = s.steps.back();
  State::Agent& a = s.agents[step.agent];
  Event& e = step.events.emplace_back();
  e.effect = answer.effect;
  e.is_atomic = answer.is_atomic;
  e.changes_nothing = answer.changes_nothing;
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
  for (const std::uint32_t w : answer.allowed) {
    e.allowed.push_back({s.writer(e.location, w), w, 0});
    if (answer.is_atomic) continue;
    const std::span<const std::byte> value = views.value_of(e.location, w);
    e.allowed.back().value = mixed(0, value.data(), value.size());
  }
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
  State& s = state;
  State::Agent& agent = s.agent_at(a.actor);
  const bool is_weak = a.order == Access::Order::weak;
  if (agent.last != none && is_weak && a.space == ptx::StateSpace::global) s.steps[agent.last].has_looked = true;
  if (!is_weak && a.space == ptx::StateSpace::shared) merge(agent.clock, s.blocks[a.actor.block].shared);
}

void Playback::store(const Access& a) {
  State& s = state;
  State::BlockState& block = s.blocks[a.actor.block];
  const bool is_weak = a.order == Access::Order::weak;
  if (a.space == ptx::StateSpace::global && s.journal) s.journal->note(a);
  if (is_weak || a.space != ptx::StateSpace::global) ++block.changes;
  if (!is_weak && a.space == ptx::StateSpace::shared) merge(block.shared, s.agent_at(a.actor).clock);
}

void Playback::atomic(const Access& a) {
  State& s = state;
  if (a.space == ptx::StateSpace::global && s.journal) s.journal->note(a);
  if (a.space != ptx::StateSpace::shared) return;
  State::BlockState& block = s.blocks[a.actor.block];
  State::Agent& agent = s.agent_at(a.actor);
  ++block.changes;
  merge(agent.clock, block.shared);
  merge(block.shared, agent.clock);
}

void Playback::barrier_arrive(const Actor& actor, Mask, std::uint32_t id, Arrival arrival) {
  State& s = state;
  auto& barrier = s.blocks[actor.block].barriers[id];
  merge(barrier.arrived, s.agent_at(actor).clock);
  if (arrival == Arrival::waits)
    barrier.waiting.push_back(actor.warp);
  else
    ++s.blocks[actor.block].changes;
}

void Playback::barrier_complete(const Actor& actor, std::uint32_t id, Meeting) {
  State& s = state;
  auto& barrier = s.blocks[actor.block].barriers[id];
  for (const std::uint32_t warp : barrier.waiting)
    merge(s.agents[s.agent_of(actor.block, warp)].clock, barrier.arrived);
  barrier.waiting.clear();
  std::ranges::fill(barrier.arrived, 0);
  ++s.blocks[actor.block].changes;
}

}  // namespace scanlab::vgpu
