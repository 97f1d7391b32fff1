#include "vgpu/core/warp/splits.hpp"

#include <algorithm>
#include <bit>

namespace scanlab::vgpu {

void report_executed(Warp& w) {
  const std::int64_t count = w.segment_start - w.budget;
  w.segment_start = w.budget;
  if (count <= 0) return;
  const auto n = static_cast<std::uint64_t>(count);
  for (Observer* o : w.block->grid->of_work) o->executed(w.active, n);
  for (Observer* o : w.block->grid->of_warp_work) o->executed_by(w.block->index, w.id, n);
}

void report_branch(const Warp& w, const Inst* i, Mask taken) {
  for (Observer* o : w.block->grid->observers) o->branch(actor_of(w, i), w.active, taken);
}

void update_pending(Warp& w) {
  w.pending_key = ~0u;
  for (const Split& s : w.waiting)
    if (s.state == Split::State::ready) w.pending_key = std::min(w.pending_key, s.key());
}

const Inst* run_next(Warp& w) {
  const Split* next = nullptr;
  std::uint32_t key = 0;
  for (const Split& s : w.waiting) {
    if (s.state != Split::State::ready) continue;
    const std::uint32_t own = s.key();
    if (next && (own > key || (own == key && s.pc >= next->pc))) continue;
    next = &s;
    key = own;
  }
  if (!next) {
    w.active = 0;
    w.pending_key = ~0u;
    w.stop = w.waiting.empty() ? Stop::done : Stop::waiting;
    return nullptr;
  }
  const Inst* const pc = next->pc;
  Frame* const frame = next->frame;
  w.pc = pc;
  w.frame = frame;
  w.registers = frame->registers;
  w.depth_key = depth_key(frame->depth);
  // All splits that stand at this instruction of this call run together.
  w.active =
      take_splits(w, [=](const Split& s) { return s.pc == pc && s.frame == frame && s.state == Split::State::ready; });
  update_pending(w);
  w.segment_start = w.budget;
  w.stop = Stop::none;
  return pc;
}

const Inst* reconverge(Warp& w, const Inst* target) {
  flush_executed(w);
  w.waiting.push_back({target, w.frame, w.active, Split::State::ready, 0});
  return run_next(w);
}

void set_aside(Warp& w, Mask lanes, const Inst* pc, Split::State state, std::uint32_t barrier_id) {
  flush_executed(w);
  w.active &= ~lanes;
  w.waiting.push_back({pc, w.frame, lanes, state, barrier_id});
  if (state == Split::State::ready) w.pending_key = std::min(w.pending_key, w.waiting.back().key());
}

void suspend(Warp& w, Split::State state) {
  if (!w.active) return;
  flush_executed(w);
  w.waiting.push_back({w.pc, w.frame, w.active, state, 0});
  w.active = 0;
  update_pending(w);
}

void retire(Warp& w, Mask lanes) {
  flush_executed(w);
  w.active &= ~lanes;
  w.alive &= ~lanes;
  w.block->live -= static_cast<std::uint32_t>(std::popcount(lanes));
  for (Frame* f = w.frame; f;) {
    Frame* caller = f->caller;
    f->members &= ~lanes;
    if (!f->members) leave_frame(*w.block, f);
    f = caller;
  }
  // Splits that waited for the lanes that are gone look again.
  for (Split& s : w.waiting)
    if (s.state == Split::State::sync) s.state = Split::State::ready;
  update_pending(w);
}

}  // namespace scanlab::vgpu
