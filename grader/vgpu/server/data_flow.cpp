#include "vgpu/server/data_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace scanlab::server {
namespace {

constexpr std::array<std::string_view, 5> out_names = {
    "copies to the host (cudaMemcpy)", "memory that host and device share", "times of events (cudaEventElapsedTime)",
    "addresses of new memory", "the time that each launch takes"};
constexpr std::array<std::string_view, 6> in_names = {"copies to the device (cudaMemcpy)",
                                                      "memory that host and device share",
                                                      "parameters and sizes of launches",
                                                      "cudaMemset",
                                                      "copies on the device",
                                                      "code that was loaded"};

template <std::size_t count>
std::string text_of(const std::array<std::uint64_t, count>& bytes, const std::array<std::string_view, count>& names) {
  std::vector<std::pair<std::uint64_t, std::string_view>> ways;
  for (std::size_t k = 0; k < count; ++k)
    if (bytes[k] > 0) ways.emplace_back(bytes[k], names[k]);
  std::ranges::stable_sort(ways, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [number, name] : ways) text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", number, name);
  return text;
}

}  // namespace

std::uint64_t DataFlow::bytes_out() const {
  return std::accumulate(out_.begin(), out_.end(), std::uint64_t{0});
}

std::uint64_t DataFlow::bytes_in() const {
  return std::accumulate(in_.begin(), in_.end(), std::uint64_t{0});
}

std::string DataFlow::out_text() const {
  return text_of(out_, out_names);
}

std::string DataFlow::in_text() const {
  return text_of(in_, in_names);
}

}  // namespace scanlab::server
