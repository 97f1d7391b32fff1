// Where an output is wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "autograder/check/side_by_side.hpp"

namespace scanlab::grade {

struct Comparison {
  std::size_t wrong = 0;
  std::size_t first = std::numeric_limits<std::size_t>::max();  ///< index of the first wrong element
  std::size_t last = 0;                                         ///< … and of the last
  bool ok() const { return wrong == 0; }

  /// Element i is wrong, and comes after all that have been added.
  void add(std::size_t i) {
    if (wrong++ == 0) first = i;
    last = i;
  }
  /// Those of another part.
  void add(const Comparison& part) {
    wrong += part.wrong;
    first = std::min(first, part.first);
    last = std::max(last, part.last);
  }
};

/// Calls part(found, begin, end) for up to `threads` parts of 0 … n - 1, side by side, and puts together what they have
/// found.
template <typename Part>
Comparison compare_parts(std::size_t n, unsigned threads, Part part) {
  std::vector<Comparison> parts(threads);
  side_by_side(n, threads, [&](unsigned number, std::size_t begin, std::size_t end) {
    Comparison found;  // of the thread's own: neighbours in `parts` share a cache line
    part(found, begin, end);
    parts[number] = found;
  });
  Comparison whole;
  for (const Comparison& found : parts) whole.add(found);
  return whole;
}

}  // namespace scanlab::grade
