// Recognises common mistakes in a wrong output of a scan, by what they would have made of the same input.
#pragma once

#include <cstddef>
#include <span>

#include "autograder/cause.hpp"
#include "autograder/element.hpp"
#include "autograder/scan/scan_oracle.hpp"

namespace scanlab::grade {

/// What the judge knows of one call with a wrong output; x and y have n elements.
template <typename T>
struct Evidence {
  std::span<const T> x, y;
  Scan scan;  ///< what was asked for
  const Reference<T>* reference = nullptr;
  Comparison comparison;   ///< at least one element is wrong
  std::size_t places = 0;  ///< of a section that one thread looks after; 0: not known
};

/// Its text is one sentence, such as "the last, partial section is never written". Defined for both elements.
template <typename T>
Diagnosis recognise(const Evidence<T>& evidence);

}  // namespace scanlab::grade
