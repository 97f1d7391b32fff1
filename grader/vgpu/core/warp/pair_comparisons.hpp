// Comparisons of pairs (pairs.hpp): which lanes they hold for follows from the pairs, usually without a look at each
// lane.
#pragma once

#include <string_view>

#include "vgpu/core/warp/pairs.hpp"

namespace scanlab::vgpu {

/// setp.WORD.TYPE of two pairs, op[1] and op[2], into the predicate op[0]; null for a comparison that is not known
/// here.
StepHandler compare_pairs(std::string_view word, ptx::Type type);

}  // namespace scanlab::vgpu
