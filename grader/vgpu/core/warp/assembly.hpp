// Lanes of a warp that wait for each other at *.sync instructions: shuffles, votes, bar.warp.sync.
#pragma once

#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {

/// Inst::aux of such an instruction: whether a second destination is wanted (d|p), and a negated source predicate.
enum SyncFlags : std::uint32_t { has_second = 1u << 30, negated_source = 1u << 31 };

/// Those of `lanes` whose own membermask does not name them.
inline Mask unnamed(const std::uint32_t* members, Mask lanes) {
  std::uint32_t missing = 0;
  for (unsigned l = 0; l < warp_size; ++l) missing |= ~members[l] & std::uint32_t{1} << l;
  return missing & lanes;
}

[[noreturn]] void raise_unnamed(Warp& w, const Inst* i, Mask lanes);
/// Faults where a lane's own membermask does not name it, which PTX leaves open.
inline void check_named(Warp& w, const Inst* i) {
  if (const Mask lanes = unnamed(w.lanes<std::uint32_t>(i->op[5]), w.active)) [[unlikely]]
    raise_unnamed(w, i, lanes);
}

/// Reports to the observers that `lanes` have met, once for each membermask among them. Lanes that have exited are not
/// waited for, and count as having arrived.
void report_sync(Warp& w, const Inst* i, Mask lanes);
void report_sync(const Warp& w, const Inst* i, Mask lanes, const std::uint32_t* members);

enum class Arrived : std::uint8_t {
  not_all,     ///< the active lanes wait
  here,        ///< all that go on stand at this instruction
  at_several,  ///< some of them wait at others of the same kind (act_at_several)
};

/// Lanes wait at a *.sync instruction until every lane of their membermask that has not exited has come to it, or to
/// another one with the same qualifiers and the same membermask (PTX ISA, "shfl.sync"). On return `w.active` holds the
/// lanes that go on from here; when there are none, `next` is what runs instead.
Arrived assemble_parts(Warp& w, const Inst* i, const Inst*& next);
inline Arrived assemble(Warp& w, const Inst* i, const Inst*& next) {
  check_named(w, i);
  if (w.active != w.alive) return assemble_parts(w, i, next);
  if (is_observed(w, Observer::warp_syncs)) report_sync(w, i, w.active);
  return Arrived::here;
}

/// What the operands of an instruction hold: bytes a lane, or 0 for a predicate. Operands 2, 3 and 5 hold words, 4 a
/// predicate.
struct OperandRows {
  std::uint8_t result = 4, source = 4;
};

/// Executes what lanes do together that have assembled at several instructions: the operands of all are put side by
/// side, `act` runs once, and each lane gets its result where its own instruction wants it. Goes on after all of them.
const Inst* act_at_several(Warp& w, const Inst* i, void (*act)(Warp&, const Inst*), OperandRows rows);

}  // namespace scanlab::vgpu
