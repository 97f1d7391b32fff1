#include "vgpu/core/warp/convergent.hpp"

#include <type_traits>
#include <utility>

#include "vgpu/core/warp/pairs.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

const Inst* target_of(const Inst* i) {
  return reinterpret_cast<const Inst*>(i->imm);
}

void spread(Warp& w, const PairedRegister& r) {
  const Pair& p = *w.lanes<Pair>(r.pair);
  const unsigned row_lanes = row_lanes_of(w);
  if (r.bytes == 2)
    spread(w.lanes<std::uint16_t>(r.lanes), p, row_lanes);
  else if (r.bytes == 4)
    spread(w.lanes<std::uint32_t>(r.lanes), p, row_lanes);
  else
    spread(w.lanes<std::uint64_t>(r.lanes), p, row_lanes);
}

/// The lanes as a pair; false when they are of another shape.
template <class T>
bool collect(Warp& w, const PairedRegister& r) {
  const T* const lanes = w.lanes<T>(r.lanes);
  const unsigned row_lanes = row_lanes_of(w);
  T stride = 0, jump = 0;
  if (r.is_affine) {
    stride = static_cast<T>(lanes[1] - lanes[0]);
    if (row_lanes > 1 && row_lanes < warp_size)
      jump = static_cast<T>(lanes[row_lanes] - lanes[0] - stride * static_cast<T>(row_lanes));
  }
  using Signed = std::make_signed_t<T>;
  const Pair pair{lanes[0], static_cast<Signed>(stride), static_cast<Signed>(jump)};
  alignas(64) T expected[warp_size];
  spread(expected, pair, row_lanes);
  T different = 0;
  for (unsigned l = 0; l < warp_size; ++l) different = static_cast<T>(different | (lanes[l] ^ expected[l]));
  if (different) return false;
  *w.lanes<Pair>(r.pair) = pair;
  return true;
}

Mask predicate_of(Warp& w, const Inst* i) {
  const Mask p = w.predicate(i->op[0]);
  return i->op[1] ? ~p : p;
}

/// The lanes diverge before a masked region.
[[gnu::noinline]] const Inst* part(Warp& w, const Inst* i, Mask taken) {
  flush_executed(w);
  if (i->op[3]) w.other[i->op[2]] = taken;
  w.active &= ~taken;
  return go_to(w, i + 1);
}

/// The lanes `next` are active from here on.
[[gnu::noinline]] const Inst* turn_to(Warp& w, const Inst* target, Mask next) {
  flush_executed(w);
  w.active = next;
  return go_to(w, target);
}

}  // namespace

const Inst* leave(Warp& w, const Inst* i) {
  const Leave& how = w.frame->program->leaves[i->aux];
  for (const PairedRegister& r : how.live) spread(w, r);
  for (const Leave::Side& side : how.sides) {
    // Lanes outside stay at the join of the region that they do not run in now, or have the second side before them.
    const Mask inside = &side == &how.sides.back() ? w.active : w.outer[(&side + 1)->depth];
    Mask at_join = w.outer[side.depth] & ~inside;
    if (side.is_first) {
      at_join &= ~w.other[side.depth];
      if (w.other[side.depth]) w.waiting.push_back({side.other, w.frame, w.other[side.depth], Split::State::ready, 0});
    }
    if (at_join) w.waiting.push_back({side.join, w.frame, at_join, Split::State::ready, 0});
  }
  update_pending(w);
  return how.to->run(w, how.to);
}

const Inst* branch_together(Warp& w, const Inst* i) {
  const Mask taken = predicate_of(w, i) & w.active;
  if (taken != 0 && taken != w.active) [[unlikely]]
    return leave(w, i);
  charge(w, i);
  if (is_observed(w, Observer::branches)) [[unlikely]]
    report_branch(w, i, taken);
  return go_to(w, taken ? target_of(i) : i + 1);
}

const Inst* open_region(Warp& w, const Inst* i) {
  const Mask taken = predicate_of(w, i) & w.active;
  charge(w, i);
  if (is_observed(w, Observer::branches)) [[unlikely]]
    report_branch(w, i, taken);
  const std::uint32_t depth = i->op[2];
  w.outer[depth] = w.active;
  w.other[depth] = 0;
  if (taken == w.active) return go_to(w, target_of(i));
  if (taken == 0) return go_to(w, i + 1);
  return part(w, i, taken);
}

const Inst* end_first_side(Warp& w, const Inst* i) {
  charge(w, i);
  const Mask other = std::exchange(w.other[i->op[2]], 0);
  return other ? turn_to(w, i + i->aux, other) : go_to(w, target_of(i));
}

const Inst* close_region(Warp& w, const Inst* i) {
  charge(w, i);
  const Mask outer = w.outer[i->op[2]];
  return w.active == outer ? go_to(w, i + 1) : turn_to(w, i + 1, outer);
}

const Inst* come_back(Warp& w, const WayBack& how) {
  for (const PairedRegister& r : how.live) {
    const bool fits = r.bytes == 2   ? collect<std::uint16_t>(w, r)
                      : r.bytes == 4 ? collect<std::uint32_t>(w, r)
                                     : collect<std::uint64_t>(w, r);
    if (!fits) return nullptr;
  }
  return how.to;
}

}  // namespace scanlab::vgpu
