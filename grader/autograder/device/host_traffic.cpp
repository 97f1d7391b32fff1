#include "autograder/device/host_traffic.hpp"

#include <fmt/format.h>

namespace scanlab::grade {

namespace {

/// What a handful of launches, a counter and a few printed values need, whatever n is: bytes.
constexpr std::uint64_t some_bytes = 256;

}  // namespace

std::optional<vgpu::Finding> scan_on_host(const HostTraffic& traffic, std::size_t n) {
  const std::uint64_t most = n / 8 + some_bytes;
  if (traffic.bytes_out <= most || traffic.bytes_in <= most) return std::nullopt;
  vgpu::Finding finding;
  finding.id = scan_on_host_id;
  finding.headline = fmt::format("the data left the device: {} bytes went to the host, and {} came back",
                                 traffic.bytes_out, traffic.bytes_in);
  finding.details = {
      fmt::format("to the host: {}", traffic.out), fmt::format("back to the device: {}", traffic.in),
      fmt::format("a call for {} elements may move {} bytes each way (n / 8 + {}); more in one direction only, such as "
                  "a copy for debugging, fails nothing",
                  n, most, some_bytes)};
  finding.advice =
      "scan on the device: leave what a kernel computes in device memory, and give its pointer to the next kernel";
  return finding;
}

}  // namespace scanlab::grade
