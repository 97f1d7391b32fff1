// A "device" whose memory is shared host memory and whose kernels are host functions: the judge's own tests need
// neither nvcc nor a GPU, virtual or not. fake_runtime.cpp is the other side.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "autograder/device/device.hpp"
#include "autograder/plan.hpp"

namespace scanlab::grade {

enum class Pretend { virtual_gpu, gpu };  ///< what is_virtual() says

/// What a GPU has besides memory, for timing checks.
struct HostTraits {
  double copy_seconds = 0;      ///< a copy takes at least so long
  std::size_t cache_bytes = 0;  ///< what it says its cache holds
};

/// `findings` is what the device's checks find in every call.
std::unique_ptr<Device> make_host_device(Pretend pretend, HostTraits traits = {},
                                         std::vector<vgpu::Finding> findings = {});

/// One check, `inclusive`, of a runner of floats; limits are small.
Plan plan_of_runner(const std::filesystem::path& runner, double seconds, std::vector<std::size_t> sizes);

}  // namespace scanlab::grade
