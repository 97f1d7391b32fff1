// Recognises what a scan of sections has left out of its steps, its trees or its runs, by doing the same.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>

#include "autograder/scan/scan_diagnosis.hpp"

namespace scanlab::grade {

/// True when y[i] is candidate(i) for all i, but for what rounding may do.
template <typename T, typename Candidate>
bool equals_candidate(const Evidence<T>& e, Candidate candidate) {
  for (std::size_t i = 0; i < e.y.size(); ++i) {
    const T other = candidate(i);
    if (std::memcmp(&e.y[i], &other, sizeof(T)) == 0) continue;
    if constexpr (std::is_same_v<T, float>) {
      // Both this and y[i] are rounded sums of up to about twice the terms of the right one.
      const double most = 8 * e.reference->tolerance[i];
      if (!(std::fabs(static_cast<double>(e.y[i]) - static_cast<double>(other)) <= most)) return false;
    } else {
      return false;
    }
  }
  return true;
}

/// A thread that looks after one place of its section works in steps, after two in trees, after more in runs. Defined
/// for both elements.
template <typename T>
std::optional<Diagnosis> recognise_method(const Evidence<T>& evidence);

}  // namespace scanlab::grade
