#include "vgpu/core/warp/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"
#include "vgpu/core/warp/warp_ops.hpp"

namespace scanlab::vgpu {
namespace {

/// The lanes of `s` if all of them wait for the lanes of one membermask, `members`, as `i` would wait for them, else
/// none.
Mask waiting_as(const Split& s, const Inst* i, std::uint32_t members) {
  if (s.state != Split::State::sync || s.pc->run != i->run) return 0;
  const auto* const theirs = reinterpret_cast<const std::uint32_t*>(s.frame->registers + s.pc->op[5]);
  const Mask same = lanes_where(s.mask, [&](unsigned l) { return theirs[l] == members; });
  return same == s.mask ? s.mask : 0;
}

/// Lanes that stand at one instruction, with the registers of their call.
struct Part {
  const Inst* inst = nullptr;
  std::byte* registers = nullptr;
  Mask lanes = 0;
};

/// The operands of several instructions side by side, each lane's from its own.
class JointOperands {
 public:
  JointOperands(const Inst* i, OperandRows rows) : rows_(rows), inst_(*i) {
    for (unsigned k = 0; k < places; ++k) inst_.op[k] = k * row_bytes;
    inst_.aux = has_second;
  }
  const Inst* inst() const { return &inst_; }
  std::byte* registers() { return bytes_; }

  void gather(const Part& part) {
    copy(bytes_, inst_.op, part.registers, part.inst->op, part.lanes, {source, second_source, third_source, members});
    if (rows_.source == 0 && part.inst->aux & negated_source) predicate(bytes_, inst_.op[source]) ^= part.lanes;
  }
  void scatter(const Part& part) const {
    copy(part.registers, part.inst->op, bytes_, inst_.op, part.lanes, {result});
    if (part.inst->aux & has_second) copy(part.registers, part.inst->op, bytes_, inst_.op, part.lanes, {second_result});
  }

 private:
  enum Place : std::uint8_t { result, source, second_source, third_source, second_result, members, places };
  static constexpr unsigned row_bytes = warp_size * sizeof(std::uint64_t);

  static Mask& predicate(std::byte* registers, OperandRef ref) { return *reinterpret_cast<Mask*>(registers + ref); }

  unsigned lane_bytes(Place place) const {
    return place == result ? rows_.result : place == source ? rows_.source : place == second_result ? 0 : 4;
  }

  void copy(std::byte* to, const OperandRef* to_op, const std::byte* from, const OperandRef* from_op, Mask lanes,
            std::initializer_list<Place> which) const {
    for (const Place place : which) {
      std::byte* const row = to + to_op[place];
      const std::byte* const from_row = from + from_op[place];
      if (const unsigned bytes = lane_bytes(place); bytes != 0) {
        for (const unsigned l : lanes_in(lanes)) std::copy_n(from_row + l * bytes, bytes, row + l * bytes);
      } else {
        Mask taken;
        std::memcpy(&taken, from_row, sizeof taken);
        predicate(to, to_op[place]) = (predicate(to, to_op[place]) & ~lanes) | (taken & lanes);
      }
    }
  }

  OperandRows rows_;
  Inst inst_;
  alignas(64) std::byte bytes_[places * row_bytes] = {};
};

}  // namespace

void raise_unnamed(Warp& w, const Inst* i, Mask lanes) {
  w.pc = i;  // for the line
  const unsigned lane = first_lane(lanes);
  raise(Fault::Kind::trap, lane,
        fmt::format("lane {} calls a *_sync function with the mask {:#010x}, which does not name it", lane,
                    w.lanes<std::uint32_t>(i->op[5])[lane]),
        "name in the mask all lanes that make the call (0xffffffff: the whole warp)", "warp.mask");
}

Arrived assemble_parts(Warp& w, const Inst* i, const Inst*& next) {
  // Lanes that came earlier wait at this very instruction.
  const Mask earlier =
      take_splits(w, [&](const Split& s) { return s.pc == i && s.frame == w.frame && s.state == Split::State::sync; });
  if (earlier) flush_executed(w);
  w.active |= earlier;
  const auto* const members = w.lanes<std::uint32_t>(i->op[5]);
  Mask elsewhere = 0;  // lanes whose others wait at other instructions
  const Mask ready = lanes_where(w.active, [&](unsigned l) {
    Mask missing = members[l] & w.alive & ~w.active;
    if (!missing) return true;
    for (const Split& s : w.waiting) missing &= ~waiting_as(s, i, members[l]);
    if (!missing) elsewhere |= Mask{1} << l;
    return !missing;
  });
  if (ready != w.active) set_aside(w, w.active & ~ready, i, Split::State::sync);
  if (!ready) {
    next = run_next(w);
    return Arrived::not_all;
  }
  if (elsewhere) return Arrived::at_several;
  if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, w.active);
  return Arrived::here;
}

const Inst* act_at_several(Warp& w, const Inst* i, void (*act)(Warp&, const Inst*), OperandRows rows) {
  const Mask here = w.active;
  const auto* const members = w.lanes<std::uint32_t>(i->op[5]);
  std::vector<Part> parts{{i, w.registers, here}};
  Mask all = here;
  for (Split& s : w.waiting) {
    if (!lanes_where(here, [&](unsigned l) { return waiting_as(s, i, members[l]) != 0; })) continue;
    parts.push_back({s.pc, s.frame->registers, s.mask});
    all |= s.mask;
    s.state = Split::State::ready;
    ++s.pc;
  }
  JointOperands joint(i, rows);
  for (const Part& part : parts) joint.gather(part);
  std::byte* const own = std::exchange(w.registers, joint.registers());
  w.active = all;
  if (is_observed(w, Observer::warp_syncs)) report_sync(w, joint.inst(), all);
  act(w, joint.inst());
  w.registers = own;
  w.active = here;
  for (const Part& part : parts) joint.scatter(part);
  update_pending(w);
  return go_to(w, i + 1);
}

void report_sync(const Warp& w, const Inst* i, Mask lanes, const std::uint32_t* members) {
  const auto how = is_warp_barrier(i) ? Observer::WarpSync::orders_memory : Observer::WarpSync::only_waits;
  while (lanes) {
    const std::uint32_t mask = members[std::countr_zero(lanes)];
    const Mask same = lanes & mask_where<std::uint32_t>(
                                  [&](auto& are_so, unsigned chunk) { are_so = vector_at(members, chunk) == mask; });
    const bool differ = (mask & w.alive & ~same) != 0;  // PTX has only lanes of the same membermask wait for each other
    for (Observer* o : w.block->grid->observers) {
      o->warp_sync(actor_of(w, i), same | (mask & ~w.alive), how);
      if (differ) o->depends(actor_of(w, i), same, Dependence::unequal_masks);
    }
    lanes &= ~same;
  }
}
void report_sync(Warp& w, const Inst* i, Mask lanes) {
  report_sync(w, i, lanes, w.lanes<std::uint32_t>(i->op[5]));
}

}  // namespace scanlab::vgpu
