// The task of the two scans: of the whole array, or of each of its sections.
#pragma once

#include <memory>

#include "autograder/check/task.hpp"
#include "autograder/scan/scan_oracle.hpp"

namespace scanlab::grade {

/// The plan, whose sections are scanned, outlives the task. Defined for both elements.
template <typename T>
std::unique_ptr<Task<T>> make_scan_task(const Plan& plan, Kind kind);

extern template std::unique_ptr<Task<float>> make_scan_task(const Plan&, Kind);
extern template std::unique_ptr<Task<Affine>> make_scan_task(const Plan&, Kind);

}  // namespace scanlab::grade
