// The finding leak (advice): device memory that an entry allocates in each call, and never frees.
#pragma once

#include <cstdint>
#include <optional>

#include "vgpu/checks/finding.hpp"

namespace scanlab::grade {

/// Distinguishes memory that each call leaves behind from memory that is kept for the next call. For one program's
/// calls.
class Leaks {
 public:
  /// So many device allocations have been made and freed in a call. A finding as soon as it is plain that it goes on
  /// like this, once.
  std::optional<vgpu::Finding> call(std::uint64_t allocations, std::uint64_t releases);

 private:
  unsigned calls_ = 0, grown_ = 0;
  std::int64_t live_ = 0;
  bool is_reported_ = false;
};

}  // namespace scanlab::grade
