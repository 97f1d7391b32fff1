#include "autograder/device/call_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

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

std::vector<vgpu::Finding> costly_additions(const vgpu::AdditionWork& work) {
  constexpr std::size_t most = 3;
  using Line = vgpu::AdditionWork::Line;
  std::map<std::pair<std::string, unsigned>, Line> by_line;  // places differ by their columns
  for (const Line& line : work.lines) {
    if (line.place.line == 0) continue;
    Line& sum = by_line.try_emplace({line.place.file, line.place.line}, Line{line.place}).first->second;
    sum.made += line.made;
    sum.with_identity += line.with_identity;
    sum.useful += line.useful;
    sum.in_chain += line.in_chain;
  }
  const auto shares = [](const Line& line) {
    return fmt::format(
        "{}, of which {} get into a result, {} get into none or make a sum again, and {} add the identity", line.made,
        line.useful, line.wasted(), line.with_identity);
  };
  std::vector<vgpu::Finding> found;
  const auto add = [&](const char* id, const char* advice, auto number, auto text) {
    std::vector<Line> lines;
    for (const auto& [place, line] : by_line)
      if (number(line) > 0) lines.push_back(line);
    std::ranges::stable_sort(lines, std::ranges::greater(), number);
    lines.resize(std::min(lines.size(), most));
    for (const Line& line : lines) {
      vgpu::Finding& finding = found.emplace_back();
      finding.id = id;
      finding.weight = vgpu::Finding::Weight::advice;
      finding.headline = "ADDITIONS: " + text(line);
      finding.advice = advice;
      vgpu::Finding::Part& part = finding.parts.emplace_back();
      part.does = "add";
      part.where = line.place;
    }
  };
  add(
      "cost.adding", "make each sum once, and share it", [](const Line& line) { return line.made; }, shares);
  add(
      "cost.wasting", "let only threads add whose sum is needed", [](const Line& line) { return line.wasted(); },
      shares);
  add(
      "cost.chain", "let sums be made side by side, and then sums of these",
      [](const Line& line) { return line.in_chain; },
      [](const Line& line) { return fmt::format("{} of the longest chain of sums", line.in_chain); });
  return found;
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
