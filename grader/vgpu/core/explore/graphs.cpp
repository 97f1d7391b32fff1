#include "vgpu/core/explore/graphs.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace scanlab::vgpu::playback {

Graphs::Graphs(const Grid& grid) : grid_(grid) {
  BlockNames names(grid.size.count());
  std::iota(names.begin(), names.end(), std::uint64_t{0});
  const bool are_alike = grid.image->alike_blocks && names.size() <= most_alike;
  do block_names_.push_back(names);
  while (are_alike && std::next_permutation(names.begin(), names.end()));
}

std::uint64_t Graphs::key(const State& s, const Steps& order, const Change& change) const {
  if (block_names_.size() > 1)
    if (const auto names = names_by_writes(s, order, change)) return key(s, order, change, *names);
  std::uint64_t least = ~std::uint64_t{0};
  for (const BlockNames& names : block_names_) least = std::min(least, key(s, order, change, names));
  return least;
}

/// Names for blocks that are alike, by the first of the writes that each has made: the same for graphs that differ in
/// the blocks' names alone. Nothing where several have only read so far.
std::optional<Graphs::BlockNames> Graphs::names_by_writes(const State& s, const Steps& order,
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
        firsts[block].first = std::min<Place>(
            firsts[block].first, {e.address, grid_.views->locations().write_of(e.location, e.written).rank});
  }
  if (change.step != none) has_acted[s.steps[change.step].agent / s.warps] = true;
  const auto only_reads = [&](const auto& first) { return first.first == nowhere && has_acted[first.second]; };
  if (std::ranges::count_if(firsts, only_reads) > 1) return std::nullopt;
  std::ranges::sort(firsts, {}, [&](const auto& f) { return std::tuple(f.first, !has_acted[f.second], f.second); });
  BlockNames names(firsts.size());
  for (std::size_t k = 0; k < firsts.size(); ++k) names[firsts[k].second] = k;
  return names;
}

std::uint64_t Graphs::key(const State& s, const Steps& order, const Change& change, const BlockNames& names) const {
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
      if (e.writes()) ranks[e.location].push_back(grid_.views->locations().write_of(e.location, e.written).rank);
      if (e.effect == Event::Effect::fence) fences = mixed(mixed(fences, own(step.agent) + 1), e.by.thread);
    }
    hash = mixed(hash, 1);
  }
  std::uint64_t all = mixed(1, fences);
  for (std::size_t k = 0; k < of_agent.size(); ++k) all += mixed(k + 1, of_agent[k]);
  for (auto& [location, in] : ranks) {
    std::ranges::sort(in);
    const Location& at = grid_.views->locations()[location];
    std::uint64_t hash = at.address();
    for (const std::uint32_t rank : in) hash = with(hash, s.writer(location, at.order()[rank]));
    all += mixed(hash, 3);
  }
  if (change.step == none) return all;
  const Turn& last = s.steps[change.step];
  all = mixed(all, own(last.agent));
  for (std::size_t e = 0; e < change.event; ++e)
    if (const StrongOperation* choice = last.events[e].choice()) all = with(all, *choice);
  all = mixed(all, change.event);
  return change.choice ? with(all, *change.choice) : mixed(all, change.may_be_vain ? 8 : 7);
}

}  // namespace scanlab::vgpu::playback
