// What is known of a kernel before it runs: attributes, names, occupancy.
#include <algorithm>
#include <climits>

#include "cudart/call.hpp"

namespace scanlab::cudart {
namespace {

/// What the kernel's own arrays leave of so much shared memory.
std::uint64_t left_beside(const wire::KernelFacts& facts, std::uint64_t shared) {
  return shared - std::min(shared, facts.static_shared);
}

template <class Handle>
cudaError_t give_kernel(Handle* handle, const void* host_function) {
  return call([&](Client& state) -> cudaError_t {
    if (handle == nullptr) return cudaErrorInvalidValue;
    *handle = reinterpret_cast<Handle>(state.find(host_function));
    return *handle == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (attributes == nullptr) return call([](Client&) { return cudaErrorInvalidValue; });
  return call_on_kernel(kernel, [&](Client& state, Function& function) -> cudaError_t {
    if (const cudaError_t error = state.resolve(function); error != cudaSuccess) return error;
    const wire::KernelFacts& facts = function.facts;
    *attributes = {};
    attributes->sharedSizeBytes = facts.static_shared;
    attributes->constSizeBytes = facts.constant_bytes;
    attributes->localSizeBytes = facts.local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(facts.max_threads);
    attributes->numRegs = static_cast<int>(std::min<std::uint32_t>(facts.registers, 255));
    attributes->ptxVersion = attributes->binaryVersion =
        static_cast<int>(state.device.compute_major * 10 + state.device.compute_minor);
    attributes->maxDynamicSharedSizeBytes =
        static_cast<int>(function.max_dynamic_shared != 0 ? function.max_dynamic_shared
                                                          : left_beside(facts, state.device.shared_per_block));
    attributes->preferredShmemCarveout = function.carveout;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call_on_kernel(kernel, [&](Client& state, Function& function) -> cudaError_t {
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
      if (value < cudaSharedmemCarveoutDefault || value > cudaSharedmemCarveoutMaxShared) return cudaErrorInvalidValue;
      function.carveout = value;
      return cudaSuccess;
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)  // clusters
      return attribute > 0 && attribute < cudaFuncAttributeMax ? cudaErrorNotSupported : cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(function); error != cudaSuccess) return error;
    if (value < 0 ||
        static_cast<std::uint64_t>(value) + function.facts.static_shared > state.device.shared_per_block_optin)
      return cudaErrorInvalidValue;
    function.max_dynamic_shared = static_cast<std::uint64_t>(value);
    function.accepted.clear();
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache configuration) {
  return call_on_kernel(kernel, [=](Client&, Function&) {
    const bool is_known = configuration >= cudaFuncCachePreferNone && configuration <= cudaFuncCachePreferEqual;
    return is_known ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t CUDARTAPI cudaFuncSetSharedMemConfig(const void* kernel, cudaSharedMemConfig) {
  return call_on_kernel(kernel, [](Client&, Function&) { return cudaSuccess; });
}

cudaError_t CUDARTAPI cudaFuncGetName(const char** name, const void* kernel) {
  return call_on_kernel(kernel, [&](Client&, Function& function) { return give(name, function.name.c_str()); });
}

cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void* kernel, size_t index, size_t* offset, size_t* bytes) {
  return call_on_kernel(kernel, [&](Client& state, Function& function) -> cudaError_t {
    if (const cudaError_t error = state.resolve(function); error != cudaSuccess) return error;
    if (offset == nullptr || index >= function.places.size()) return cudaErrorInvalidValue;
    *offset = function.places[index].offset;
    if (bytes != nullptr) *bytes = function.places[index].bytes;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return give_kernel(kernel, host_function);
}

// A cudaFunction_t is not looked into by anything but the driver API: any name for the kernel will do.
cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t* function, const void* host_function) {
  return give_kernel(function, host_function);
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                             int threads, size_t shared, unsigned) {
  return call_on_kernel(kernel, [&](Client& state, Function& function) -> cudaError_t {
    if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(function); error != cudaSuccess) return error;
    const wire::Reply reply = state.exchange({.op = wire::Op::occupancy,
                                              .id = function.id,
                                              .bytes = static_cast<std::uint64_t>(threads),
                                              .dynamic_shared = shared});
    *blocks = static_cast<int>(std::min<std::uint64_t>(reply.value, INT_MAX));
    return error_of(reply);
  });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                                    size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* kernel, int blocks,
                                                                int threads) {
  return call_on_kernel(kernel, [&](Client& state, Function& function) -> cudaError_t {
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.resolve(function); error != cudaSuccess) return error;
    const std::uint64_t share = std::min<std::uint64_t>(
        state.device.shared_per_multiprocessor / static_cast<unsigned>(blocks), state.device.shared_per_block_optin);
    return give(bytes, left_beside(function.facts, share));
  });
}

}  // extern "C"
