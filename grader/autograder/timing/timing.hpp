// A timing check: the submission against the lab's reference solution, in turn, on one device, in one run.
//
// What a time is: from the moment at which the judge sends the call until the judge, after the runner's answer, has a
// copy of the whole output in memory of its own, less what such a copy takes by itself. A runner that answers before
// its work is done gains nothing by it: either the copy waits for the device, and the clock runs, or it does not, and
// the copy lacks what was not yet written. (The last element alone would not do. Programs share a GPU in slices of
// time, and copies can overtake kernels: while one element is read, the others may be missing, or come for free.) It is
// this copy that is compared, element by element. Whatever the entry allocates and frees is in the time, as it is for
// any caller.
//
// What a call is given: data that no program has seen. It depends on a number that the judge draws when it starts,
// waits in memory that the program cannot reach, and is put into its input right before the call, after which the cache
// is emptied. The output holds the unwritten byte. Input and output of the two programs are different memory.
#pragma once

#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"

namespace scanlab::grade {

/// Sets the result's verdict, cause, times, and its points unless it passes. The plan has a reference for the check's
/// element, and the device is real. Throws KitFault, also when the reference solution fails.
void check_timing(const Plan& plan, const CheckPlan& check, Device& device, CheckResult& result);

}  // namespace scanlab::grade
