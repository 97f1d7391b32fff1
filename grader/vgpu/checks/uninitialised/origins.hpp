// Where undefined values in global memory come from: so that it can be said when they are looked at, in another kernel
// or on the host.
#pragma once

#include <cstdint>
#include <deque>

#include "vgpu/checks/finding.hpp"
#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// Undefined values that kernels have left in memory.
struct Origin {
  Address begin = 0, end = 0;  ///< they lie within; what else lies there is defined, or of a later origin
  Finding finding;             ///< all of it but where they are looked at
  bool was_reported = false;
};

class Origins {
 public:
  void add(Origin origin);
  /// The same values are at `to` now.
  void copy(Address to, Address from, std::uint64_t bytes);
  void forget(Address address, std::uint64_t bytes);
  /// That of an undefined value; null when it is no longer known.
  Origin* find(Address address);
  bool empty() const { return origins_.empty(); }

 private:
  static constexpr std::size_t most = 256;
  std::deque<Origin> origins_;  ///< the latest first
};

}  // namespace scanlab::vgpu
