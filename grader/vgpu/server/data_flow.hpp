// What could carry data between a program's host code and the device, in bytes, each way: so that a judge knows whether
// results can have been made on the host.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scanlab::server {

/// One call's. Counted on the server's side, since the program can change its own.
class DataFlow {
 public:
  enum class Out {
    copies,     ///< to the host
    shares,     ///< what the device has written to memory that both use
    times,      ///< of events: the device's clock says how long a kernel ran
    addresses,  ///< of new memory, after what kernels have allocated
    launches,   ///< a bit each, since the host can measure how long each takes
  };
  enum class In {
    copies,
    shares,         ///< what the host has written to memory that both use
    parameters,     ///< what of a launch differs from the kernel's last one
    sets,           ///< each is a value and a place
    device_copies,  ///< each is two places: out of a table, any value
    code,           ///< modules that a program loads
  };

  void leaves(Out way, std::uint64_t bytes) { out_[static_cast<std::size_t>(way)] += bytes; }
  /// Not counted while hardly anything has left: it cannot depend on what the device has.
  void comes(In way, std::uint64_t bytes) {
    if (bytes_out() >= most_before) in_[static_cast<std::size_t>(way)] += bytes;
  }
  void launched() {
    if (++launches_ % 8 == 0) leaves(Out::launches, 1);
  }

  std::uint64_t bytes_out() const { return std::accumulate(out_.begin(), out_.end(), std::uint64_t{0}); }
  std::uint64_t bytes_in() const { return std::accumulate(in_.begin(), in_.end(), std::uint64_t{0}); }
  /// "8196 by copies to the host, 16 by times of events"; the ways that carried most first.
  std::string out_text() const { return text_of(out_, out_names); }
  std::string in_text() const { return text_of(in_, in_names); }

 private:
  static constexpr std::uint64_t most_before = 64;
  static constexpr std::array<std::string_view, 5> out_names = {
      "copies to the host (cudaMemcpy)", "memory that host and device share", "times of events (cudaEventElapsedTime)",
      "addresses of new memory", "the time that each launch takes"};
  static constexpr std::array<std::string_view, 6> in_names = {"copies to the device (cudaMemcpy)",
                                                               "memory that host and device share",
                                                               "parameters and sizes of launches",
                                                               "cudaMemset",
                                                               "copies on the device",
                                                               "code that was loaded"};

  template <std::size_t count>
  static std::string text_of(const std::array<std::uint64_t, count>& bytes,
                             const std::array<std::string_view, count>& names) {
    std::vector<std::pair<std::uint64_t, std::string_view>> ways;
    for (std::size_t k = 0; k < count; ++k)
      if (bytes[k] > 0) ways.emplace_back(bytes[k], names[k]);
    std::ranges::stable_sort(ways, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (const auto& [number, name] : ways) text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", number, name);
    return text;
  }

  std::array<std::uint64_t, 5> out_{};
  std::array<std::uint64_t, 6> in_{};
  std::uint64_t launches_ = 0;
};

}  // namespace scanlab::server
