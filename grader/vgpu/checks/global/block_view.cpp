#include "vgpu/checks/global/block_view.hpp"

#include <utility>

namespace scanlab::vgpu {

void BlockView::begin(std::uint64_t block, unsigned threads, unsigned levels, const std::uint64_t& order) {
  block_ = block;
  levels_ = levels;
  order_ = &order;
  barrier_ = 0;
  interval_ = 1;
  sync_.begin_block(threads);
  common_ = {};
  is_apart_ = false;
  const unsigned warps = (threads + warp_size - 1) / warp_size;
  own_.clear();
  own_.resize(warps);
  block_fenced_.assign(warps, 0);
  met_.assign(warps, {});
  seen_.clear();
}

Mask BlockView::unordered(std::uint64_t block, std::uint32_t warp, Mask lanes, Moment when, unsigned thread) const {
  if (block == block_) {
    if (interval_of(when) < interval_) return 0;
    lanes = clocks().unordered(warp, lanes, stamp_of(when), thread);
    if (!lanes) return 0;
  }
  return knowledge_of(thread).known.unknown(block, warp, lanes, when);
}

void BlockView::fence(unsigned warp, Mask lanes, Access::Scope scope) {
  if (scope == Access::Scope::block) {
    block_fenced_[warp] |= lanes;
  } else {
    publish(warp, lanes);
    settle(warp, lanes);
  }
  sync_.fence(warp, lanes);
}

void BlockView::complete(std::uint32_t id, Observer::Meeting meeting) {
  if (is_apart_) unite();
  if (!sync_.complete(id, meeting)) return;
  sync_.begin_interval();
  ++interval_;
  barrier_ = *order_;
}

void BlockView::meet(unsigned warp, Mask lanes) {
  sync_.meet(warp, lanes);
  met_[warp] = {lanes, *order_};
  if (!is_apart_ || !own_[warp]) return;
  OfWarp& of = *own_[warp];
  const auto first = first_lane(lanes);
  bool is_same = true;
  for_each_lane(lanes, [&](unsigned l) { is_same = is_same && of[l].is_same(of[first]); });
  if (is_same) return;
  Knowledge all = of[first];
  const Knowledge* previous = &of[first];
  for_each_lane(lanes & (lanes - 1), [&](unsigned l) { all.add(of[l], std::exchange(previous, &of[l])); });
  for_each_lane(lanes, [&](unsigned l) { of[l] = all; });
}

void BlockView::strong_access(const Access& a, BlockSync::Effect effect) {
  if (a.phase)
    sync_.mbarrier(a);
  else
    sync_.strong_access(a, effect);
  // A thread that synchronises in shared memory passes on all it knows, whatever the details.
  if (is_apart_ && a.space == ptx::StateSpace::shared) unite();
}

void BlockView::publish(unsigned warp, Mask lanes) {
  OfWarp& of = own(warp);
  if (clocks().is_known_in(warp, 0)) {
    const OfBlock known = own_knowledge(warp, lanes);
    const Knowledge before = of[first_lane(lanes)];
    Knowledge after = before;
    after.known.add(block_, known, levels_);
    for_each_lane(lanes, [&](unsigned l) {
      if (of[l].known.is_same(before.known))
        of[l].known = after.known;
      else
        of[l].known.add(block_, known, levels_);
    });
    return;
  }
  for_each_lane(lanes, [&](unsigned l) { of[l].known.add(block_, own_knowledge(warp, Mask{1} << l), levels_); });
}

void BlockView::acquire(unsigned thread, const GridClock& clock) {
  if (!clock.is_empty()) own(thread / warp_size)[thread % warp_size].known.add(clock);
}

void BlockView::settle(unsigned warp, Mask lanes) {
  for_each_lane(lanes, [&](unsigned l) {
    const Knowledge& s = knowledge_of(warp * warp_size + l);
    if (!s.settled.is_same(s.known) || !s.fenced.is_same(s.followed)) {
      Knowledge& to = own(warp)[l];
      to.settled = to.known;
      to.fenced = to.followed;
    }
  });
}

BlockView::Message BlockView::message_of(unsigned warp, Mask lanes) const {
  Message m;
  m.barrier = barrier_;
  m.met = met_[warp].order;
  m.met_lanes = met_[warp].lanes;
  const Knowledge* previous = nullptr;
  for_each_lane(lanes, [&](unsigned lane) {
    const Knowledge& of = knowledge_of(warp * warp_size + lane);
    if (!previous || !previous->known.is_same(of.known)) m.visible.add(of.known);
    if (!previous || !previous->followed.is_same(of.followed)) m.followed.add(of.followed);
    previous = &of;
  });
  return m;
}

void BlockView::follow(unsigned thread, std::uint64_t block, std::uint32_t warp, Mask lanes, const Message& message,
                       const SeenFlag& flag) {
  OfBlock of;
  of.before = message.barrier + 1;
  of.add({warp, message.met_lanes, message.met});
  of.add({warp, lanes, flag.order});
  of.flag = flag;
  Knowledge& knows = own(thread / warp_size)[thread % warp_size];
  const auto add_to = [&](GridClock& clock) {
    clock.add(message.followed);
    clock.add(block, of, levels_);
  };
  add_to(knows.followed);
  if (!flag.is_count) add_to(knows.waited);
}

bool BlockView::has_seen(unsigned thread, std::uint64_t order) {
  if (seen_.empty()) seen_.assign(clocks().threads(), 0);
  return std::exchange(seen_[thread], order) == order;
}

BlockView::OfWarp& BlockView::own(unsigned warp) {
  is_apart_ = true;
  if (!own_[warp]) {
    own_[warp] = std::make_unique<OfWarp>();
    own_[warp]->fill(common_);
  }
  return *own_[warp];
}

void BlockView::unite() {
  for (auto& of : own_) {
    if (!of) continue;
    const Knowledge* previous = nullptr;
    for (const Knowledge& s : *of) common_.add(s, std::exchange(previous, &s));
    of.reset();
  }
  is_apart_ = false;
}

/// What has happened before what these lanes do now, in this block. Lanes that do the same together count as one: each
/// has made visible what is its own.
OfBlock BlockView::own_knowledge(unsigned warp, Mask lanes) const {
  OfBlock known;
  known.before = moment(interval_, 0);
  BlockClocks::Row row;
  clocks().release(warp * warp_size + first_lane(lanes), row);
  for (unsigned thread = 0; thread < row.size(); ++thread)
    if (row[thread]) known.add({thread / warp_size, Mask{1} << thread % warp_size, moment(interval_, row[thread])});
  known.add({warp, lanes, now(warp)});
  return known;
}

}  // namespace scanlab::vgpu
