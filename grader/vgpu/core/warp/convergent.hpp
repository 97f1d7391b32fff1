// Code for warps whose 32 lanes all go the same way. The decoder makes it for a kernel beside the code for any warp
// (decode.cpp), and gangs execute it (gang.hpp); a warp switches to the latter when its lanes diverge for long, or when
// a value does not have the expected shape, and comes back at a barrier.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

struct Gang;
struct Step;
/// Executes a step for the warps of a gang; returns the next, or null when the gang has parted, left or ended.
using StepHandler = const Step* (*)(Gang&, const Step*);

/// An instruction of convergent code, for all warps of a gang.
struct Step {
  StepHandler run = nullptr;
  const Inst* inst = nullptr;   ///< its operands; a pair is named by its number
  const Step* to = nullptr;     ///< where a jump goes
  const Inst* alone = nullptr;  ///< copies of `inst`, and of what belongs to it, to run for one warp after the other
  std::uint32_t count = 1;      ///< instructions that it stands for
  std::uint8_t regions = 0;     ///< bit d: it lies in a masked region of depth d
  bool is_addition = false;     ///< to be reported to the observers
};

/// How the decoder wants an instruction to run for a gang.
struct StepForm {
  StepHandler run = nullptr;  ///< null: each warp has to execute it by itself
  bool is_addition = false;   ///< as in Step
};

/// A register that convergent code keeps as a Pair, and its lanes.
struct PairedRegister {
  std::uint32_t pair = 0;
  OperandRef lanes = 0;
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

/// A kernel's convergent code.
struct ConvergentCode {
  /// A pair that has this value in every lane from the beginning.
  struct Constant {
    std::uint32_t pair = 0;
    std::uint64_t value = 0;
  };
  std::vector<Inst> code;
  std::vector<Step> steps;  ///< one for each instruction of `code`
  std::vector<Inst> alone;  ///< behind Step::alone
  std::vector<Leave> leaves;
  std::vector<WayBack> ways_back;
  std::uint32_t pairs = 0;  ///< how many there are
  std::vector<Constant> constants;
  std::vector<std::uint32_t> blanks;  ///< pairs that are 0 whenever a block begins: they may be read before written
};

}  // namespace scanlab::vgpu
