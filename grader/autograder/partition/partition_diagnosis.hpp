// Recognises common mistakes in a wrong output of compaction or split, by where they would have put the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "autograder/cause.hpp"
#include "autograder/partition/partition_oracle.hpp"

namespace scanlab::grade {

/// What the judge knows of one call with a wrong output; x and y have n elements.
template <typename T>
struct PartitionEvidence {
  std::span<const T> x, y;
  std::int32_t count = unwritten_count;  ///< *d_kept
  Others others = Others::dropped;       ///< what was asked for
  const Partition<T>& right;
};

/// The first place of d_y that is wrong; right.y's size when none is.
template <typename T>
std::size_t first_wrong(const PartitionEvidence<T>& evidence);

/// On a wrong d_y. Defined for both elements.
template <typename T>
Diagnosis recognise_partition(const PartitionEvidence<T>& evidence);

/// On a wrong *d_kept. Defined for both elements.
template <typename T>
Diagnosis recognise_count(const PartitionEvidence<T>& evidence);

}  // namespace scanlab::grade
