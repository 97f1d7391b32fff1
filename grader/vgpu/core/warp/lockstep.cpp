#include "vgpu/core/warp/lockstep.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/report.hpp"
#include "vgpu/core/warp/control.hpp"
#include "vgpu/core/warp/convergent.hpp"
#include "vgpu/core/warp/executing.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// Warp instructions after which a block that has neither left lockstep nor ended lets its warps run by themselves for
/// a while: there endless loops are found.
constexpr std::uint64_t longest_run = 1 << 20;
/// A block that leaves lockstep again and again before it has done this much per warp stays out of it.
constexpr std::uint64_t short_run = 64;
constexpr std::uint32_t most_short_runs = 4;
/// With more pairs than this, entering and leaving costs more than a stretch in lockstep saves.
constexpr std::size_t most_columns = 512;

const Inst* stop(Warp&, const Inst* i) {
  return i;
}

Pair& pair_in_frame(Lockstep& l, unsigned k, OperandRef ref) {
  return *reinterpret_cast<Pair*>(l.registers[k] + ref);
}

/// To be called when `active` has changed.
void recount(Lockstep& l) {
  // One bit per warp.
  const auto warps_with = [&](Mask lanes) {
    return mask_where<Mask>([&](Vector<std::int32_t>& are_so, unsigned chunk) {
      are_so = vector_at(static_cast<const Mask*>(l.active), chunk) == lanes;
    });
  };
  static_assert(most_warps == warp_size);
  const std::uint32_t some = ~warps_with(0), full = warps_with(full_mask);
  l.first = some ? static_cast<unsigned>(std::countr_zero(some)) : 0;
  l.last = some ? 31 - static_cast<unsigned>(std::countl_zero(some)) : 0;
  l.full = static_cast<unsigned>(std::popcount(full));
  l.partial_count = 0;
  for_each_lane(some & ~full, [&](unsigned k) { l.partial[l.partial_count++] = static_cast<std::uint8_t>(k); });
}

/// Instructions of each warp by all its lanes, since this thread last reported them to the observers.
alignas(64) thread_local std::uint64_t full_work[most_warps];

/// Counts the instructions that end with `i` for every warp with active lanes.
void charge(Lockstep& l, const Inst* i) {
  const std::uint64_t n = charge_of(i);
  l.executed += n * (l.full + l.partial_count);
  l.full_executed += n * l.full;
  if (n == 0 || l.block.grid->of_work.empty()) return;
  std::uint64_t* const work = full_work;
  for (unsigned k = 0; k < most_warps; ++k) work[k] += l.active[k] == full_mask ? n : 0;
  for (unsigned k = 0; k < l.partial_count; ++k) {
    set_executing({l.block.index, l.partial[k]});
    for (Observer* o : l.block.grid->of_work) o->executed(l.active[l.partial[k]], n);
  }
}

void report_branches(Lockstep& l, const Inst* i, const Mask* taken) {
  for (unsigned k = 0; k < l.count; ++k) {
    if (!l.active[k]) continue;
    l.warp(k).active = l.active[k];
    report_branch(l.warp(k), i, taken[k]);
  }
}

/// What was executed goes to the grid and to the observers.
void settle(Lockstep& l) {
  Grid& grid = *l.block.grid;
  grid.executed += l.executed;
  for (unsigned k = 0; l.full_executed && k < l.count && !grid.of_work.empty(); ++k) {
    const std::uint64_t count = std::exchange(full_work[k], 0);
    if (count == 0) continue;
    set_executing({l.block.index, k});
    for (Observer* o : grid.of_work) o->executed(full_mask, count);
  }
  if (l.full_additions)
    for (Observer* o : grid.of_work) o->addition(full_mask, l.full_additions);
  l.executed = l.full_executed = l.full_additions = 0;
}

const Step* go_to(Lockstep& l, const Step* target) {
  return l.executed < l.limit ? target : part(l, target);
}

const Step* jump(Lockstep& l, const Step* s) {
  charge(l, s->inst);
  return go_to(l, s->to);
}

