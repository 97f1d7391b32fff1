// Divergence and reconvergence: which lanes of a warp execute next.
#pragma once

#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {

inline constexpr std::uint32_t max_depth = 255;

inline std::uint32_t depth_key(std::uint32_t depth) {
  return (max_depth - (depth < max_depth ? depth : max_depth)) << 24;
}

inline std::uint32_t Split::key() const {
  return depth_key(frame->depth) | pc->rank;
}

void report_executed(Warp& w);
/// Reports the instructions since `active` was last set to the observers. To be called before `active` changes.
inline void flush_executed(Warp& w) {
  if (is_observed(w)) [[unlikely]]
    report_executed(w);
}

/// Reports a branch at which `taken` of the active lanes jump to the observers.
void report_branch(const Warp& w, const Inst* i, Mask taken);

/// Goes on at `target` with all lanes that are there: merges splits that wait at it, or turns to a split whose turn is
/// before. Handlers call it through go_to.
const Inst* reconverge(Warp& w, const Inst* target);

/// Counts the instructions that end with `i`.
inline void charge(Warp& w, const Inst* i) {
  w.budget -= charge_of(i);
}

/// Control flows to `target`, the first instruction of a basic block; what came before has been charged.
inline const Inst* go_to(Warp& w, const Inst* target) {
  if ((target->rank | w.depth_key) >= w.pending_key) [[unlikely]]
    return reconverge(w, target);
  if (w.budget <= 0) [[unlikely]] {
    w.pc = target;
    return nullptr;
  }
  return proceed(w, target);
}

/// Puts `lanes` of the running split aside at `pc`; they stay out of `active` from now on.
void set_aside(Warp& w, Mask lanes, const Inst* pc, Split::State state, std::uint32_t barrier_id = 0);

/// Runs the waiting split whose turn it is. nullptr, with Warp::stop set, when none can run.
const Inst* run_next(Warp& w);

/// Takes those of the waiting splits for which which(split) holds out of them, and returns their lanes.
template <class Which>
Mask take_splits(Warp& w, Which which) {
  Mask lanes = 0;
  for (std::size_t k = 0; k < w.waiting.size();) {
    if (!which(w.waiting[k])) {
      ++k;
      continue;
    }
    lanes |= w.waiting[k].mask;
    w.waiting[k] = w.waiting.back();
    w.waiting.pop_back();
  }
  return lanes;
}

/// Recomputes pending_key; to be called when splits became ready or were removed.
void update_pending(Warp& w);

/// The split that rests in place joins the waiting ones.
void suspend(Warp& w, Split::State state = Split::State::ready);

/// Turns after which splits that wait for a running one get a turn although theirs is later in the code.
inline constexpr std::uint64_t patience = 512;

/// Ends the turn after this instruction, with what was executed counted as before.
inline void end_turn(Warp& w) {
  w.quantum -= w.budget;
  w.segment_start -= w.budget;
  w.budget = 0;
}

/// A split has looked at memory that others write (an atomic, a volatile load). When it looks again and again and no
/// thread has written, it waits for another: its turn ends early, so that the others come to run.
inline void note_poll(Warp& w) {
  const std::uint32_t most_polls = w.pending_key != ~0u ? 4 : 16;
  SpinWatch& s = w.spin;
  if (s.poll_epoch != w.block->grid->epoch) {
    s.poll_epoch = w.block->grid->epoch;
    s.polls = 0;
  }
  if (++s.polls < most_polls) return;
  s.polls = 0;
  s.unwatched += 1 << 20;  // a sample is due
  if (w.pending_key != ~0u) s.unyielding = patience + 1;
  end_turn(w);
}

/// The same, of lanes that look at these addresses of global memory: the host may be the one that writes there.
template <class At>
void note_poll(Warp& w, Mask lanes, At at) {
  note_poll(w);
  Grid& grid = *w.block->grid;
  if (!grid.memory->shared_with_host() || grid.asks_host) return;
  for (const unsigned lane : lanes_in(lanes)) {
    const Allocation* const a = grid.memory->find(at(lane), 1);
    grid.asks_host |= a && (a->shared || a->on_host);
  }
}

/// Lanes exit for good: counts them off the block, frees their frames, and wakes those that waited for them.
void retire(Warp& w, Mask lanes);

}  // namespace scanlab::vgpu
