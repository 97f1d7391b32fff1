#include "vgpu/core/warp/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/core/decode/decode.hpp"
#include "vgpu/core/memory/addressing.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace control {
namespace {

const Inst* target_of(const Inst* i) {
  return reinterpret_cast<const Inst*>(i->imm);
}

/// Copies the .param variable `from` of one frame to `to` of another, for the lanes of `mask`.
void copy_slot(std::byte* to_base, const Program::Slot& to, const std::byte* from_base, const Program::Slot& from,
               Mask mask) {
  const std::uint32_t bytes = std::min(to.size, from.size);
  for (const unsigned l : lanes_in(mask))
    std::memcpy(to_base + to.offset + l * to.size, from_base + from.offset + l * from.size, bytes);
}

/// From here on nobody has written the .param variable, for the lanes of `mask`.
void forget_slot(const Warp& w, std::byte* base, const Program::Slot& slot, Mask mask) {
  for (const unsigned l : lanes_in(mask))
    std::memset(base + slot.offset + l * slot.size, static_cast<int>(w.block->grid->memory->filler), slot.size);
}

/// The frame of other lanes of the warp that are in this very call already, or null. Lanes with the same call stack
/// share frames, whenever they came: so they meet at the *.sync instructions of the callee, and reconverge.
Frame* entered_by_others(const Warp& w, const Inst* i, const Program& callee) {
  for (const Split& s : w.waiting) {
    Frame* f = s.frame;
    while (f->depth > w.frame->depth + 1) f = f->caller;
    if (f->caller == w.frame && f->call == i && f->program == &callee) return f;
  }
  return nullptr;
}

const Inst* enter(Warp& w, const Inst* i, const Program& callee, const Program::Call& call) {
  flush_executed(w);
  Frame* frame = entered_by_others(w, i, callee);
  if (frame)
    frame->members |= w.active;
  else
    frame = enter_frame(*w.block, callee, w.frame, i, w.active);
  const std::size_t arguments = std::min(call.arguments.size(), callee.parameters.size());
  for (std::size_t k = 0; k < arguments; ++k)
    copy_slot(frame->registers, callee.parameters[k], w.registers, call.arguments[k], w.active);
  for (const Program::Slot& argument : call.arguments) forget_slot(w, w.registers, argument, w.active);
  for (const Program::Slot& result : callee.returns) forget_slot(w, frame->registers, result, w.active);
  const std::uint64_t top = frame->local_base + callee.local_bytes;
  if (top > w.local_stride) grow_local(w, top);
  // Nothing is left of what an earlier call has written there.
  for (const unsigned lane : lanes_in(w.local_written > frame->local_base ? w.active : 0))
    std::memset(w.local.data() + lane * w.local_stride + frame->local_base,
                static_cast<int>(w.block->grid->memory->filler), callee.local_bytes);
  w.frame = frame;
  w.registers = frame->registers;
  w.depth_key = depth_key(frame->depth);
  return go_to(w, callee.code.data());
}

}  // namespace

const Inst* jump(Warp& w, const Inst* i) {
  charge(w, i);
  return go_to(w, target_of(i));
}

const Inst* fall_through(Warp& w, const Inst* i) {
  charge(w, i);
  return go_to(w, i + 1);
}

const Inst* checkpoint(Warp& w, const Inst* i) {
  charge(w, i);
  if (w.budget <= 0) {
    w.pc = i + 1;
    return nullptr;
  }
  return proceed(w, i + 1);
}

const Inst* branch(Warp& w, const Inst* i) {
  charge(w, i);
  Mask p = w.predicate(i->op[0]);
  if (i->aux & 1) p = ~p;
  const Mask taken = p & w.active;
  if (is_observed(w, Observer::branches)) [[unlikely]]
    report_branch(w, i, taken);
  if (taken == w.active) return go_to(w, target_of(i));
  if (taken == 0) return go_to(w, i + 1);
  const Inst* jumps = target_of(i);
  if (jumps == i + 1) return go_to(w, jumps);
  // The side that is earlier in the order runs, the other waits.
  if (jumps->rank < (i + 1)->rank) {
    set_aside(w, w.active & ~taken, i + 1, Split::State::ready);
    return go_to(w, jumps);
  }
  set_aside(w, taken, jumps, Split::State::ready);
  return go_to(w, i + 1);
}

const Inst* jump_table(Warp& w, const Inst* i) {
  const auto& table = w.frame->program->jump_tables[i->aux];
  const std::uint32_t* index = w.lanes<std::uint32_t>(i->op[0]);
  w.pc = i;
  charge(w, i);
  flush_executed(w);
  for (const unsigned l : lanes_in(w.active)) {
    if (index[l] >= table.size()) raise(Fault::Kind::trap, l, "jump outside the table of a switch");
    w.waiting.push_back({table[index[l]], w.frame, Mask{1} << l, Split::State::ready, 0});
  }
  return run_next(w);
}