const Step* fall_through(Lockstep& l, const Step* s) {
  charge(l, s->inst);
  return s + 1;
}

/// Which lanes of each warp jump; none of those after the last.
struct Taken {
  alignas(64) Mask of[most_warps] = {};
  Taken(Lockstep& l, const Inst* i) {
    const Mask flip = i->op[1] ? full_mask : 0;
    for (unsigned k = 0; k < l.count; ++k) of[k] = predicate_at(l, k, i->op[0]) ^ flip;
    for (unsigned k = 0; k < most_warps; ++k) of[k] &= l.active[k];
  }
};

const Step* branch(Lockstep& l, const Step* s) {
  const Taken taken(l, s->inst);
  Mask some = 0, not_all = 0;
  for (unsigned k = 0; k < most_warps; ++k) {
    some |= taken.of[k];
    not_all |= taken.of[k] ^ l.active[k];
  }
  if (some && not_all) return part(l, s);
  charge(l, s->inst);
  if (l.block.grid->interests & Observer::branches) report_branches(l, s->inst, taken.of);
  return go_to(l, some ? s->to : s + 1);
}

/// All warps go on with the lanes that entered the innermost region.
void leave_region(Lockstep& l) {
  std::copy_n(l.regions[--l.open].outer, most_warps, l.active);
  recount(l);
}

/// The lanes that wait for the second side of the innermost region are active now. False when there are none.
bool turn_to_other(Lockstep& l, const Inst* skip) {
  Lockstep::Region& r = l.regions[l.open - 1];
  Mask any = 0;
  for (unsigned k = 0; k < most_warps; ++k) any |= r.other[k];
  if (!any) return false;
  for (unsigned k = 0; k < most_warps; ++k) l.active[k] = std::exchange(r.other[k], 0);
  r.skip = skip;
  recount(l);
  return true;
}

const Step* open_region(Lockstep& l, const Step* s) {
  const Inst* i = s->inst;
  Lockstep::Region& r = l.regions[l.open++];
  const Taken taken(l, i);
  charge(l, i);
  if (l.block.grid->interests & Observer::branches) report_branches(l, i, taken.of);
  const bool has_other = i->op[3];
  r.depth = i->op[2];
  r.skip = reinterpret_cast<const Inst*>(i->imm);
  Mask any = 0;
  for (unsigned k = 0; k < most_warps; ++k) {
    r.outer[k] = l.active[k];
    r.other[k] = taken.of[k];
    l.active[k] &= ~taken.of[k];
    any |= l.active[k];
  }
  if (any) {
    recount(l);
    return s + 1;
  }
  if (!has_other || !turn_to_other(l, nullptr)) leave_region(l);
  return s->to;
}

const Step* end_first_side(Lockstep& l, const Step* s) {
  charge(l, s->inst);
  if (turn_to_other(l, reinterpret_cast<const Inst*>(s->inst->imm))) return s + s->inst->aux;
  leave_region(l);
  return s->to;
}

const Step* close_region(Lockstep& l, const Step* s) {
  charge(l, s->inst);
  leave_region(l);
  return s + 1;
}

const Step* barrier(Lockstep& l, const Step* s) {
  const Inst* i = s->inst;
  if (l.full != l.count || l.block.barriers_in_use) return part(l, s);
  charge(l, i);
  const Grid& grid = *l.block.grid;
  const std::uint32_t id = l.warp(0).lanes<std::uint32_t>(i->op[0])[0];
  if (grid.interests & Observer::arrivals)
    for (unsigned k = 0; k < l.count; ++k)
      for (Observer* o : grid.observers)
        o->barrier_arrive(actor_of(l.warp(k), i), full_mask, id, Observer::Arrival::waits);
  const Actor last = actor_of(l.warp(l.count - 1), i);
  for (Observer* o : grid.observers) o->barrier_complete(last, id, Observer::Meeting::all);
  ++l.block.barriers_released;
  return s + 1;
}

