// What the memory model allows beyond what a checked launch has shown: a few of its executions, and among them those
// in which a value comes too late behind its flag, though all accesses are strong, and none races.
//
// Such a read is no mistake by itself: a look-back that reads an old status looks again. It is one where the launch
// then leaves something behind that it never does otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "vgpu/checks/finding.hpp"
#include "vgpu/core/run/device.hpp"

namespace scanlab::server {

class WeakExecutions {
 public:
  explicit WeakExecutions(vgpu::Device& device) : device_(device) {}

  /// Before a launch. Memory is as before afterwards, and no observer hears of it.
  void look_at(const vgpu::LaunchRequest& launch);
  const vgpu::FindingList& findings() const { return findings_; }

 private:
  // What looking may cost. Launches whose blocks do not talk to each other cost nothing.
  static constexpr std::uint64_t most_threads = 256, most_runs = 32;  ///< of a launch
  static constexpr std::uint64_t most_of_a_run = 20'000, most_of_a_launch = 100'000, most_of_all = 400'000;
  static constexpr unsigned most_launches = 4;  ///< of a kernel

  vgpu::Device& device_;
  vgpu::FindingList findings_;
  std::uint64_t left_ = most_of_all;          ///< warp instructions
  std::map<std::string, unsigned> launches_;  ///< of each kernel
};

}  // namespace scanlab::server
