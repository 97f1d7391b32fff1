// Input, output and what was expected side by side, around the first wrong output.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "autograder/cause.hpp"
#include "autograder/element.hpp"

namespace scanlab::grade {

/// Rows for the outputs from two before `first` on, six in all, or as many as there are. `fill(row)` gives a row all
/// but its index and input; outputs beyond the input have none.
template <typename T, typename Fill>
std::vector<OutputRow> output_rows(std::span<const T> x, std::size_t outputs, std::size_t first, Fill fill) {
  constexpr std::size_t before = 2, most = 6;
  std::vector<OutputRow> rows;
  if (outputs < 2) return rows;
  const std::size_t begin = std::min(first - std::min(first, before), outputs - std::min(outputs, most));
  for (std::size_t i = begin; i < std::min(outputs, begin + most); ++i) {
    OutputRow& row = rows.emplace_back();
    row.i = i;
    if (i < x.size()) row.x = text_of(x[i]);
    fill(row);
  }
  return rows;
}

}  // namespace scanlab::grade
