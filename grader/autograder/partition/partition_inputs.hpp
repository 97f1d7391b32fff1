// Input data for compaction and split, by seed: elements that can be distinguished, and patterns of those to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autograder/check/task.hpp"
#include "autograder/element.hpp"

namespace scanlab::grade {

/// Which elements are kept.
enum class Pattern {
  mixture,      ///< stretches of up to 2048 elements (few of few elements) in one of the patterns; about half of all
  half,         ///< each with a chance of 1/2
  few,          ///< … of 1/16
  most,         ///< … of 15/16
  runs,         ///< runs of 1 to 100 elements, kept and not kept in turn
  none,         ///< none
  all,          ///< all
  one,          ///< one only, anywhere
  all_but_one,  ///< all but one, anywhere
};

/// In this case: a mixture in the first call of a size and a schedule, and from the second call on the other patterns
/// in turn.
Pattern pattern_of(const Case& which);

/// A flag for each of `n` elements: 1 when it is to be kept.
std::vector<char> kept_flags(std::size_t n, Pattern pattern, std::uint64_t seed);

/// `n` elements, kept where the pattern says so. They differ from each other, as far as their type allows, so that the
/// order of all of them shows, kept or not; but a quarter of those that are not kept are identity().
template <typename T>
std::vector<T> partition_input(std::size_t n, Pattern pattern, std::uint64_t seed);

}  // namespace scanlab::grade
