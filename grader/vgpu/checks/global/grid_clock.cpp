#include "vgpu/checks/global/grid_clock.hpp"

#include <algorithm>

namespace scanlab::vgpu {

// --- one block -------------------------------------------------------------------------------------------------------

void OfBlock::add(const Part& part) {
  if (part.until < before) return;
  Mask lanes = part.lanes;
  for (Part& p : parts) {
    if (p.warp != part.warp) continue;
    if (p.until >= part.until)
      lanes &= ~p.lanes;
    else
      p.lanes &= ~part.lanes;
  }
  std::erase_if(parts, [](const Part& p) { return p.lanes == 0; });
  if (!lanes) return;
  const auto same =
      std::ranges::find_if(parts, [&](const Part& p) { return p.warp == part.warp && p.until == part.until; });
  if (same != parts.end())
    same->lanes |= lanes;
  else
    parts.push_back({part.warp, lanes, part.until});
}

void OfBlock::add(const OfBlock& other) {
  if (other.before > before) {
    before = other.before;
    std::erase_if(parts, [&](const Part& p) { return p.until < before; });
  }
  for (const Part& p : other.parts) add(p);
  if (other.flag.order > flag.order) flag = other.flag;
}

Mask OfBlock::unknown(std::uint32_t warp, Mask lanes, std::uint64_t when) const {
  if (when < before) return 0;
  for (const Part& p : parts)
    if (p.warp == warp && when <= p.until) lanes &= ~p.lanes;
  return lanes;
}

bool OfBlock::covers(const OfBlock& other) const {
  return other.before <= before && other.flag.order <= flag.order &&
         std::ranges::all_of(other.parts, [&](const Part& p) { return unknown(p.warp, p.lanes, p.until) == 0; });
}

// --- all blocks ------------------------------------------------------------------------------------------------------

unsigned GridClock::levels_for(std::uint64_t blocks) {
  unsigned levels = 1;
  while (blocks > fan) {
    blocks = (blocks - 1) / fan + 1;
    ++levels;
  }
  return levels;
}

const OfBlock* GridClock::of(std::uint64_t block) const {
  const Node* node = root_.get();
  for (unsigned level = levels_; node && level-- > 0;)
    node = static_cast<const Branch*>(node)->below[block >> fan_bits * level & (fan - 1)].get();
  return node ? &static_cast<const Leaf*>(node)->known : nullptr;
}

/// `level`: of branches that are still to come; 0: a leaf.
GridClock::NodePointer GridClock::with(const NodePointer& node, std::uint64_t block, const OfBlock& known,
                                       unsigned level) {
  if (level == 0) {
    const Leaf* const old = static_cast<const Leaf*>(node.get());
    if (old && old->known.covers(known)) return node;
    auto made = old ? std::make_shared<Leaf>(*old) : std::make_shared<Leaf>();
    made->known.add(known);
    return made;
  }
  const Branch* const old = static_cast<const Branch*>(node.get());
  const auto k = block >> fan_bits * (level - 1) & (fan - 1);
  NodePointer below = with(old ? old->below[k] : nullptr, block, known, level - 1);
  if (old && below == old->below[k]) return node;
  auto made = old ? std::make_shared<Branch>(*old) : std::make_shared<Branch>();
  made->below[k] = std::move(below);
  return made;
}

void GridClock::add(std::uint64_t block, const OfBlock& known, unsigned levels) {
  levels_ = levels;
  root_ = with(root_, block, known, levels);
}

GridClock::NodePointer GridClock::joined(const NodePointer& a, const NodePointer& b, unsigned level) {
  if (!b || a == b) return a;
  if (!a) return b;
  if (level == 0) {
    const OfBlock &of_a = static_cast<const Leaf&>(*a).known, &of_b = static_cast<const Leaf&>(*b).known;
    if (of_a.covers(of_b)) return a;
    if (of_b.covers(of_a)) return b;
    auto made = std::make_shared<Leaf>(static_cast<const Leaf&>(*a));
    made->known.add(of_b);
    return made;
  }
  const auto &below_a = static_cast<const Branch&>(*a).below, &below_b = static_cast<const Branch&>(*b).below;
  std::shared_ptr<Branch> made;  // where it is not a's
  for (unsigned k = 0; k < fan; ++k) {
    if (!below_b[k] || below_a[k] == below_b[k]) continue;
    NodePointer below = joined(below_a[k], below_b[k], level - 1);
    if (below == below_a[k]) continue;
    if (!made) made = std::make_shared<Branch>(static_cast<const Branch&>(*a));
    made->below[k] = std::move(below);
  }
  if (!made) return a;
  return made->below == below_b ? b : made;
}

void GridClock::add(const GridClock& other) {
  if (!other.root_) return;
  levels_ = other.levels_;
  root_ = joined(root_, other.root_, levels_);
}

}  // namespace scanlab::vgpu
