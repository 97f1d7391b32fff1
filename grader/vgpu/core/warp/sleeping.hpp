// Threads that sleep or wait for a while: nanosleep, and loops whose only end is a write or a time limit.
#pragma once

#include "vgpu/core/warp/warp.hpp"

namespace scanlab::vgpu {

/// nanosleep: op[0] holds the nanoseconds. The device's clock advances by as many, and the warp's turn ends.
const Inst* sleep(Warp& w, const Inst* i);

/// Leaps of the clock, each twice as far as the one before: together half an hour.
inline constexpr std::uint32_t clock_leaps = 40;

/// To be called when the running lanes have looked in vain for something that only a write to memory can bring. After
/// `patience` such looks in a row, while no thread writes, the device's clock leaps, further each time, so that waits
/// with a time limit come to their end. True when even that did not help: the lanes should look again only after memory
/// has changed (set_aside_until_write). Such loops often read the clock, so that their registers never repeat, by which
/// endless loops are recognised otherwise.
bool waits_in_vain(Warp& w, std::uint32_t patience);

/// The running lanes go on at `pc` after the next write; returns what runs instead.
const Inst* set_aside_until_write(Warp& w, const Inst* pc);

}  // namespace scanlab::vgpu
