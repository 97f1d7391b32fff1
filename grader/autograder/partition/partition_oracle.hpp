// The oracle of compaction and split: both put the kept elements first, in their order; they differ in the others.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "autograder/element.hpp"

namespace scanlab::grade {

/// What becomes of the elements that are not kept.
enum class Others {
  dropped,  ///< compaction: what stands after the kept ones is not looked at
  behind,   ///< split: they follow the kept ones, in their order
};

/// What d_y has to begin with, and what *d_kept has to be.
template <typename T>
struct Partition {
  std::vector<T> y;      ///< the kept elements, and for a split the others after them: then n in all
  std::size_t kept = 0;  ///< how many elements are kept
};

template <typename T>
Partition<T> partition_of(std::span<const T> x, Others others) {
  Partition<T> partition;
  for (const T& element : x) {
    if (is_kept(element)) partition.y.push_back(element);
  }
  partition.kept = partition.y.size();
  if (others == Others::behind) {
    for (const T& element : x) {
      if (!is_kept(element)) partition.y.push_back(element);
    }
  }
  return partition;
}

}  // namespace scanlab::grade
