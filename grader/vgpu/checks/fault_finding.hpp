// Every fault is a finding: what has stopped a kernel, or kept it from starting, in the form that all checks share.
#pragma once

#include "vgpu/checks/finding.hpp"
#include "vgpu/core/run/fault.hpp"

namespace scanlab::vgpu {

/// Always a mistake. Its id is the fault's own, or else that of its kind: "misaligned", "trap", "assertion",
/// "unsupported", "undefined", "launch.failed", "endless".
Finding to_finding(const Fault& fault);

}  // namespace scanlab::vgpu
