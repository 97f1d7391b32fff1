#include "vgpu/core/memory/causality.hpp"

#include <utility>

namespace scanlab::vgpu {
namespace {

void know(KnownWrites& all, KnownWrite instant) {
  if (all.of(instant.location) < instant.write) all.set(instant);
}

}  // namespace

void Causality::begin_block(std::uint64_t block, std::uint32_t slot) {
  if (blocks_.size() <= slot) blocks_.resize(slot + 1);
  blocks_[slot] = std::make_unique<Block>();
  blocks_[slot]->number = block;
  const std::uint64_t warps = (threads_of_block_ + warp_size - 1) / warp_size;
  blocks_[slot]->threads.resize(warps * warp_size);
  blocks_[slot]->warps.resize(warps);
}

// --- what passes on knowledge ----------------------------------------------------------------------------------------

void Causality::access_shared(const Access& a, bool reads, bool writes) {
  Block& b = *blocks_[a.actor.slot];
  if (!b.knows_any && !follows_instants_) return;
  for (const unsigned lane : lanes_in(a.mask)) {
    ThreadView& t = thread(a.actor, lane);
    if (writes) publish(t, a.actor, lane);
    if (writes) b.shared.join(t.now, ranks_), ++b.passed;
    // Many wait for the same, and look at it often.
    if (reads && std::exchange(t.shared_known, b.passed) != b.passed) t.now.join(b.shared, ranks_);
  }
}

void Causality::hear_fences(const SequentialFence& fence) {
  fences_heard_.clear();
  for (std::uint32_t k = 0; k < fences_.size(); ++k) {
    const SequentialFence& other = fences_[k];
    const bool are_of_device = fence.reach == Reach::device && other.reach == Reach::device;
    if ((are_of_device || fence.block == other.block) && !fence.known.includes(other.known, ranks_))
      fences_heard_.push_back(k);
  }
}

void Causality::fence(const Actor& actor, unsigned lane, Reach reach, Fence kind) {
  ThreadView& t = thread(actor, lane);
  t.acquire_all(reach, ranks_);
  publish(t, actor, lane);
  if (kind == Fence::sequential) {
    if (follows_fences_) {
      SequentialFence own{actor.block, reach, t.now};
      hear_fences(own);
      fences_.push_back(std::move(own));
    }
    KnownWrites& of_block = sequential_of_block_[actor.block];
    t.now.join(of_block, ranks_);
    if (reach == Reach::device) t.now.join(sequential_, ranks_);
    t.now.settle();
    of_block = t.now;
    if (reach == Reach::device) sequential_ = t.now;
  }
  t.release_all(reach);
}

void Causality::arrive(const Actor& actor, Mask mask, std::uint32_t barrier, Observer::Arrival arrival) {
  Block& b = *blocks_[actor.slot];
  Block::Barrier& at = b.barriers[barrier];
  if (arrival == Observer::Arrival::waits) at.waiting.emplace_back(actor.warp, mask);
  if (follows_instants_) at.arrived.push_back({actor.warp, b.stamp_out(actor.warp), mask});
  if (!b.knows_any) return;
  for (const unsigned lane : lanes_in(mask)) at.known.join(thread(actor, lane).now, ranks_);
}

void Causality::complete(const Actor& actor, std::uint32_t barrier, Observer::Meeting meeting) {
  Block& b = *blocks_[actor.slot];
  Block::Barrier& at = b.barriers[barrier];
  if (meeting == Observer::Meeting::all)
    ++b.interval;
  else
    publish_arrivals(b, at);
  at.arrived.clear();
  at.known.settle();
  if (!at.known.is_empty())
    for (const auto& [warp, mask] : at.waiting)
      for (const unsigned lane : lanes_in(mask)) b.threads[warp * warp_size + lane].now = at.known;
  at.known.clear();
  at.waiting.clear();
}

void Causality::sync_warp(const Actor& actor, Mask mask) {
  Block& b = *blocks_[actor.slot];
  if (follows_instants_) {
    if (mask == full_mask)
      b.warps[actor.warp].met = b.stamp_out(actor.warp);
    else
      for (const unsigned lane : lanes_in(mask)) publish(thread(actor, lane), actor, lane);
  }
  if (!b.knows_any) return;
  ThreadView* const threads = &b.threads[actor.warp * warp_size];
  const auto first = first_lane(mask);
  bool differ = false;
  for (const unsigned lane : lanes_in(mask)) differ = differ || !threads[lane].now.is_same_as(threads[first].now);
  if (!differ) return;
  KnownWrites all;
  for (const unsigned lane : lanes_in(mask)) all.join(threads[lane].now, ranks_);
  all.settle();
  for (const unsigned lane : lanes_in(mask)) threads[lane].now = all;
}

// --- instants --------------------------------------------------------------------------------------------------------

Instant Causality::now(const Actor& actor) {
  Block& b = *blocks_[actor.slot];
  b.warps[actor.warp].has_acted = true;
  return {b.number, actor.warp, b.interval, b.warps[actor.warp].stamp};
}

/// Whoever learns what the view knows also learns what the lane has done, and what happened before that in its block.
void Causality::publish(ThreadView& view, const Actor& actor, unsigned lane) {
  if (!follows_instants_) return;
  Block& b = *blocks_[actor.slot];
  b.knows_any = true;
  const std::uint32_t of_warp = locations_.of_warp(b.number, actor.warp), stamp = b.stamp_out(actor.warp);
  know(view.now, {locations_.of_block(b.number), b.interval});
  know(view.now, {of_warp, b.warps[actor.warp].met});
  know(view.now, {InstantLocations::of_lane(of_warp, lane), stamp});
}

/// A barrier that waits for some of the block's threads is complete.
void Causality::publish_arrivals(Block& b, Block::Barrier& barrier) {
  for (const auto& [warp, stamp, lanes] : barrier.arrived) {
    b.knows_any = true;
    const std::uint32_t of_warp = locations_.of_warp(b.number, warp);
    if (lanes == full_mask)
      know(barrier.known, {of_warp, stamp});
    else
      for (const unsigned lane : lanes_in(lanes))
        know(barrier.known, {InstantLocations::of_lane(of_warp, lane), stamp});
  }
}

Mask Causality::unknown(const KnownWrites& known, const Instant& then, Mask lanes) const {
  const std::uint32_t of_warp = locations_.of_warp(then.block, then.warp);
  if (known.of(locations_.of_block(then.block)) > then.interval || known.of(of_warp) >= then.stamp) return 0;
  for (const unsigned lane : lanes_in(lanes))
    if (known.of(InstantLocations::of_lane(of_warp, lane)) >= then.stamp) lanes &= ~(Mask{1} << lane);
  return lanes;
}

Mask Causality::unordered(const Instant& then, Mask lanes, const Actor& actor, unsigned lane) const {
  const Block& b = *blocks_[actor.slot];
  if (then.block == b.number && (then.warp == actor.warp || then.interval < b.interval)) return 0;
  return unknown(thread(actor, lane).now, then, lanes);
}

Mask Causality::unordered_behind_fence(const Instant& then, Mask lanes, const Actor& actor, unsigned lane) const {
  thread(actor, lane).for_each_pending([&](const KnownWrites& known) { lanes = unknown(known, then, lanes); });
  return lanes;
}

}  // namespace scanlab::vgpu
