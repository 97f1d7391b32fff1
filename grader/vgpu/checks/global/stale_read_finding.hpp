// A strong read that has returned an old value, for want of a fence, as a finding.
#pragma once

#include "vgpu/checks/finding.hpp"
#include "vgpu/core/run/stale_reads.hpp"

namespace scanlab::vgpu {

/// fence.missing, with the two writes and the two reads that nothing orders. Only where the result is wrong: a right
/// program may read an old value, and look again.
Finding finding_of(const StaleRead& read);

}  // namespace scanlab::vgpu
