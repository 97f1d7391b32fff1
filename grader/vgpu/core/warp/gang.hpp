// Warps of a block that execute convergent code (convergent.hpp) side by side, as work-item loops do in compiled
// OpenCL: each instruction runs for all warps of the gang before the next one does. A gang is the whole block or, where
// its warps go different ways or the schedule wants one at a time, a single warp: a warp is a block of one.
//
// What an instruction costs besides its lanes is paid once a gang, a barrier at which the whole block stands together
// costs nothing at all, and pairs are computed as columns over the warps. The state of a warp lies in its own place of
// the block's columns whatever gang it is in, so gangs part and gather without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/core/decode/uniformity.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/pairs.hpp"

namespace scanlab::vgpu {

inline constexpr unsigned most_warps = 32;

/// The same Pair of every warp of a block.
struct Column {
  std::uint64_t* value = nullptr;
  std::int64_t* stride = nullptr;
  std::int64_t* jump = nullptr;

  Pair of(unsigned warp) const { return {value[warp], stride[warp], jump[warp]}; }
  void set(unsigned warp, const Pair& p) const {
    value[warp] = p.value;
    stride[warp] = p.stride;
    jump[warp] = p.jump;
  }
  /// Does one of the pairs of the warps [begin, end) have jumps?
  bool jumps(unsigned begin, unsigned end) const {
    std::int64_t any = jump[begin];  // mostly it is this one that has, or none
    for (unsigned k = begin + 1; k < end && !any; ++k) any = jump[k];
    return any != 0;
  }
};

/// The gang of a block that runs now, and what its warps keep between two gangs.
struct Gang {
  /// The masked region of one depth that a warp is in. Warps that skip a side have no active lanes meanwhile.
  struct Region {
    alignas(64) Mask outer[most_warps];  ///< lanes that entered it
    alignas(64) Mask other[most_warps];  ///< of these, the lanes that wait for the second side
    const Inst* skip = nullptr;          ///< where warps of a whole block stand that skip the side which runs now
  };

  explicit Gang(Block& owner);

  bool is_one_warp() const { return end - begin == 1; }
  Column column(std::uint32_t pair) const {
    std::uint64_t* const value = columns + std::size_t{3} * width * pair;
    return {value, reinterpret_cast<std::int64_t*>(value) + width, reinterpret_cast<std::int64_t*>(value) + 2 * width};
  }
  Warp& warp(unsigned k) { return block.warps[k]; }

  Block& block;
  const ConvergentCode& code;
  const unsigned row_lanes;      ///< of the image
  const unsigned width;          ///< of a column: warps, and what fills up the last vectors
  LaneBytes memory;              ///< owns the columns
  std::uint64_t* const columns;  ///< three a pair, as Column has them
  const bool is_counted;         ///< for some observer
  std::byte* registers[most_warps] = {};
  Region regions[most_masked_depth];

  unsigned begin = 0, end = 0;               ///< its warps
  unsigned at = 0;                           ///< the one that runs alone now, for faults
  alignas(64) Mask active[most_warps] = {};  ///< 0 for warps that are not in it
  alignas(64) Mask taken[most_warps];        ///< lanes that jump at this branch
  unsigned first = 0, last = 0;              ///< of the warps with active lanes
  unsigned full = 0;                         ///< warps with all lanes active
  unsigned partial_count = 0;
  std::uint8_t partial[most_warps];  ///< warps with some lanes active
  std::uint64_t executed = 0;        ///< warp instructions since it began
  std::uint64_t full_executed = 0;   ///< by all lanes of warps, not yet reported to the observers
  /// Instructions of each warp with active lanes since `active` changed. Not beside `executed`: the two would be
  /// counted up as one vector, which has to wait where only one of them has been written.
  std::uint64_t uncounted = 0;
  std::uint64_t work_of_all = 0;                    ///< by every warp, the same
  alignas(64) std::uint64_t work[most_warps] = {};  ///< by each warp beyond these
  std::uint64_t full_additions = 0;                 ///< by all lanes, not yet reported to the observers
  std::uint64_t limit = 0;                          ///< of `executed`
  Handler then = nullptr;  ///< of one warp: what executes `next` when the gang has ended, or null
  const Inst* next = nullptr;
  AccessRun reported;  ///< to be filled and reported: to make one costs more than to fill it
};

/// Calls visit(k) for each warp of the gang; no warp's work depends on another's. Straight code for a single warp.
template <class Visit>
[[gnu::always_inline]] inline void for_each_warp(const Gang& g, Visit visit) {
  if (g.is_one_warp()) return visit(g.begin);
  const unsigned end = g.end;
  SCANLAB_LANES_INDEPENDENT
  for (unsigned k = 0; k < end; ++k) visit(k);
}

/// The same for those with active lanes.
template <class Visit>
[[gnu::always_inline]] inline void for_each_active_warp(const Gang& g, Visit visit) {
  for (unsigned k = g.begin; k < g.end; ++k)
    if (g.active[k]) visit(k);
}

/// The predicate that `ref` names, of warp `k`.
inline Mask& predicate_at(Gang& g, unsigned k, OperandRef ref) {
  return *reinterpret_cast<Mask*>(g.registers[k] + ref);
}

/// Fills in `code.steps` and `code.alone`; `forms` has an element for each instruction of `code.code`.
void make_steps(ConvergentCode& code, const std::vector<StepForm>& forms, const std::vector<Program::Constant>& known);

/// Inst::run of the instructions of convergent code that only gangs execute: the warp is a gang from here on.
const Inst* run_as_gang(Warp& w, const Inst* i);

/// True when the warps of the block, more than one, stand at the same instruction of convergent code, all lanes active.
bool stands_together(const Block& block);
/// Runs the block's warps, which stand together, as one gang until they part or exit. Every warp is then where it would
/// be if it had run by itself. Throws FaultException, complete.
void run_together(Block& block);

/// Every warp of the gang has to execute this step by itself.
const Step* part(Gang& g, const Step* s);
/// The same where a single warp has to leave convergent code: Inst::aux is an index into ConvergentCode::leaves.
const Step* part_or_leave(Gang& g, const Step* s);
/// Leaves convergent code for the instruction that `i` stands for; aux: index into ConvergentCode::leaves.
const Inst* leave(Warp& w, const Inst* i);
/// Where the warp goes on in convergent code when its registers allow it, else null.
const Inst* come_back(Warp& w, const WayBack& how);

/// Reports an addition by all active lanes to the observers.
void report_additions(Gang& g);

/// Runs the step's instruction for warp `k` by itself.
void run_alone(Gang& g, const Step* s, unsigned k);
/// The same for every warp with active lanes, in order.
const Step* each_alone(Gang& g, const Step* s);
/// The same for instructions of whole warps.
const Step* each_together(Gang& g, const Step* s);

/// imm: target, op[0]: predicate, op[1] 1: jump where it is false; aux: how to leave when the lanes diverge.
const Step* branch_together(Gang& g, const Step* s);
/// The same for a branch that opens a masked region: imm: target, op[0], op[1] as above, op[2]: depth, op[3] 1: the
/// target is a second side, not the join.
const Step* open_region(Gang& g, const Step* s);
/// End of the first of two sides. imm: the join, aux: distance from here to the second side; op[2]: depth.
const Step* end_first_side(Gang& g, const Step* s);
/// The end of a masked region: all lanes that entered it go on. op[2]: depth.
const Step* close_region(Gang& g, const Step* s);

}  // namespace scanlab::vgpu
