// Warps of a block that take the same path, side by side: each instruction of convergent code (convergent.hpp) runs for
// all warps of the block before the next one does, as work-item loops do in compiled OpenCL. What an instruction costs
// besides its lanes is then paid once per block, a barrier at which all warps stand together costs nothing at all, and
// pairs are computed as columns over the warps.
//
// The state of the warps is that of convergent code at every step, so the block can leave lockstep before any of them,
// and every warp goes on by itself: at a branch on which the warps disagree, a call, an exit of some, anything that may
// wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpu/core/decode/uniformity.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/warp/pairs.hpp"

namespace scanlab::vgpu {

inline constexpr unsigned most_warps = 32;

/// The same Pair of every warp of a block.
struct Column {
  alignas(64) std::uint64_t value[most_warps];
  alignas(64) std::int64_t stride[most_warps];
  alignas(64) std::int64_t jump[most_warps];
  Pair of(unsigned warp) const { return {value[warp], stride[warp], jump[warp]}; }
  void set(unsigned warp, const Pair& p) {
    value[warp] = p.value;
    stride[warp] = p.stride;
    jump[warp] = p.jump;
  }
  /// Does one of the first `count` warps' pairs have jumps?
  bool jumps(unsigned count) const {
    std::int64_t any = 0;
    for (unsigned k = 0; k < count; ++k) any |= jump[k];
    return any != 0;
  }
};

/// The warps of a block while they run in lockstep.
struct Lockstep {
  /// A masked region that the block is in. Warps that skip a side have no active lanes meanwhile.
  struct Region {
    alignas(64) Mask outer[most_warps], other[most_warps];
    std::uint32_t depth = 0;
    const Inst* skip = nullptr;  ///< where warps stand that skip the side which runs now
  };

  explicit Lockstep(Block& owner);

  Column& column(std::uint16_t number) { return columns[number]; }
  Warp& warp(unsigned k) { return block.warps[k]; }

  Block& block;
  const Program& program;
  const unsigned row_lanes;  ///< of the image
  unsigned count = 0;        ///< warps
  unsigned at = 0;           ///< the one that runs alone now, for faults
  std::byte* registers[most_warps];
  alignas(64) Mask active[most_warps];  ///< 0 after the last
  Region regions[most_masked_depth];
  unsigned open = 0;  ///< regions that the block is in
  std::vector<Column> columns;

  unsigned first = 0, last = 0;  ///< of the warps with active lanes
  unsigned full = 0;             ///< warps with all lanes active
  unsigned partial_count = 0;
  std::uint8_t partial[most_warps];  ///< warps with some lanes active
  std::uint64_t executed = 0;        ///< warp instructions since the block entered
  std::uint64_t full_executed = 0;   ///< of these, by all lanes
  std::uint64_t full_additions = 0;  ///< by all lanes, not yet reported to the observers
  std::uint64_t limit = 0;           ///< of `executed`
  AccessRun reported;                ///< to be filled and reported: to make one costs more than to fill it
};

/// The predicate that `ref` names, of warp `k`.
inline Mask& predicate_at(Lockstep& l, unsigned k, OperandRef ref) {
  return *reinterpret_cast<Mask*>(l.registers[k] + ref);
}

/// Makes the code of a kernel for blocks in lockstep from its convergent code; `forms` has an element for each
/// instruction of that.
void make_lockstep(Program& program, const std::vector<LockstepForm>& forms);

/// True when the warps of the block stand at the same instruction of convergent code, all lanes active.
bool stands_together(const Block& block);

/// Runs the block's warps, which stand together, in lockstep until they diverge or exit. Every warp is then where it
/// would be if it had run by itself. Throws FaultException, complete.
void run_in_lockstep(Block& block);

/// The warps leave lockstep before this step.
const Step* part(Lockstep& l, const Step* s);

/// Reports an addition by all active lanes to the observers.
void report_additions(Lockstep& l);

/// Runs the step's instruction for warp `k` by itself.
void run_alone(Lockstep& l, const Step* s, unsigned k);
/// The same for every warp with active lanes, in order.
const Step* each_alone(Lockstep& l, const Step* s);
/// The same for instructions of whole warps; where lanes are missing the warps leave lockstep.
const Step* each_together(Lockstep& l, const Step* s);

}  // namespace scanlab::vgpu
