// The control flow of a function: basic blocks and the order in which diverged lanes take turns.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

struct BasicBlock {
  std::uint32_t begin = 0, end = 0;  ///< instructions [begin, end)
  std::vector<std::uint32_t> successors;
  std::uint32_t predecessors = 0;
  std::uint32_t rank = 0;
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;       ///< in the order of the code
  std::vector<std::uint32_t> block_of;  ///< by instruction index
};

/// Splits `function` into basic blocks and ranks them by a weak topological order (Bourdoncle, "Efficient chaotic
/// iteration strategies with widenings", 1993): every edge that is not a back edge of a loop leads to a higher rank,
/// and the blocks of a loop are contiguous, its head first.
ControlFlow control_flow(const ptx::Function& function);

/// A natural loop: an edge leads from `last` back to its head, and `blocks`, ascending, is all from which `last` is
/// reached without passing the head (Aho, Lam, Sethi, Ullman, "Compilers", 2nd ed. 2007, 9.6.6).
struct Loop {
  std::uint32_t last = 0;
  std::vector<std::uint32_t> blocks;
};

/// The loops that `block` is part of, the innermost first.
std::vector<Loop> loops_around(const ControlFlow& flow, std::uint32_t block);

}  // namespace scanlab::vgpu
