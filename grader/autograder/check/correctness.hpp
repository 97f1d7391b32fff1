// A correctness check: every size, under every schedule, several times, against the oracle; up to the first failure.
#pragma once

#include "autograder/check/counts.hpp"
#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"

namespace scanlab::grade {

/// Sets the result's verdict, cause and output hash; points are the caller's. Throws KitFault.
/// Counts the calls that `counted` has, among all others, and puts there what it has counted.
void check_correctness(const Plan& plan, const CheckPlan& check, Device& device, CountedCalls& counted,
                       CheckResult& result);

}  // namespace scanlab::grade