const Step* exit(Lockstep& l, const Step* s) {
  if (l.full != l.count || l.block.barriers_in_use) return part(l, s);
  charge(l, s->inst);
  settle(l);
  // No lane waits for another, and the frames stay where they are for the next block.
  for (unsigned k = 0; k < l.count; ++k) {
    l.warp(k).active = l.warp(k).alive = 0;
    l.warp(k).stop = Stop::done;
  }
  l.block.live = 0;
  l.block.frames_stay = true;
  return nullptr;
}

/// A barrier of all threads of the block whose number is known.
bool is_plain_barrier(const Program& program, const Inst& i) {
  if (i.aux != 0) return false;
  return std::any_of(program.constants.begin(), program.constants.end(),
                     [&](const Program::Constant& c) { return c.place == i.op[0] && c.bits < barriers_per_block; });
}

StepHandler control_step(const Program& program, const Inst& i) {
  if (i.run == control::jump) return jump;
  if (i.run == control::fall_through || i.run == control::checkpoint) return fall_through;
  if (i.run == vgpu::branch_together) return branch;
  if (i.run == vgpu::open_region) return open_region;
  if (i.run == vgpu::end_first_side) return end_first_side;
  if (i.run == vgpu::close_region) return close_region;
  if (i.run == control::ret || i.run == control::exit) return exit;
  if (i.run == control::barrier && is_plain_barrier(program, i)) return barrier;
  return nullptr;
}

bool jumps(StepHandler run) {
  return run == jump || run == branch || run == open_region || run == end_first_side;
}

}  // namespace

Lockstep::Lockstep(Block& owner)
    : block(owner),
      program(*owner.grid->image->entry),
      row_lanes(owner.grid->image->row_lanes),
      columns(program.lockstep.columns.size()) {}

void make_lockstep(Program& program, const std::vector<LockstepForm>& forms) {
  const std::vector<Inst>& code = program.convergent;
  LockstepCode& made = program.lockstep;
  made.steps.resize(code.size());
  // Up to three instructions and an end for each, so that none moves.
  made.alone.reserve(4 * code.size());
  std::unordered_map<OperandRef, std::uint16_t> numbers;
  for (std::size_t k = 0; k < code.size(); ++k) {
    const Inst& i = code[k];
    Step& s = made.steps[k];
    s.inst = &i;
    s.run = control_step(program, i);
    if (s.run) {
      if (jumps(s.run))
        s.to = &made.steps[static_cast<std::size_t>(reinterpret_cast<const Inst*>(i.imm) - code.data())];
      continue;
    }
    s.run = forms[k].run ? forms[k].run : part;
    if (s.run == part) continue;
    s.pairs = forms[k].pairs;
    s.is_addition = forms[k].is_addition;
    for (unsigned n = 0; n < 8; ++n)
      if (s.pairs >> n & 1) {
        const auto [it, is_new] = numbers.try_emplace(i.op[n], static_cast<std::uint16_t>(made.columns.size()));
        if (is_new) made.columns.push_back(i.op[n]);
        s.column[n] = it->second;
      }
    s.count = i.run == control::guard ? 3 : 1;
    s.alone = made.alone.data() + made.alone.size();
    made.alone.insert(made.alone.end(), code.begin() + static_cast<std::ptrdiff_t>(k),
                      code.begin() + static_cast<std::ptrdiff_t>(k + s.count));
    made.alone.push_back(i);
    made.alone.back().run = stop;
    // Steps whose inst is guarded are never reached: the guard has them done.
    k += s.count - 1;
  }
  if (made.columns.size() > most_columns) made = {};
}

bool stands_together(const Block& block) {
  const Program& program = *block.grid->image->entry;
  const std::size_t count = block.warps.size();
  if (program.lockstep.steps.empty() || count < 2 || count > most_warps) return false;
  const Inst* pc = block.warps.front().pc;
  const auto at = static_cast<std::size_t>(pc - program.convergent.data());
  if (std::less<>()(pc, program.convergent.data()) || at >= program.convergent.size()) return false;
  return std::all_of(block.warps.begin(), block.warps.end(), [&](const Warp& w) {
    return w.pc == pc && w.active == full_mask && w.stop == Stop::none && w.waiting.empty() && !w.frame->caller;
  });
}

