#include "vgpu/core/explore/known_steps.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace scanlab::vgpu::playback {

std::optional<std::uint64_t> reads_of(const Turn& step) {
  std::uint64_t hash = 1;
  for (const Event& e : step.events) {
    if (!e.only_reads() || e.allowed.empty()) return std::nullopt;
    hash = mixed(mixed(mixed(hash, e.by.thread), e.address), e.allowed[e.chosen].value);
  }
  return hash;
}

/// A warp's state, and which warp it is, as far as a program can ask.
std::uint64_t KnownSteps::named(const State& s, std::size_t agent, std::uint64_t state) const {
  return mixed(state, grid_.image->alike_blocks ? agent % s.warps : agent);
}

void KnownSteps::note(const State& s) {
  for (const Turn& step : s.steps)
    if (const auto reads = reads_of(step); reads && step.after)
      after_.try_emplace(mixed(named(s, step.agent, step.state), *reads),
                         After{named(s, step.agent, *step.after), step.sync});
}

/// The state to which a state leads that reads this, and by what; nullptr: not known.
const KnownSteps::After* KnownSteps::after(std::uint64_t state, std::uint64_t reads) const {
  const auto known = after_.find(mixed(state, reads));
  return known == after_.end() ? nullptr : &known->second;
}

/// Visits what a step would be if one of its events had read an older write, from which its thread would have known
/// no more than from its own.
template <class Visit>
void KnownSteps::for_each_older(Turn& step, Visit visit) const {
  for (Event& e : step.events) {
    const unsigned own = e.chosen;
    if (!e.only_reads()) continue;
    const Locations& locations = grid_.views->locations();
    const auto write = [&](std::uint32_t w) -> const LocationWrite& { return locations.write_of(e.location, w); };
    for (unsigned older = own + 1; older < e.allowed.size(); ++older)
      if (e.allowed[older].only_reads &&
          write(e.allowed[older].write).carries_no_more_than(write(e.allowed[own].write), locations)) {
        e.chosen = older;
        visit(e);
      }
    e.chosen = own;
  }
}

Quiet KnownSteps::quiet(const State& s, Turn& step, std::size_t place) const {
  Quiet as{place, named(s, step.agent, step.state), reads_of(step).value_or(0), step.sync, {}};
  if (as.reads) for_each_older(step, [&](const Event& e) { as.older.push_back({e.by.thread, *reads_of(step)}); });
  return as;
}

std::vector<Passage> KnownSteps::passages_of(State& s, const Steps& kept) const {
  std::vector<Passage> all;
  for (std::size_t agent = 0; agent < s.agents.size(); ++agent) {
    bool begins = true;
    std::uint64_t changes = 0;
    for (std::size_t place = 0; place < kept.size(); ++place) {
      Turn& step = s.steps[kept[place]];
      if (step.agent != agent) continue;
      if (std::exchange(changes, step.changes) != step.changes || begins) all.emplace_back();
      all.back().push_back(quiet(s, step, place));
      begins = !reads_of(step);
    }
  }
  return all;
}

std::optional<std::size_t> KnownSteps::same_place(const std::vector<Passage>& passages, std::size_t last) const {
  std::optional<std::size_t> first;
  for (const Passage& passage : passages)
    for (std::size_t k = 0; k < passage.size(); ++k)
      for (const auto& [thread, reads] : passage[k].older) {
        const auto place = same_place(passage, k, after(passage[k].state, reads), thread);
        if (place && *place <= last && (!first || *place < *first)) first = place;
      }
  return first;
}

/// The same of one passage behind step k, in whose place the warp has come to another state, since a thread has read
/// something older; it may go on to do so. On its way it must not learn more by fences and the like than the passage.
std::optional<std::size_t> KnownSteps::same_place(const Passage& passage, std::size_t k, const After* instead,
                                                  std::uint32_t thread) const {
  if (!instead || !instead->sync.is_no_more_than(passage[k].sync) || ++k == passage.size()) return std::nullopt;
  if (instead->state == passage[k].state) return passage[k].place;
  if (const auto place = same_place(passage, k, after(instead->state, passage[k].reads), thread)) return place;
  for (const auto& [reader, reads] : passage[k].older)
    if (reader == thread)
      if (const auto place = same_place(passage, k, after(instead->state, reads), thread)) return place;
  return std::nullopt;
}

Steps KnownSteps::quiet_before(const State& s, const Steps& order, std::size_t k) {
  Steps steps;
  for (const std::size_t i : order | std::views::reverse) {
    const Turn& earlier = s.steps[i];
    if (i >= k || earlier.agent != s.steps[k].agent || earlier.is_vain) continue;
    if (earlier.changes != s.steps[k].changes || !reads_of(earlier)) break;
    steps.push_back(i);
  }
  std::ranges::reverse(steps);
  return steps;
}

Passage KnownSteps::passage_to(State& s, const Steps& order, std::size_t k) const {
  Passage passage;
  for (const std::size_t i : quiet_before(s, order, k)) passage.push_back(quiet(s, s.steps[i]));
  passage.push_back(quiet(s, s.steps[k]));
  return passage;
}

bool KnownSteps::comes_to_same(Passage passage, std::uint64_t state) const {
  passage.push_back({.state = state, .sync = {}, .older = {}});
  return same_place({std::move(passage)}, 0).has_value();
}

bool KnownSteps::come_to_nothing_new(Passage passage) const {
  const After* const own = after(passage.back().state, passage.back().reads);
  if (!own) return false;
  passage.back().sync = own->sync;
  const auto is_there = [&](const Quiet& step) { return step.state == own->state; };
  return std::ranges::any_of(passage, is_there) || comes_to_same(std::move(passage), own->state);
}

}  // namespace scanlab::vgpu::playback
