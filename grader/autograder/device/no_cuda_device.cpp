#include "autograder/device/devices.hpp"

namespace scanlab::grade {

std::unique_ptr<Device> make_cuda_device() {
  throw KitFault("this judge is built without NVIDIA's CUDA runtime; a real GPU needs the program judge-gpu");
}

}  // namespace scanlab::grade