void run_in_lockstep(Block& block) {
  if (!block.lockstep) block.lockstep = std::make_unique<Lockstep>(block);
  Lockstep& l = *block.lockstep;
  l.count = static_cast<unsigned>(block.warps.size());
  l.limit = longest_run * l.count;
  l.open = 0;
  std::fill_n(l.active, most_warps, 0);
  std::fill_n(l.active, l.count, full_mask);
  l.first = 0;
  l.last = l.count - 1;
  l.full = l.count;
  l.partial_count = 0;
  // After a block that has left its frames in place, the constants are where they were, and nothing else is written.
  for (unsigned k = 0; k < l.count && !block.is_as_before; ++k) {
    l.registers[k] = block.warps[k].registers;
    for (std::size_t n = 0; n < l.columns.size(); ++n)
      l.columns[n].set(k, pair_in_frame(l, k, l.program.lockstep.columns[n]));
  }
  block.is_as_before = false;
  const Step* s =
      &l.program.lockstep.steps[static_cast<std::size_t>(block.warps.front().pc - l.program.convergent.data())];
  try {
    while (s) s = s->run(l, s);
  } catch (FaultException& f) {
    settle(l);
    if (f.fault.kernel.empty()) complete(f.fault, l.warp(l.at), l.warp(l.at).pc, f.lane);
    throw;
  }
}

const Step* part(Lockstep& l, const Step* s) {
  if (l.executed < short_run * l.count) ++l.block.short_runs;
  if (l.block.short_runs >= most_short_runs) l.block.rejoins = false;
  settle(l);
  for (unsigned k = 0; k < l.count; ++k) {
    Warp& w = l.warp(k);
    for (std::size_t n = 0; n < l.columns.size(); ++n)
      pair_in_frame(l, k, l.program.lockstep.columns[n]) = l.columns[n].of(k);
    w.pc = s->inst;
    w.active = l.active[k];
    for (unsigned d = 0; d < l.open; ++d) {
      const Lockstep::Region& r = l.regions[d];
      w.outer[r.depth] = r.outer[k];
      w.other[r.depth] = r.other[k];
      const Mask inside = d + 1 < l.open ? l.regions[d + 1].outer[k] : l.active[k];
      if (inside || !r.outer[k]) continue;
      // It has skipped the side that runs now.
      w.pc = r.skip;
      w.active = r.outer[k];
      w.other[r.depth] = 0;
      break;
    }
  }
  return nullptr;
}

void run_alone(Lockstep& l, const Step* s, unsigned k) {
  Warp& w = l.warp(k);
  w.active = l.active[k];
  l.at = k;
  for (unsigned n = 0; n < 8; ++n)
    if (s->pairs >> n & 1) pair_in_frame(l, k, s->inst->op[n]) = l.columns[s->column[n]].of(k);
  const Inst* const end = s->alone + s->count;
  for (const Inst* i = s->alone; i != end;) i = i->run(w, i);
  if (s->pairs & 1) l.columns[s->column[0]].set(k, pair_in_frame(l, k, s->inst->op[0]));
}

const Step* each_alone(Lockstep& l, const Step* s) {
  if (s->pairs) {
    for (unsigned k = 0; k < l.count; ++k)
      if (l.active[k]) run_alone(l, s, k);
    return s + s->count;
  }
  const Inst* const end = s->alone + s->count;
  for (unsigned k = 0; k < l.count; ++k) {
    if (!l.active[k]) continue;
    Warp& w = l.warp(k);
    w.active = l.active[k];
    l.at = k;
    for (const Inst* i = s->alone; i != end;) i = i->run(w, i);
  }
  return s + s->count;
}

void report_additions(Lockstep& l) {
  l.full_additions += l.full;
  if (l.partial_count == 0) return;
  for (Observer* o : l.block.grid->of_work)
    for (unsigned k = 0; k < l.partial_count; ++k) o->addition(l.active[l.partial[k]], 1);
}

const Step* each_together(Lockstep& l, const Step* s) {
  if (l.partial_count) return part(l, s);
  return each_alone(l, s);
}

}  // namespace scanlab::vgpu
