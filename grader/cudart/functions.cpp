// What is known of a kernel before it runs: attributes, names, occupancy.
#include <algorithm>
#include <climits>

#include "cudart/call.hpp"

using namespace scanlab::cudart;
namespace wire = scanlab::server::wire;

extern "C" {

cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  return call([&](Client& state) -> cudaError_t {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    Function* function = state.find(kernel);
    if (function == nullptr) return no_such_kernel(kernel);
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    *attributes = {};
    attributes->sharedSizeBytes = function->facts.static_shared;
    attributes->constSizeBytes = function->facts.constant_bytes;
    attributes->localSizeBytes = function->facts.local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(function->facts.max_threads);
    attributes->numRegs = static_cast<int>(std::min<std::uint32_t>(function->facts.registers, 255));
    attributes->ptxVersion = attributes->binaryVersion =
        static_cast<int>(state.device.compute_major * 10 + state.device.compute_minor);
    const std::uint64_t limit =
        function->max_dynamic_shared != 0
            ? function->max_dynamic_shared
            : state.device.shared_per_block - std::min(state.device.shared_per_block, function->facts.static_shared);
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(limit);
    attributes->preferredShmemCarveout = function->carveout;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return no_such_kernel(kernel);
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
      if (value < cudaSharedmemCarveoutDefault || value > cudaSharedmemCarveoutMaxShared) return cudaErrorInvalidValue;
      function->carveout = value;
      return cudaSuccess;
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)  // clusters
      return attribute > 0 && attribute < cudaFuncAttributeMax ? cudaErrorNotSupported : cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    if (value < 0 ||
        static_cast<std::uint64_t>(value) + function->facts.static_shared > state.device.shared_per_block_optin)
      return cudaErrorInvalidValue;
    function->max_dynamic_shared = static_cast<std::uint64_t>(value);
    function->accepted.clear();
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache) {
  return call([&](Client& state) { return state.find(kernel) ? cudaSuccess : no_such_kernel(kernel); });
}

cudaError_t CUDARTAPI cudaFuncSetSharedMemConfig(const void* kernel, cudaSharedMemConfig) {
  return call([&](Client& state) { return state.find(kernel) ? cudaSuccess : no_such_kernel(kernel); });
}

cudaError_t CUDARTAPI cudaFuncGetName(const char** name, const void* kernel) {
  return call([&](Client& state) -> cudaError_t {
    const Function* function = state.find(kernel);
    if (function == nullptr) return no_such_kernel(kernel);
    if (name == nullptr) return cudaErrorInvalidValue;
    *name = function->name.c_str();
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void* kernel, size_t index, size_t* offset, size_t* bytes) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return no_such_kernel(kernel);
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    if (offset == nullptr || index >= function->places.size()) return cudaErrorInvalidValue;
    *offset = function->places[index].offset;
    if (bytes != nullptr) *bytes = function->places[index].bytes;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return call([&](Client& state) -> cudaError_t {
    if (kernel == nullptr) return cudaErrorInvalidValue;
    *kernel = reinterpret_cast<cudaKernel_t>(state.find(host_function));
    return *kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}

// A cudaFunction_t is not looked into by anything but the driver API: any name for the kernel will do.
cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t* function, const void* host_function) {
  return call([&](Client& state) -> cudaError_t {
    if (function == nullptr) return cudaErrorInvalidValue;
    *function = reinterpret_cast<cudaFunction_t>(state.find(host_function));
    return *function == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                             int threads, size_t shared, unsigned) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return no_such_kernel(kernel);
    if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    wire::Request request;
    request.op = wire::Op::occupancy;
    request.id = function->id;
    request.bytes = static_cast<std::uint64_t>(threads);
    request.dynamic_shared = shared;
    const wire::Reply reply = state.exchange(request);
    *blocks = static_cast<int>(std::min<std::uint64_t>(reply.value, INT_MAX));
    return static_cast<cudaError_t>(reply.error);
  });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                                    size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* kernel, int blocks,
                                                                int threads) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    if (function == nullptr) return no_such_kernel(kernel);
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(*function); error != cudaSuccess) return error;
    const std::uint64_t share = std::min<std::uint64_t>(
        state.device.shared_per_multiprocessor / static_cast<unsigned>(blocks), state.device.shared_per_block_optin);
    *bytes = share - std::min(share, function->facts.static_shared);
    return cudaSuccess;
  });
}

}  // extern "C"
