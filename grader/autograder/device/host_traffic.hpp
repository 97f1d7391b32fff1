// Whether a call's data has gone to the host and back, so that the scan may have been made there.
#pragma once

#include <cstddef>
#include <optional>

#include "autograder/device/device.hpp"
#include "vgpu/checks/finding.hpp"

namespace scanlab::grade {

inline constexpr const char* scan_on_host_id = "host.scan";

/// The mistake of this name: in a call for n elements more bytes left the device than n / 8 and some, and more than
/// that came back. A scan on the host needs at least a bit of each element; the sums of sections, or a copy for
/// debugging that only leaves, stay below. Counted on the virtual GPU only.
std::optional<vgpu::Finding> scan_on_host(const HostTraffic& traffic, std::size_t n);

}  // namespace scanlab::grade
