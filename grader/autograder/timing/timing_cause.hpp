// A timing check's result in words and numbers.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "autograder/plan.hpp"
#include "autograder/result.hpp"
#include "autograder/timing/timing_decision.hpp"

namespace scanlab::grade {

/// "time of inclusive_scan, n = 67108864"
std::string timing_headline(const CheckPlan& check);

/// "612 µs", "12.7 ms", "1.83 s": three digits of a time in seconds.
std::string time_text(double seconds);
/// "877 GB/s", "1.61 TB/s": three digits of a rate in bytes per second.
std::string rate_text(double bytes_a_second);

/// Why a check's decision is not `full`. `cache_bytes` is what the device's largest cache holds.
Cause timing_cause(const Plan& plan, const CheckPlan& check, const Timings& timings, const Decision& decision,
                   std::size_t cache_bytes);

/// What was measured, by name: the ratio and its interval, rounds, the medians in seconds, bytes read and written.
std::vector<std::pair<std::string, double>> timing_numbers(const CheckPlan& check, const Timings& timings,
                                                           const Decision& decision);

}  // namespace scanlab::grade
