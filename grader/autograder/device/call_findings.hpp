// What the judge finds in calls, beside what the device's checks find in their kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "autograder/device/device.hpp"
#include "vgpu/checks/cost/addition_graph.hpp"
#include "vgpu/checks/finding.hpp"

namespace scanlab::grade {

inline constexpr const char* scan_on_host_id = "host.scan";

/// The mistake of this name: in a call for n elements more bytes left the device than n / 8 and some, and more than
/// that came back. A scan on the host needs at least a bit of each element; the sums of sections, or a copy for
/// debugging that only leaves, stay below. Counted on the virtual GPU only.
std::optional<vgpu::Finding> scan_on_host(const HostTraffic& traffic, std::size_t n);

/// The lines that make most additions (cost.adding), most for nothing (cost.wasting), and most of the longest chain
/// (cost.chain), at most three of each: of a right call whose additions were counted.
std::vector<vgpu::Finding> costly_additions(const vgpu::AdditionWork& work);

/// The finding leak (advice): device memory that an entry allocates in each call, and never frees. Distinguishes memory
/// that each call leaves behind from memory that is kept for the next call. For one program's calls.
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
