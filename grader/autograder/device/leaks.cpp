#include "autograder/device/leaks.hpp"

#include <fmt/format.h>

namespace scanlab::grade {
namespace {

/// Scratch memory may be made in the first calls, a level at a time.
constexpr unsigned enough = 4;

}  // namespace

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
