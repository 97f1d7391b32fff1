// An array's parts on several threads of the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace scanlab::grade {

/// Calls part(number, begin, end) for up to `threads` parts of 0 … n - 1, at least 1, side by side; waits for all.
template <typename Part>
void side_by_side(std::size_t n, unsigned threads, Part part) {
  const std::size_t each = (n + threads - 1) / threads;
  std::vector<std::jthread> others;
  for (unsigned number = 1; number < threads; ++number) {
    const std::size_t begin = std::min(n, number * each), end = std::min(n, begin + each);
    if (begin < end) others.emplace_back([=] { part(number, begin, end); });
  }
  part(0, 0, std::min(n, each));
}

}  // namespace scanlab::grade
