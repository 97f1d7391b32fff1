// The task of compaction and split.
#pragma once

#include <memory>

#include "autograder/check/task.hpp"
#include "autograder/partition/partition_inputs.hpp"
#include "autograder/partition/partition_oracle.hpp"

namespace scanlab::grade {

/// Which elements are kept in this case: a mixture in the first call of a size and a schedule, and from the second call
/// on the other patterns in turn.
Pattern pattern_of(const Case& which);

/// Defined for both elements.
template <typename T>
std::unique_ptr<Task<T>> make_partition_task(Others others);

extern template std::unique_ptr<Task<float>> make_partition_task(Others);
extern template std::unique_ptr<Task<Affine>> make_partition_task(Others);

}  // namespace scanlab::grade
