// Code for warps whose 32 lanes all execute together. The decoder makes it for a kernel beside the code for any warp
// (decode.cpp); a warp switches to the latter when its lanes diverge for long, or when a value does not have the
// expected shape, and comes back at a barrier.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

struct Step;
struct Lockstep;
/// Executes a step of a block in lockstep (lockstep.hpp); returns the next, or null when the block has left lockstep or
/// ended.
using StepHandler = const Step* (*)(Lockstep&, const Step*);

/// How an instruction of convergent code runs for all warps of a block in lockstep.
struct LockstepForm {
  StepHandler run = nullptr;  ///< null: the warps leave lockstep before it
  std::uint8_t pairs = 0;     ///< bit k: op[k] is a Pair
  bool is_addition = false;   ///< `run` has to report it to the observers
};

/// A register that convergent code keeps as a Pair, and its lanes.
struct PairedRegister {
  OperandRef pair = 0, lanes = 0;
  std::uint8_t bytes = 0;  ///< a lane
  bool is_affine = false;
};

/// How convergent code is left before an instruction: where the code for any warp goes on, which registers are then
/// needed lane by lane, and where the lanes wait that a masked region has put off.
struct Leave {
  struct Side {
    std::uint32_t depth = 0;
    bool is_first = false;  ///< the first of two sides runs: the lanes of the second begin at `other`
    const Inst* other = nullptr;
    const Inst* join = nullptr;
  };
  const Inst* to = nullptr;
  std::vector<PairedRegister> live;
  std::vector<Side> sides;  ///< outermost first
};

/// How a warp comes back to convergent code after a barrier, if the registers have their shapes.
struct WayBack {
  const Inst* to = nullptr;
  std::vector<PairedRegister> live;
};

/// Leaves convergent code for the instruction that `i` stands for; aux: index into Program::leaves.
const Inst* leave(Warp& w, const Inst* i);
/// imm: target, op[0]: predicate, op[1] 1: jump where it is false; aux: how to leave when the lanes diverge.
const Inst* branch_together(Warp& w, const Inst* i);
/// The same for a branch that opens a masked region: imm: target, op[0], op[1] as above, op[2]: depth, op[3] 1: the
/// target is a second side, not the join.
const Inst* open_region(Warp& w, const Inst* i);
/// End of the first of two sides. imm: the join, aux: distance from here to the second side; op[2]: depth.
const Inst* end_first_side(Warp& w, const Inst* i);
/// The end of a masked region: all lanes that entered it go on. op[2]: depth.
const Inst* close_region(Warp& w, const Inst* i);

/// Where the warp goes on in convergent code when its registers allow it, else null.
const Inst* come_back(Warp& w, const WayBack& how);

}  // namespace scanlab::vgpu