const Inst* guard(Warp& w, const Inst* i) {
  Mask p = w.predicate(i->op[0]);
  if (i->aux & 1) p = ~p;
  p &= w.active;
  if (!p) return proceed(w, i + 3);
  w.guarded = w.active;
  w.active = p;
  return proceed(w, i + 1);
}

const Inst* unguard(Warp& w, const Inst* i) {
  w.active = w.guarded;
  return proceed(w, i + 1);
}

const Inst* call(Warp& w, const Inst* i) {
  w.pc = i;
  charge(w, i);
  const Program::Call& c = w.frame->program->calls[i->aux];
  return enter(w, i, *c.callee, c);
}

/// Are there as many, of the same sizes?
static bool have_same_sizes(const std::vector<Program::Slot>& a, const std::vector<Program::Slot>& b) {
  return std::ranges::equal(a, b, {}, &Program::Slot::bytes, &Program::Slot::bytes);
}

const Inst* call_indirect(Warp& w, const Inst* i) {
  w.pc = i;
  const Program::Call& c = w.frame->program->calls[i->aux];
  const std::uint64_t* address = w.lanes<std::uint64_t>(c.target);
  const auto first = first_lane(w.active);
  const Mask same = lanes_where(w.active, [&](unsigned l) { return address[l] == address[first]; });
  const Program* callee = w.frame->program->image->function_at(address[first]);
  if (!callee) raise(Fault::Kind::trap, first, "call through a pointer that is no device function");
  // What a parameter holds that is not passed, and a result that is not returned, PTX leaves open.
  if (is_observed(w) &&
      !(have_same_sizes(c.arguments, callee->parameters) && have_same_sizes(c.results, callee->returns)))
    for (Observer* o : w.block->grid->observers) o->depends(actor_of(w, i), same, Dependence::open_form);
  // Lanes that call something else execute this instruction again, in their turn. Only a checkpoint has been passed.
  if (same != w.active) set_aside(w, w.active & ~same, i, Split::State::ready);
  charge(w, i);
  return enter(w, i, *callee, c);
}

const Inst* ret(Warp& w, const Inst* i) {
  Frame* frame = w.frame;
  if (!frame->caller) return exit(w, i);
  charge(w, i);
  flush_executed(w);
  const Program::Call& c = frame->caller->program->calls[frame->call->aux];
  const std::size_t results = std::min(c.results.size(), frame->program->returns.size());
  for (std::size_t k = 0; k < results; ++k)
    copy_slot(frame->caller->registers, c.results[k], frame->registers, frame->program->returns[k], w.active);
  const Inst* back = frame->call + 1;
  w.frame = frame->caller;
  w.registers = w.frame->registers;
  w.depth_key = depth_key(w.frame->depth);
  frame->members &= ~w.active;
  if (!frame->members) leave_frame(*w.block, frame);
  return go_to(w, back);
}

const Inst* exit(Warp& w, const Inst* i) {
  w.pc = i;
  charge(w, i);
  retire(w, w.active);
  release_barriers(*w.block);
  return run_next(w);
}

const Inst* trap(Warp& w, const Inst* i) {
  w.pc = i;
  const auto lane = first_lane(w.active);
  const ptx::Module& module = *w.block->grid->image->module;
  const auto places = places_of(module, i->line);
  const auto constant = std::ranges::find(module.variables, StateSpace::constant, &ptx::Variable::space);
  const bool has_line = !places.empty() && places.front().line != 0;  // mostly, nvcc's own have none
  if (has_line && (constant == module.variables.end() || places.size() > 1))
    raise(Fault::Kind::trap, lane, "the kernel executed a trap (__trap())");
  if (constant == module.variables.end())
    raise(Fault::Kind::trap, lane, "the kernel executed a trap that the compiler has put there",
          "nvcc puts a trap in the place of code that can only go wrong: look at its warnings");
  raise(Fault::Kind::trap, lane,
        fmt::format(
            "the kernel executed a trap{} that the compiler has put there, perhaps for a store to constant memory "
            "({})",
            has_line ? " (__trap()), or one" : "", ptx::source_name(constant->name)),
        "device code can only read __constant__ memory: write it from the host, with cudaMemcpyToSymbol (nvcc warns of "
        "such a store)");
}

const Inst* breakpoint(Warp& w, const Inst* i) {
  w.pc = i;
  raise(Fault::Kind::trap, first_lane(w.active), "the kernel reached a breakpoint (__brkpt())",
        "there is no debugger here: remove it");
}

const Inst* count_round(Warp& w, const Inst* i) {
  auto* rounds = w.lanes<std::uint32_t>(i->op[0]);
  for (const unsigned l : lanes_in(w.active)) rounds[l] = rounds[l] * 31 + i->aux + 1;
  return i + 1;
}

