// Findings and causes: what a check reports, and what a verdict is put down to, in terms of each other.
#pragma once

#include "autograder/result.hpp"
#include "vgpu/checks/finding.hpp"

namespace scanlab::grade {

/// The cause of a check that fails because of `finding`, without what was tried and how to see it again.
Cause cause_of(const vgpu::Finding& finding);

/// A cause that no check of the device has reported: a wrong output, a crash, too much work.
vgpu::Finding finding_of(const Cause& cause);

}  // namespace scanlab::grade
