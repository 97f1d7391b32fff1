// What other runs of a failed case show about a wrong output: something left over from an earlier call, or an order
// that nothing ensures.
#pragma once

#include "autograder/cause.hpp"
#include "autograder/check/trial.hpp"
#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/process/submission.hpp"

namespace scanlab::grade {

/// Where a call stood among those of its process.
enum class CallPosition { first, later };

/// Runs the case again in fresh processes: as the first call, then under other schedules, or on a GPU, which has one
/// schedule only, some more times. Explains the cause by the first difference from the failed run, if there is one.
void explain_by_other_runs(Cause& cause, Submission& submission, Trial& trial, const Device& device, const Case& failed,
                           CallPosition position);

}  // namespace scanlab::grade
