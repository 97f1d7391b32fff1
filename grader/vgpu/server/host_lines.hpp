// The learner's lines of host code, by binutils' addr2line: a program compiled with -g1 for the host has them.
#pragma once

#include <map>
#include <string>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/work.hpp"

namespace scanlab::server {

class HostLines {
 public:
  /// `program`: the file that runs.
  explicit HostLines(std::string program) : program_(std::move(program)) {}
  /// The innermost place that is neither the toolkit's nor the runtime's. Without a line, the function's name alone;
  /// nothing where that is not known either.
  vgpu::SourcePlace operator()(const vgpu::HostPlace& place);

 private:
  std::string program_;
  std::map<vgpu::HostPlace, vgpu::SourcePlace> known_;
};

}  // namespace scanlab::server
