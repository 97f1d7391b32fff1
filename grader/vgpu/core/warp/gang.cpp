#include "vgpu/core/warp/gang.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/report.hpp"
#include "vgpu/core/warp/control.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// Warp instructions after which a block that has neither parted nor ended lets its warps run by themselves for a
/// while: there endless loops are found.
constexpr std::uint64_t longest_run = 1 << 20;
/// A block that parts again and again before it has done this much per warp does not gather any more.
constexpr std::uint64_t short_run = 64;
constexpr std::uint32_t most_short_runs = 4;

const Inst* stop(Warp&, const Inst* i) {
  return i;
}

/// To be called when `active` of the only warp has changed.
void recount_one(Gang& g) {
  g.first = g.last = g.begin;
  g.full = g.active[g.begin] == full_mask;
  g.partial_count = 1 - g.full;
  g.partial[0] = static_cast<std::uint8_t>(g.begin);
}

/// To be called when `active` has changed.
void recount(Gang& g) {
  if (g.is_one_warp()) return recount_one(g);
  // One bit per warp.
  const auto warps_with = [&](Mask lanes) {
    return mask_where<Mask>([&](Vector<std::int32_t>& are_so, unsigned chunk) {
      are_so = vector_at(static_cast<const Mask*>(g.active), chunk) == lanes;
    });
  };
  static_assert(most_warps == warp_size);
  const std::uint32_t some = ~warps_with(0), full = warps_with(full_mask);
  g.first = some ? first_lane(some) : 0;
  g.last = some ? last_lane(some) : 0;
  g.full = static_cast<unsigned>(std::popcount(full));
  g.partial_count = 0;
  for (const unsigned k : lanes_in(some & ~full)) g.partial[g.partial_count++] = static_cast<std::uint8_t>(k);
}

/// Takes the instructions since the last count for executed by the lanes that are active still. To be called before
/// `active` changes.
[[gnu::noinline]] void count_for_observers(Gang& g) {
  const Grid& grid = *g.block.grid;
  const std::uint64_t n = std::exchange(g.uncounted, 0);
  g.full_executed += n * g.full;
  for (unsigned k = 0; k < g.partial_count; ++k)
    for (Observer* o : grid.of_work) o->executed(g.active[g.partial[k]], n);
  if (grid.of_warp_work.empty()) return;
  if (g.full + g.partial_count == g.end - g.begin)
    g.work_of_all += n;
  else
    for_each_warp(g, [&](unsigned k) { g.work[k] += g.active[k] ? n : 0; });
}
void count_executed(Gang& g) {
  if (g.uncounted && g.is_counted) count_for_observers(g);
}

/// Counts the instructions that end with `i` for every warp with active lanes.
void charge(Gang& g, const Inst* i) {
  const std::uint64_t n = charge_of(i);
  g.executed += n * (g.full + g.partial_count);
  g.uncounted += n;
}

/// What was executed goes to the grid, or off the turn of a single warp, and to the observers.
void settle(Gang& g) {
  Grid& grid = *g.block.grid;
  count_executed(g);
  if (g.is_one_warp()) {
    Warp& w = g.warp(g.begin);
    w.budget -= static_cast<std::int64_t>(g.executed);
    w.segment_start -= static_cast<std::int64_t>(g.executed);
  } else {
    grid.executed += g.executed;
  }
  if (g.full_executed)
    for (Observer* o : grid.of_work) o->executed(full_mask, g.full_executed);
  const std::uint64_t of_all = std::exchange(g.work_of_all, 0);
  for (unsigned k = g.begin; k < g.end && !grid.of_warp_work.empty(); ++k)
    if (const std::uint64_t count = of_all + std::exchange(g.work[k], 0))
      for (Observer* o : grid.of_warp_work) o->executed_by(g.block.index, k, count);
  if (g.full_additions)
    for (Observer* o : grid.of_work) o->addition(full_mask, g.full_additions);
  g.executed = g.full_executed = g.full_additions = 0;
}

/// Control flows to `target`; what came before has been charged.
const Step* go_to(Gang& g, const Step* target) {
  if (g.executed < g.limit) [[likely]]
    return target;
  if (!g.is_one_warp()) return part(g, target);
  g.warp(g.begin).pc = target->inst;
  return nullptr;
}

const Step* jump(Gang& g, const Step* s) {
  charge(g, s->inst);
  return go_to(g, s->to);
}

const Step* fall_through(Gang& g, const Step* s) {
  charge(g, s->inst);
  return go_to(g, s + 1);
}

