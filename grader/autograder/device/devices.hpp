// The devices that there are: the virtual GPU, inside the judge's own process, and a real one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autograder/device/device.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::grade {

/// Whether the device looks for mistakes in what kernels do, which takes time.
enum class Checking { off, on };

/// `profile` as vgpu::profile_by_name knows it (KitFault otherwise); at most `warp_instructions` a launch, and
/// more by the number of elements (Device::expect_elements). `observers`, which outlive the device, listen to every
/// launch.
std::unique_ptr<Device> make_virtual_device(const std::string& profile, std::uint64_t warp_instructions,
                                            Checking checking, const std::vector<vgpu::Observer*>& observers = {});

/// A real GPU, through NVIDIA's runtime. Only the program `judge-gpu` has it; `judge` links no_cuda_device.cpp instead.
/// Throws KitFault when there is no GPU, no driver, or no support for one in this build.
std::unique_ptr<Device> make_cuda_device();

}  // namespace scanlab::grade