const Inst* end_of_code(Warp& w, const Inst* i) {
  w.pc = i;
  raise(Fault::Kind::trap, first_lane(w.active), "the code of a function ends without a return");
}

}  // namespace control

namespace {

/// What bar.red gives to the lanes of `mask`, whose barrier instruction is `i`.
void give_reduction(const Inst* i, std::byte* registers, Mask mask, const Barrier& b, std::uint32_t threads) {
  const std::uint32_t kind = i->aux & (control::reduce_popc | control::reduce_and | control::reduce_or);
  if (kind == control::reduce_popc) {
    auto* to = reinterpret_cast<std::uint32_t*>(registers + i->op[2]);
    for (const unsigned l : lanes_in(mask)) to[l] = b.count;
  } else if (kind) {
    auto& to = *reinterpret_cast<Mask*>(registers + i->op[2]);
    const bool value = kind == control::reduce_and ? b.count == threads : b.count != 0;
    to = value ? to | mask : to & ~mask;
  }
}

void report_exited(const Block& block, std::uint32_t id, std::uint32_t exited) {
  std::uint32_t first = 0;
  for (const Warp& w : block.warps) {
    if (w.alive != full_mask) {
      first = w.id * warp_size + static_cast<std::uint32_t>(std::countr_one(w.alive));
      break;
    }
  }
  const Barrier& b = block.barriers[id];
  for (Observer* o : block.grid->observers) o->barrier_without(actor_of(*b.last_warp, b.last), id, exited, first);
}

void release(Block& block, std::uint32_t id, std::uint32_t threads) {
  Barrier& b = block.barriers[id];
  const auto all = static_cast<std::uint32_t>(block.grid->block_size.count());
  if (!b.expected && block.live < all) report_exited(block, id, all - block.live);
  for (Warp& w : block.warps) {
    if (w.stop == Stop::barrier) {
      if (w.barrier_id != id) continue;
      w.stop = Stop::none;
      if (b.reduces) give_reduction(w.barrier, w.registers, w.active, b, threads);
      continue;
    }
    if (w.waiting.empty()) continue;
    bool woke = false;
    for (Split& s : w.waiting) {
      if (s.state != Split::State::barrier || s.barrier_id != id) continue;
      s.state = Split::State::ready;
      woke = true;
      if (b.reduces) give_reduction(s.pc - 1, s.frame->registers, s.mask, b, threads);
    }
    if (woke) {
      update_pending(w);
      if (w.stop == Stop::waiting) w.stop = Stop::none;
    }
  }
  const auto meeting = b.expected ? Observer::Meeting::counted : Observer::Meeting::all;
  for (Observer* o : block.grid->observers) o->barrier_complete(actor_of(*b.last_warp, b.last), id, meeting);
  b = {};
  block.barriers_in_use &= ~(1u << id);
  ++block.barriers_released;
  block.woken = true;
}

/// Releases barrier `id` if all have arrived. Threads that have exited are not waited for, as on a GPU; a counted
/// barrier waits for exactly its count.
bool try_release(Block& block, std::uint32_t id) {
  const Barrier& b = block.barriers[id];
  if (b.arrived < (b.expected ? b.expected : block.live)) return false;
  release(block, id, b.arrived);
  return true;
}

}  // namespace

void release_barriers(Block& block) {
  for (const unsigned lane : lanes_in(block.barriers_in_use)) try_release(block, lane);
}

[[gnu::noinline]] static void report_arrival(Warp& w, const Inst* i, std::uint32_t id) {
  const auto arrival = i->aux & control::arrive_only ? Observer::Arrival::goes_on : Observer::Arrival::waits;
  for (Observer* o : w.block->grid->observers) o->barrier_arrive(actor_of(w, i), w.active, id, arrival);
}

/// Lanes arrive by another instruction than lanes of the same warp that wait already: reported to all observers,
/// whether they want arrivals or not.
[[gnu::noinline]] static void report_mixed(Warp& w, const Inst* i, std::uint32_t id) {
  for (const Split& s : w.waiting) {
    if (s.state != Split::State::barrier || s.barrier_id != id || s.pc - 1 == i) continue;
    for (Observer* o : w.block->grid->observers) {
      o->barrier_arrive(actor_of(w, s.pc - 1), s.mask, id, Observer::Arrival::waits);
      o->barrier_arrive(actor_of(w, i), w.active, id, Observer::Arrival::waits);
    }
  }
}

