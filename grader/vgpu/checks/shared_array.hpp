// Which shared array an address belongs to.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// The number in KernelInfo::shared of the array at `address`, which lies in one: other accesses are faults.
inline std::uint32_t array_at(const KernelInfo& kernel, std::uint64_t address) {
  const auto behind = std::ranges::upper_bound(kernel.shared, address, {}, &SharedVariable::offset);
  return static_cast<std::uint32_t>(behind - kernel.shared.begin()) - 1;
}

}  // namespace scanlab::vgpu
