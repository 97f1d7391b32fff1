// What a wrong output shows about the program that wrote it.
#pragma once

#include <cstddef>
#include <string>

namespace scanlab::grade {

/// Elements that a submission may scan as one, where the plan does not say: one for each lane of a warp, or for each
/// thread of a large block.
inline constexpr std::size_t warp_lanes = 32, usual_section = 1024;

struct Diagnosis {
  std::string id;    ///< of the finding: "wrong.last_section"
  std::string text;  ///< one sentence, never empty
};

}  // namespace scanlab::grade