/// Which lanes of each warp jump goes to Gang::taken.
void find_taken(Gang& g, const Inst* i) {
  const Mask flip = i->op[1] ? full_mask : 0;
  for_each_warp(g, [&](unsigned k) { g.taken[k] = (predicate_at(g, k, i->op[0]) ^ flip) & g.active[k]; });
}

void report_branches(Gang& g, const Inst* i) {
  if (!(g.block.grid->interests & Observer::branches)) return;
  for_each_active_warp(g, [&](unsigned k) {
    g.warp(k).active = g.active[k];
    report_branch(g.warp(k), i, g.taken[k]);
  });
}

/// All warps go on with the lanes that entered the region.
void leave_region(Gang& g, const Gang::Region& r) {
  count_executed(g);
  for_each_warp(g, [&](unsigned k) { g.active[k] = r.outer[k]; });
  recount(g);
}

/// The lanes that wait for the second side of the region are active now. False when there are none.
bool turn_to_other(Gang& g, Gang::Region& r, const Inst* skip) {
  Mask any = 0;
  for_each_warp(g, [&](unsigned k) { any |= r.other[k]; });
  if (!any) return false;
  count_executed(g);
  for_each_warp(g, [&](unsigned k) { g.active[k] = std::exchange(r.other[k], 0); });
  r.skip = skip;
  recount(g);
  return true;
}

const Step* barrier(Gang& g, const Step* s) {
  const Inst* i = s->inst;
  if (g.is_one_warp() || g.full != g.end || g.block.barriers_in_use) return part(g, s);
  charge(g, i);
  const Grid& grid = *g.block.grid;
  const std::uint32_t id = g.warp(0).lanes<std::uint32_t>(i->op[0])[0];
  if (grid.interests & Observer::arrivals)
    for (unsigned k = 0; k < g.end; ++k)
      for (Observer* o : grid.observers)
        o->barrier_arrive(actor_of(g.warp(k), i), full_mask, id, Observer::Arrival::waits);
  const Actor last = actor_of(g.warp(g.end - 1), i);
  for (Observer* o : grid.observers) o->barrier_complete(last, id, Observer::Meeting::all);
  ++g.block.barriers_released;
  return s + 1;
}

const Step* exit(Gang& g, const Step* s) {
  if (g.is_one_warp() || g.full != g.end || g.block.barriers_in_use) return part(g, s);
  charge(g, s->inst);
  // No lane waits for another, and the frames stay where they are for the next block.
  for (unsigned k = 0; k < g.end; ++k) {
    g.warp(k).active = g.warp(k).alive = 0;
    g.warp(k).stop = Stop::done;
  }
  g.block.live = 0;
  g.block.frames_stay = true;
  return nullptr;
}

/// A barrier of all threads of the block whose number is known.
bool is_plain_barrier(const Inst& i, const std::vector<Program::Constant>& known) {
  if (i.aux != 0) return false;
  return std::any_of(known.begin(), known.end(),
                     [&](const Program::Constant& c) { return c.place == i.op[0] && c.bits < barriers_per_block; });
}

/// What the code for any warp has too.
StepHandler control_step(const Inst& i, const std::vector<Program::Constant>& known) {
  if (i.run == control::jump) return jump;
  if (i.run == control::fall_through || i.run == control::checkpoint) return fall_through;
  if (i.run == control::ret || i.run == control::exit) return exit;
  if (i.run == control::barrier && is_plain_barrier(i, known)) return barrier;
  return part;
}

/// The steps from `s` on, and then the gang is no more.
void run_steps(Gang& g, const Step* s) {
  try {
    while (s) s = s->run(g, s);
  } catch (FaultException&) {
    settle(g);
    std::fill(g.active + g.begin, g.active + g.end, 0);
    throw;
  }
  settle(g);
}

/// visit.operator()<T>() for the lanes of the register.
template <class Visit>
auto with_lanes_of(const PairedRegister& r, Visit visit) {
  return r.bytes == 2   ? visit.template operator()<u16>()
         : r.bytes == 4 ? visit.template operator()<u32>()
                        : visit.template operator()<u64>();
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
  w.block->gang->column(r.pair).set(w.id, pair);
  return true;
}

}  // namespace

