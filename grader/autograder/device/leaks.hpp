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
  /// Records how many device allocations a call has made and freed. Returns a finding, once, as soon as it is plain
  /// that this goes on.
  std::optional<vgpu::Finding> call(std::uint64_t allocations, std::uint64_t releases);

 private:
  unsigned calls_ = 0, grown_ = 0;
  std::int64_t live_ = 0;
  bool is_reported_ = false;
};

}  // namespace scanlab::grade
