#include "vgpu/core/run/profile.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "vgpu/core/contract.hpp"

namespace scanlab::vgpu {

DeviceProfile small_profile() {
  DeviceProfile p;
  // What a slice of an A100 says of itself, as far as 4 multiprocessors can: nothing here says what runs the program.
  p.name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb";
  p.memory = 4864ull << 20;
  p.l2_bytes = 5 << 20;
  p.clock_khz = 1'410'000;
  p.memory_clock_khz = 1'215'000;
  p.memory_bus_bits = 640;
  return p;
}

DeviceProfile h200_profile() {
  DeviceProfile p;
  p.name = "NVIDIA H200";
  p.compute_major = 9;
  p.compute_minor = 0;
  p.multiprocessors = 132;
  p.max_blocks_per_multiprocessor = 32;
  p.shared_per_block_optin = 227 * 1024;
  p.shared_per_multiprocessor = 228 * 1024;
  p.memory = 141ull << 30;
  p.l2_bytes = 60 << 20;
  p.clock_khz = 1'980'000;
  p.memory_clock_khz = 3'201'000;
  p.memory_bus_bits = 6144;
  return p;
}

DeviceProfile profile_by_name(std::string_view name) {
  if (const auto profile = contract::value_of<contract::Profile>(name)) switch (*profile) {
      case contract::Profile::small:
        return small_profile();
      case contract::Profile::h200:
        return h200_profile();
    }
  throw std::invalid_argument(fmt::format("no device profile named '{}': there are small and h200", name));
}

}  // namespace scanlab::vgpu
