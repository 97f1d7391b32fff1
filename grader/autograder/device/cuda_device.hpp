// A real GPU, through NVIDIA's runtime. Only the program `judge-gpu` has it; `judge` links no_cuda_device.cpp instead.
#pragma once

#include <memory>

#include "autograder/device/device.hpp"

namespace scanlab::grade {

/// Throws KitFault when there is no GPU, no driver, or no support for one in this build.
std::unique_ptr<Device> make_cuda_device();

}  // namespace scanlab::grade
