#include "autograder/device/call_findings.hpp"

#include <fmt/format.h>

namespace scanlab::grade {

namespace {

/// What a handful of launches, a counter and a few printed values need, whatever n is: bytes.
constexpr std::uint64_t some_bytes = 256;
/// Scratch memory may be made in the first calls, a level at a time.
constexpr unsigned enough = 4;

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

std::optional<vgpu::Finding> Leaks::call(std::uint64_t allocations, std::uint64_t releases) {
  if (allocations == 0 && releases == 0) return std::nullopt;
  ++calls_;
  live_ += static_cast<std::int64_t>(allocations) - static_cast<std::int64_t>(releases);
  grown_ += allocations > releases;
  if (is_reported_ || grown_ < enough || grown_ < calls_) return std::nullopt;
  is_reported_ = true;
  vgpu::Finding finding;
  finding.id = "leak";
  finding.weight = vgpu::Finding::Weight::advice;
  finding.headline = "LEAK: device memory that each call allocates is never freed";
  finding.details.push_back(fmt::format("after {} calls, {} allocations are left", calls_, live_));
  finding.advice = "cudaFree what the entry allocates before it returns, or keep it and use it again in the next call";
  return finding;
}

}  // namespace scanlab::grade
