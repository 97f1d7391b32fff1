// What stops the kernels of a program that runs: said once, when it happens, and counted.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "vgpu/checks/finding.hpp"

namespace scanlab::server {

/// Reports on stderr that are held back until the program has shown what it had printed before. Not thread safe.
class FaultReports {
 public:
  /// `text` as people read it; one that has been said already is only counted.
  void add(std::string text, vgpu::Finding finding);
  /// A text that is no finding; said once.
  void note(const std::string& text);
  /// Prints what came since the last call.
  void print();
  /// Prints how often what was said has come again.
  void print_counts() const;
  /// The findings, each with how often it came.
  nlohmann::ordered_json json() const;

 private:
  struct Report {
    std::string text;
    vgpu::Finding finding;
    std::uint64_t count = 1;
  };
  std::vector<Report> reports_;
  std::vector<std::string> notes_;
  std::string held_back_;
};

}  // namespace scanlab::server
