// The checks of results, and of how much work calls make.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"

namespace scanlab::grade {

/// What has to be counted in a call of a correctness check, and what has been.
struct Counted {
  Counting what = Counting::work;
  std::vector<std::pair<std::string, double>> counts;
  std::vector<vgpu::Finding> costs;
  std::string unfollowed;  ///< why it is not known which additions get into the results; empty: it is
};
using CountedCalls = std::map<PlannedCall, Counted>;

/// A count check. Sets the result's verdict, cause and counts; points are the caller's. `counted` has the calls that
/// the check `among` which this one counts has made. The others are made here, on the device, which is a virtual one:
/// it counts. Throws KitFault.
void check_count(const Plan& plan, const CheckPlan& check, Device& device, const CountedCalls& counted,
                 CheckResult& result);

/// Of a count of fences that is within its limits: fails it where one of the calls in which it was counted, those of
/// `host`, lacks a fence all the same, so that another stands where it orders nothing.
void check_places_of_fences(const Plan& plan, const CheckPlan& check, const CheckResult& host, CheckResult& result);

/// A correctness check: every size, under every schedule, several times, against the oracle; up to the first failure.
/// Sets the result's verdict, cause and output hash; points are the caller's. Counts the calls that `counted` has,
/// among all others, and puts there what it has counted. Throws KitFault.
void check_correctness(const Plan& plan, const CheckPlan& check, Device& device, CountedCalls& counted,
                       CheckResult& result);

}  // namespace scanlab::grade