Gang::Gang(Block& owner)
    : block(owner),
      code(owner.grid->image->entry->convergent),
      row_lanes(owner.grid->image->row_lanes),
      width((static_cast<unsigned>(owner.warps.size()) + 7) / 8 * 8),
      memory(make_lane_bytes(std::max<std::size_t>(64, 3 * sizeof(std::uint64_t) * code.pairs * width))),
      columns(reinterpret_cast<std::uint64_t*>(memory.get())),
      is_counted(!owner.grid->of_work.empty() || !owner.grid->of_warp_work.empty()) {
  for (const ConvergentCode::Constant& c : code.constants) std::fill_n(column(c.pair).value, width, c.value);
}

void make_steps(ConvergentCode& made, const std::vector<StepForm>& forms, const std::vector<Program::Constant>& known) {
  const std::vector<Inst>& code = made.code;
  made.steps.resize(code.size());
  // Up to three instructions and an end for each, so that none moves.
  made.alone.reserve(4 * code.size());
  std::uint8_t regions = 0;
  for (std::size_t k = 0; k < code.size(); ++k) {
    const Inst& i = code[k];
    Step& s = made.steps[k];
    s.inst = &i;
    s.run = forms[k].run ? forms[k].run : control_step(i, known);
    s.is_addition = forms[k].is_addition;
    s.regions = regions;
    if (s.run == open_region) regions |= static_cast<std::uint8_t>(1u << i.op[2]);
    if (s.run == close_region) regions &= static_cast<std::uint8_t>(~(1u << i.op[2]));
    if (s.run == jump || s.run == branch_together || s.run == open_region || s.run == end_first_side)
      s.to = &made.steps[static_cast<std::size_t>(reinterpret_cast<const Inst*>(i.imm) - code.data())];
    if (s.run != each_alone && s.run != each_together) continue;
    // A guard has what it guards, and the end of that, done with it.
    s.count = i.run == control::guard ? 3 : 1;
    s.alone = made.alone.data() + made.alone.size();
    made.alone.insert(made.alone.end(), &i, &i + s.count);
    made.alone.emplace_back().run = stop;
  }
}

const Inst* run_as_gang(Warp& w, const Inst* i) {
  flush_executed(w);
  Gang& g = *w.block->gang;
  const unsigned k = g.begin = w.id;
  g.end = k + 1;
  g.active[k] = w.active;
  recount_one(g);
  g.limit = static_cast<std::uint64_t>(std::max<std::int64_t>(w.budget, 0));
  g.then = nullptr;
  run_steps(g, &g.code.steps[static_cast<std::size_t>(i - g.code.code.data())]);
  w.active = std::exchange(g.active[k], 0);
  return g.then ? g.then(w, g.next) : nullptr;
}

bool stands_together(const Block& block) {
  const std::size_t count = block.warps.size();
  if (!block.gang || count < 2 || count > most_warps) return false;
  const std::vector<Inst>& code = block.gang->code.code;
  const Inst* pc = block.warps.front().pc;
  if (std::less<>()(pc, code.data()) || static_cast<std::size_t>(pc - code.data()) >= code.size()) return false;
  return std::all_of(block.warps.begin(), block.warps.end(), [&](const Warp& w) {
    return w.pc == pc && w.active == full_mask && w.stop == Stop::none && w.waiting.empty() && !w.frame->caller;
  });
}

void run_together(Block& block) {
  Gang& g = *block.gang;
  g.begin = g.first = 0;
  g.end = g.full = static_cast<unsigned>(block.warps.size());
  g.last = g.end - 1;
  g.partial_count = 0;
  g.limit = longest_run * g.end;
  block.is_as_before = false;
  std::fill_n(g.active, g.end, full_mask);
  try {
    run_steps(g, &g.code.steps[static_cast<std::size_t>(block.warps.front().pc - g.code.code.data())]);
  } catch (FaultException& f) {
    if (f.fault.kernel.empty()) complete(f.fault, g.warp(g.at), g.warp(g.at).pc, f.lane);
    throw;
  }
  std::fill_n(g.active, g.end, 0);
}

const Step* part(Gang& g, const Step* s) {
  if (g.is_one_warp()) {
    g.next = s->inst;
    g.then = s->inst->run;
    return nullptr;
  }
  if (g.executed < short_run * g.end) ++g.block.short_runs;
  if (g.block.short_runs >= most_short_runs) g.block.rejoins = false;
  for (unsigned k = 0; k < g.end; ++k) {
    Warp& w = g.warp(k);
    w.pc = s->inst;
    w.active = g.active[k];
    for (unsigned open = s->regions; open; open &= open - 1) {
      Gang::Region& r = g.regions[std::countr_zero(open)];
      const unsigned within = open & (open - 1);
      const Mask inside = within ? g.regions[std::countr_zero(within)].outer[k] : g.active[k];
      if (inside || !r.outer[k]) continue;
      // It has skipped the side that runs now.
      w.pc = r.skip;
      w.active = r.outer[k];
      r.other[k] = 0;
      break;
    }
  }
  return nullptr;
}

