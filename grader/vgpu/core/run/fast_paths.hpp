// Ways to do the same with fewer operations, each with its switch: README.md, "Tiers and fast paths", says what they
// are.
#pragma once

#include <string_view>

namespace scanlab::vgpu {

/// Switching one off changes no result, finding or count, and costs time: how much is what `bench vgpu --without NAME`
/// shows.
struct FastPaths {
  bool pairs = true;               ///< code for warps that stay together; the next four need it
  bool rows = true;                ///< addresses that are pairs
  bool narrow_rows = true;         ///< pairs in blocks that are 16, 8, 4 or 2 threads wide
  bool masked_regions = true;      ///< short sides of a branch, without splits
  bool whole_blocks = true;        ///< all warps of a block as one gang
  bool independent_blocks = true;  ///< on several host threads, known to be apart before they run
  bool speculative_blocks = true;  ///< the same, found to be apart when they have run
  bool repeated_blocks = true;     ///< of the checks of shared memory
  bool access_log = true;          ///< of the check for races on shared memory
  bool row_shadow = true;          ///< of the check for races on global memory
  auto operator<=>(const FastPaths&) const = default;
};

struct NamedFastPath {
  std::string_view name;
  bool FastPaths::*is_on;
  bool is_parallel = false;  ///< it is about several threads of the host
};
inline constexpr NamedFastPath fast_paths[] = {
    {"pairs", &FastPaths::pairs},
    {"rows", &FastPaths::rows},
    {"narrow_rows", &FastPaths::narrow_rows},
    {"masked_regions", &FastPaths::masked_regions},
    {"whole_blocks", &FastPaths::whole_blocks},
    {"independent_blocks", &FastPaths::independent_blocks, true},
    {"speculative_blocks", &FastPaths::speculative_blocks, true},
    {"repeated_blocks", &FastPaths::repeated_blocks},
    {"access_log", &FastPaths::access_log},
    {"row_shadow", &FastPaths::row_shadow},
};

}  // namespace scanlab::vgpu
