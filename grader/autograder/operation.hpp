// The operations that a lab may ask for, by name, and the functions of a submission that compute them.
#pragma once

#include <vector>

#include "runner/protocol.hpp"
#include "vgpu/core/contract.hpp"

namespace scanlab::grade {

/// Both what an output is compared with and the entry, the function of a submission, that is meant to compute it. They
/// mostly agree; a plan may also ask for the inclusive scan of an `exclusive_scan`.
using Operation = contract::Operation;

const std::vector<Operation>& all_operations();

/// "inclusive scan", "compaction": as headlines say it.
const char* noun_of(Operation operation);

/// "inclusive_scan": the function's name in the submission.
const char* entry_name(Operation entry);
/// "const Element* d_x, Element* d_y, int n": what the function takes.
const char* parameters_of(Operation entry);
/// True when the function has a third pointer, d_kept, to the number of kept elements.
bool has_count(Operation entry);
/// The same function, as the runner's protocol names it.
runner::Entry runner_entry(Operation entry);

}  // namespace scanlab::grade