const Step* part_or_leave(Gang& g, const Step* s) {
  part(g, s);
  g.then = leave;
  return nullptr;
}

const Inst* leave(Warp& w, const Inst* i) {
  const Gang& g = *w.block->gang;
  const Leave& how = g.code.leaves[i->aux];
  for (const PairedRegister& r : how.live)
    with_lanes_of(r, [&]<class T> { spread(w.lanes<T>(r.lanes), g.column(r.pair).of(w.id), g.row_lanes); });
  for (const Leave::Side& side : how.sides) {
    // Lanes outside stay at the join of the region that they do not run in now, or have the second side before them.
    const Mask inside = &side == &how.sides.back() ? w.active : g.regions[(&side + 1)->depth].outer[w.id];
    const Mask other = side.is_first ? g.regions[side.depth].other[w.id] : 0;
    const Mask at_join = g.regions[side.depth].outer[w.id] & ~inside & ~other;
    if (other) w.waiting.push_back({side.other, w.frame, other, Split::State::ready, 0});
    if (at_join) w.waiting.push_back({side.join, w.frame, at_join, Split::State::ready, 0});
  }
  update_pending(w);
  return how.to->run(w, how.to);
}

const Inst* come_back(Warp& w, const WayBack& how) {
  const auto fits = [&](const PairedRegister& r) {
    return with_lanes_of(r, [&]<class T> { return collect<T>(w, r); });
  };
  return std::ranges::all_of(how.live, fits) ? how.to : nullptr;
}

void report_additions(Gang& g) {
  g.full_additions += g.full;
  if (g.partial_count == 0) return;
  for (Observer* o : g.block.grid->of_work)
    for (unsigned k = 0; k < g.partial_count; ++k) o->addition(g.active[g.partial[k]], 1);
}

const Step* each_alone(Gang& g, const Step* s) {
  if (g.is_one_warp()) return part(g, s);
  const Inst* const end = s->alone + s->count;
  for (unsigned k = 0; k < g.end; ++k) {
    if (!g.active[k]) continue;
    Warp& w = g.warp(k);
    w.active = g.active[k];
    g.at = k;
    for (const Inst* i = s->alone; i != end;) i = i->run(w, i);
  }
  return s + s->count;
}

const Step* each_together(Gang& g, const Step* s) {
  return g.partial_count ? part(g, s) : each_alone(g, s);
}

const Step* branch_together(Gang& g, const Step* s) {
  find_taken(g, s->inst);
  Mask some = 0, not_all = 0;
  for_each_warp(g, [&](unsigned k) {
    some |= g.taken[k];
    not_all |= g.taken[k] ^ g.active[k];
  });
  if (some && not_all) return part_or_leave(g, s);
  charge(g, s->inst);
  report_branches(g, s->inst);
  return go_to(g, some ? s->to : s + 1);
}

const Step* open_region(Gang& g, const Step* s) {
  const Inst* i = s->inst;
  Gang::Region& r = g.regions[i->op[2]];
  find_taken(g, i);
  charge(g, i);
  report_branches(g, i);
  const bool has_other = i->op[3];
  r.skip = reinterpret_cast<const Inst*>(i->imm);
  count_executed(g);
  Mask any = 0;
  for_each_warp(g, [&](unsigned k) {
    r.outer[k] = g.active[k];
    r.other[k] = g.taken[k];
    g.active[k] &= ~g.taken[k];
    any |= g.active[k];
  });
  if (any) {
    recount(g);
    return go_to(g, s + 1);
  }
  if (!has_other || !turn_to_other(g, r, nullptr)) leave_region(g, r);
  return go_to(g, s->to);
}

const Step* end_first_side(Gang& g, const Step* s) {
  const Inst* i = s->inst;
  Gang::Region& r = g.regions[i->op[2]];
  charge(g, i);
  if (turn_to_other(g, r, reinterpret_cast<const Inst*>(i->imm))) return go_to(g, s + i->aux);
  leave_region(g, r);
  return go_to(g, s->to);
}

const Step* close_region(Gang& g, const Step* s) {
  charge(g, s->inst);
  leave_region(g, g.regions[s->inst->op[2]]);
  return go_to(g, s + 1);
}

}  // namespace scanlab::vgpu
