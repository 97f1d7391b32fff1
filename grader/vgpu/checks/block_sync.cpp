#include "vgpu/checks/block_sync.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "vgpu/core/memory/stored.hpp"

namespace scanlab::vgpu {
namespace {

/// Phases of an mbarrier that a thread may still ask for.
constexpr std::size_t most_phases = 8;

using Row = BlockClocks::Row;

void add(Row& to, const Row& from) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t k = 0; k < from.size(); ++k) to[k] = std::max(to[k], from[k]);
}

bool releases(const Access& a) {
  return a.order == Access::Order::release || a.order == Access::Order::acq_rel;
}

}  // namespace

void BlockSync::begin_block(unsigned threads) {
  for (; in_use_; in_use_ &= in_use_ - 1) counted_[std::countr_zero(in_use_)] = {};
  begin_interval();
  clocks_.begin_block(threads);
}

void BlockSync::forget_interval() {
  clocks_.begin_interval();
  for (const unsigned lane : lanes_in(in_use_)) counted_[lane].released.clear();
  if (!released_.empty()) released_.clear();
  if (!phases_.empty()) phases_.clear();
  if (!fenced_.empty()) fenced_.clear();
  if (!flags_.is_empty()) flags_.clear();
}

void BlockSync::fence(unsigned warp, Mask lanes) {
  for (const unsigned lane : lanes_in(lanes)) {
    const unsigned thread = warp * warp_size + lane;
    clocks_.release(thread, fenced_[thread]);
  }
  clocks_.tick(warp);
}

void BlockSync::arrive(unsigned warp, Mask lanes, std::uint32_t id, Observer::Arrival how) {
  Counted& c = counted_[id];
  in_use_ |= 1u << id;
  for (const unsigned lane : lanes_in(lanes)) clocks_.release(warp * warp_size + lane, c.released);
  clocks_.tick(warp);
  if (how == Observer::Arrival::goes_on) return;
  if (c.waiting.size() <= warp) c.waiting.resize(warp + 1);
  c.waiting[warp] |= lanes;
}

bool BlockSync::complete_counted(std::uint32_t id, Observer::Meeting meeting) {
  in_use_ &= ~(1u << id);
  const Counted c = std::exchange(counted_[id], {});
  if (meeting == Observer::Meeting::all) return true;
  unsigned count = 0;
  for (const Mask lanes : c.waiting) count += static_cast<unsigned>(std::popcount(lanes));
  if (count == clocks_.threads()) return true;
  for (unsigned warp = 0; warp < c.waiting.size(); ++warp) clocks_.acquire(warp, c.waiting[warp], c.released);
  return false;
}

/// A flag is set by a single lane, and seen by others.
void BlockSync::note_flag(const Access& a, Effect effect) {
  const bool may_set = effect != Effect::reads && (a.mask & (a.mask - 1)) == 0;
  if (!may_set && flags_.is_empty()) return;
  const Mask changing = effect == Effect::updates ? lanes_that_change(a) : 0;
  const auto touch = [&](unsigned lane) {
    return FlagTrail::Touch{a.actor.warp * warp_size + lane, a.at(lane), a.actor.line,
                            effect == Effect::updates && (changing >> lane & 1) && counts(a)};
  };
  if (effect != Effect::writes && !flags_.is_empty())
    for (const unsigned lane : lanes_in(a.mask)) flags_.see(touch(lane), (changing >> lane & 1) != 0);
  if (!may_set || (effect == Effect::updates && !changing)) return;
  flags_.set(touch(first_lane(a.mask)), clocks_.now(a.actor.warp));
  clocks_.tick(a.actor.warp);
}

void BlockSync::strong_access(const Access& a, Effect effect) {
  note_flag(a, effect);
  if (released_.empty() && fenced_.empty() && !releases(a)) return;
  // Global and shared addresses are apart by their windows.
  for (const unsigned lane : lanes_in(a.mask)) {
    const unsigned thread = a.actor.warp * warp_size + lane;
    const std::uint64_t location = a.at(lane);
    const auto there = released_.find(location);
    if (effect != Effect::writes && there != released_.end()) clocks_.acquire(thread, there->second);
    if (effect == Effect::reads) continue;
    Row made;
    if (const auto fenced = fenced_.find(thread); fenced != fenced_.end()) made = fenced->second;
    if (releases(a)) clocks_.release(thread, made);
    if (effect == Effect::updates) {
      if (!made.empty()) add(released_[location], made);
    } else if (!made.empty()) {
      released_[location] = std::move(made);
    } else if (there != released_.end()) {
      released_.erase(there);
    }
  }
  if (releases(a)) clocks_.tick(a.actor.warp);
}

const Row* BlockSync::completed(std::uint64_t location, std::uint64_t phase) const {
  const auto known = phases_.find(location);
  if (known == phases_.end() || phase < known->second.first) return nullptr;  // it was complete before the interval
  const Phases& p = known->second;
  const auto past = std::ranges::find_if(p.complete, [&](const auto& c) { return c.first >= phase; });
  return past != p.complete.end() ? &past->second : &p.released;
}

bool BlockSync::arrive_at_mbarrier(const Access& a) {
  bool is_ordered = true;
  for (const unsigned lane : lanes_in(a.mask)) {
    const std::uint64_t phase = a.phase[lane];
    Phases& p = phases_.try_emplace(a.at(lane), Phases{phase, phase, {}, {}}).first->second;
    if (phase != p.phase) {
      p.complete.emplace_back(std::exchange(p.phase, phase), p.released);
      if (p.complete.size() > most_phases) p.complete.pop_front();
    }
    const unsigned thread = a.actor.warp * warp_size + lane;
    if (const Row* const before = completed(a.at(lane), phase - 1))
      is_ordered = is_ordered && !clocks_.has_news(thread, *before);
    clocks_.release(thread, p.released);
  }
  clocks_.tick(a.actor.warp);
  return is_ordered;
}

bool BlockSync::mbarrier(const Access& a) {
  if (releases(a)) return arrive_at_mbarrier(a);
  // Usually all lanes wait for the same.
  for (Mask left = a.mask; left;) {
    const auto first = first_lane(left);
    const Mask same =
        lanes_where(left, [&](unsigned lane) { return a.at(lane) == a.at(first) && a.phase[lane] == a.phase[first]; });
    if (const Row* const row = completed(a.at(first), a.phase[first])) clocks_.acquire(a.actor.warp, same, *row);
    left &= ~same;
  }
  return true;
}

}  // namespace scanlab::vgpu
