// What the lanes of a warp do together: shuffles, votes, matches, reductions, synchronisation; and fences.
#pragma once

#include <optional>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/warp/convergent.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// The decoder puts the k-th operand into op[k] (a second destination d|p into op[4]), a membermask into op[5].
struct WarpSelection {
  Handler run = nullptr;
  std::uint32_t aux = 0;
  ptx::Type type[6] = {};         ///< of destination and sources, by place
  int members = -1;               ///< operand number of the membermask, or -1
  StepHandler in_gang = nullptr;  ///< where there is a faster one than each_together
};

/// The selection for shfl.sync, vote.sync, match.sync, elect.sync, redux.sync, bar.warp.sync, activemask, membar and
/// fence.
std::optional<WarpSelection> select_warp(const ptx::Instruction& instruction);

/// True for bar.warp.sync's handler, by which a waiting split is recognised.
bool is_warp_barrier(const Inst* i);

}  // namespace scanlab::vgpu
