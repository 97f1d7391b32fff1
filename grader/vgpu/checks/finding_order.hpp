// Which of several findings a learner should fix first.
#pragma once

#include <vector>

#include "vgpu/checks/finding.hpp"

namespace scanlab::vgpu {

/// True when `a` is to be fixed before `b`: a mistake before advice; what others may follow from before them (memory
/// before order, order before results, results before cost).
bool is_more_basic(const Finding& a, const Finding& b);

/// Sorts the most basic to the front; equals stay as they are. In front of a bad address comes a race on what it may
/// have been calculated from.
void sort_most_basic_first(std::vector<Finding>& findings);

/// The finding that may be the cause of a fault for which an address is no good; null where there is none.
const Finding* cause_of(const Finding& fault, const std::vector<Finding>& findings);

}  // namespace scanlab::vgpu