/// Have lane `l` of frame `a` and lane `m` of frame `b` come there by the same calls, in the same rounds of loops?
static bool came_alike(const Frame* a, unsigned l, const Frame* b, unsigned m) {
  if (!a || !b) return a == b;
  const auto rounds_of = [](const Frame& frame, unsigned lane) {
    return reinterpret_cast<const std::uint32_t*>(frame.registers + *frame.program->rounds)[lane];
  };
  return a->program == b->program && a->call == b->call &&
         (!a->program->rounds || rounds_of(*a, l) == rounds_of(*b, m)) && came_alike(a->caller, l, b->caller, m);
}

/// Do lanes of the warp wait at the barrier already that have come there in another way than these: by another
/// instruction, by other calls, or in another round of a loop? PTX has all lanes of a warp come together.
static bool is_split(const Warp& w, const Inst* i, std::uint32_t id) {
  return std::ranges::any_of(w.waiting, [&](const Split& s) {
    return s.state == Split::State::barrier && s.barrier_id == id &&
           (s.pc - 1 != i || !came_alike(s.frame, first_lane(s.mask), w.frame, first_lane(w.active)));
  });
}

/// Arrives `i` at a barrier in a way that PTX leaves open (PTX ISA, "barrier")? Lanes name different barriers, a count
/// is no number of whole warps, or those that meet do not agree.
static bool is_open(Warp& w, const Inst* i, const Barrier& b) {
  using namespace control;
  const auto differ = [&](OperandRef operand) {
    const std::uint32_t* const values = w.lanes<std::uint32_t>(operand);
    return lanes_where(w.active, [&](unsigned l) { return values[l] != values[first_lane(w.active)]; }) != 0;
  };
  const auto all = static_cast<std::uint32_t>(w.block->grid->block_size.count());
  const bool is_counted = i->aux & has_count;
  const std::uint32_t count = is_counted ? w.lanes<std::uint32_t>(i->op[1])[first_lane(w.active)] : all;
  constexpr std::uint32_t operation = reduce_popc | reduce_and | reduce_or;
  return differ(i->op[0]) || (is_counted && (differ(i->op[1]) || count % warp_size != 0)) ||
         (b.arrived != 0 && (((b.last->aux ^ i->aux) & operation) != 0 || count != (b.expected ? b.expected : all)));
}

const Inst* control::barrier(Warp& w, const Inst* i) {
  w.pc = i;
  charge(w, i);
  const auto first = first_lane(w.active);
  const std::uint32_t id = w.lanes<std::uint32_t>(i->op[0])[first];
  if (id >= barriers_per_block) raise(Fault::Kind::trap, first, "barrier number above 15");
  Block& block = *w.block;
  Barrier& b = block.barriers[id];
  if (!w.waiting.empty() && !(i->aux & (has_count | arrive_only)) && !is_observed(w, Observer::arrivals)) [[unlikely]]
    report_mixed(w, i, id);
  if (is_observed(w)) [[unlikely]] {
    // Those that only arrive are not seen waiting.
    const bool is_apart = !(i->aux & lane_by_lane) && (i->aux & arrive_only ? w.active != w.alive : is_split(w, i, id));
    if (is_apart || is_open(w, i, b)) {
      const Dependence what = is_apart ? Dependence::split_barrier : Dependence::open_barrier;
      for (Observer* o : block.grid->observers) o->depends(actor_of(w, i), w.active, what);
    }
  }
  if (i->aux & has_count) b.expected = w.lanes<std::uint32_t>(i->op[1])[first];
  b.arrived += static_cast<std::uint32_t>(std::popcount(w.active));
  b.last = i;
  b.last_warp = &w;
  block.barriers_in_use |= 1u << id;
  if (i->aux & (reduce_popc | reduce_and | reduce_or)) {
    b.reduces = true;
    const Mask p = i->aux & negated_predicate ? ~w.predicate(i->op[3]) : w.predicate(i->op[3]);
    b.count += static_cast<std::uint32_t>(std::popcount(p & w.active));
  }
  const bool is_counted = i->aux & has_count;
  if (is_observed(w, Observer::arrivals) || (is_counted && is_observed(w, Observer::counted_arrivals))) [[unlikely]]
    report_arrival(w, i, id);
  if (i->aux & arrive_only) {
    try_release(block, id);
    return proceed(w, i + 1);
  }
  if (w.waiting.empty()) {
    // The whole warp: it rests in place.
    const auto* way_back = reinterpret_cast<const WayBack*>(i->imm);
    const Inst* together = way_back && w.active == full_mask ? come_back(w, *way_back) : nullptr;
    w.pc = together ? together : i + 1;
    w.stop = Stop::barrier;
    w.barrier_id = static_cast<std::uint8_t>(id);
    w.barrier = i;
    flush_executed(w);
    if (!try_release(block, id) || block.rejoins) return nullptr;
    return go_to(w, w.pc);
  }
  set_aside(w, w.active, i + 1, Split::State::barrier, id);
  try_release(block, id);
  return run_next(w);
}

}  // namespace scanlab::vgpu
