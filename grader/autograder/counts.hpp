// A count check: how much work one call makes, counted on the virtual GPU, against limits.
#pragma once

#include <string_view>

#include "autograder/device.hpp"
#include "autograder/plan.hpp"
#include "autograder/result.hpp"

namespace scanlab::grade {

/// True for the counters that lab.toml may name, "additions", "host_copies" …
bool is_counter(std::string_view name);

/// Sets the result's verdict, cause and counts; points are the caller's. The device is a virtual one, which counts.
/// Throws KitFault.
void check_count(const Plan& plan, const CheckPlan& check, Device& device, CheckResult& result);

}  // namespace scanlab::grade
