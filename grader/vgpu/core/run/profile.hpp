// What the simulated device is like: the limits that CUDA reports and enforces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scanlab::vgpu {

/// Limits of a device, in CUDA's terms; sizes in bytes.
struct DeviceProfile {
  std::string name;
  unsigned compute_major = 8, compute_minor = 0;
  unsigned multiprocessors = 4;
  unsigned max_blocks_per_multiprocessor = 16;
  unsigned max_threads_per_multiprocessor = 2048;
  unsigned max_threads_per_block = 1024;
  unsigned max_block[3] = {1024, 1024, 64};
  unsigned max_grid[3] = {2147483647, 65535, 65535};
  std::uint64_t shared_per_block = 48 * 1024;        ///< static, and dynamic without opting in
  std::uint64_t shared_per_block_optin = 99 * 1024;  ///< dynamic after cudaFuncSetAttribute
  std::uint64_t shared_per_multiprocessor = 100 * 1024;
  unsigned registers_per_block = 65536;
  std::uint64_t memory = 4ull << 30;
  std::uint64_t constant_memory = 64 * 1024;
  std::uint64_t l2_bytes = 4 << 20;
  unsigned clock_khz = 1'000'000;
  unsigned memory_clock_khz = 1'000'000;
  unsigned memory_bus_bits = 256;
};

/// A small device for teaching: 4 multiprocessors, so that a grid soon exceeds what is resident at once.
DeviceProfile small_profile();
/// The figures that an NVIDIA H200 reports.
DeviceProfile h200_profile();
/// "small" or "h200"; throws std::invalid_argument naming the known profiles.
DeviceProfile profile_by_name(std::string_view name);

}  // namespace scanlab::vgpu
