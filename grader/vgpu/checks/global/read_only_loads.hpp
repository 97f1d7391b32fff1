// The check race.read_only: loads that are defined only for memory which no thread writes during the launch
// (ld.global.nc, which nvcc makes of __ldg() and of pointers that are const and __restrict__; ldu). No fence and no
// barrier orders them, not even with writes of the same thread.
#pragma once

#include "vgpu/checks/finding.hpp"
#include "vgpu/checks/global/global_shadow.hpp"
#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// Adds a finding for each line with such a load, and array, of which the launch that ends has written what was read.
void add_written_read_only(const KernelInfo& kernel, const GlobalShadow& shadow, const Memory& memory,
                           FindingList& findings);

}  // namespace scanlab::vgpu
