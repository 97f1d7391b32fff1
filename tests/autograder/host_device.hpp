// A "device" whose memory is shared host memory and whose kernels are host functions: the judge's own tests need
// neither nvcc nor a GPU, virtual or not. fake_runtime.cpp is the other side.
#pragma once

#include <memory>

#include "autograder/device.hpp"

namespace scanlab::grade {

enum class Pretend { virtual_gpu, gpu };  ///< what is_virtual() says

std::unique_ptr<Device> make_host_device(Pretend pretend);

}  // namespace scanlab::grade
