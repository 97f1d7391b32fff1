#include "vgpu/server/fault_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace scanlab::server {

void FaultReports::add(std::string text, vgpu::Finding finding) {
  const auto known = std::ranges::find(reports_, text, &Report::text);
  if (known != reports_.end()) {
    ++known->count;
    return;
  }
  held_back_ += text + "\n";
  reports_.push_back({std::move(text), std::move(finding)});
}

void FaultReports::note(const std::string& text) {
  if (std::ranges::find(notes_, text) != notes_.end()) return;
  notes_.push_back(text);
  held_back_ += text + "\n";
}

void FaultReports::print() {
  if (!held_back_.empty()) fmt::print(stderr, "{}", std::exchange(held_back_, {}));
}

void FaultReports::print_counts() const {
  for (const Report& report : reports_)
    if (report.count > 1)
      fmt::print(stderr, "and {} more like this: {}\n", report.count - 1,
                 report.text.substr(0, report.text.find('\n')));
}

nlohmann::ordered_json FaultReports::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Report& report : reports_) {
    vgpu::Finding finding = report.finding;
    finding.count = report.count;
    list.push_back(to_json(finding));
  }
  return list;
}

}  // namespace scanlab::server
