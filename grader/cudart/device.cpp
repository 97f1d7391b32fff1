// The device as programs ask for it: count, properties, attributes, limits, versions.
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "cudart/sides.hpp"

namespace scanlab::cudart {
namespace {

template <class T>
int as_int(T value) {
  return value > static_cast<T>(INT_MAX) ? INT_MAX : static_cast<int>(value);
}

constexpr int warp_size = 32;
constexpr int async_engines = 3;
// Where such a device might be plugged in; any identity does, if it says nothing about the program that asks.
constexpr int pci_bus = 7;
constexpr char pci_text[] = "0000:07:00.0";
constexpr unsigned char uuid[16] = {0x8f, 0x3a, 0x51, 0xc6, 0x0d, 0x72, 0x54, 0xe9,
                                    0xb1, 0x4c, 0x96, 0x2e, 0xd7, 0x05, 0x6a, 0x38};

/// False for an attribute that is not known. What the virtual GPU does not have (textures, peers, clusters) is 0, and
/// canUseHostPointerForRegisteredMem: registered memory has another address on the device.
bool attribute(const wire::DeviceFacts& device, cudaDeviceAttr which, int& value) {
  value = 0;
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock:
      value = as_int(device.max_threads_per_block);
      break;
    case cudaDevAttrMaxBlockDimX:
      value = as_int(device.max_block[0]);
      break;
    case cudaDevAttrMaxBlockDimY:
      value = as_int(device.max_block[1]);
      break;
    case cudaDevAttrMaxBlockDimZ:
      value = as_int(device.max_block[2]);
      break;
    case cudaDevAttrMaxGridDimX:
      value = as_int(device.max_grid[0]);
      break;
    case cudaDevAttrMaxGridDimY:
      value = as_int(device.max_grid[1]);
      break;
    case cudaDevAttrMaxGridDimZ:
      value = as_int(device.max_grid[2]);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      value = as_int(device.shared_per_block);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      value = as_int(device.shared_per_block_optin);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      value = as_int(device.shared_per_multiprocessor);
      break;
    case cudaDevAttrTotalConstantMemory:
      value = as_int(device.constant_memory);
      break;
    case cudaDevAttrWarpSize:
      value = warp_size;
      break;
    case cudaDevAttrMaxPitch:
      value = INT_MAX;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      value = as_int(device.registers_per_block);
      break;
    case cudaDevAttrClockRate:
      value = as_int(device.clock_khz);
      break;
    case cudaDevAttrMemoryClockRate:
      value = as_int(device.memory_clock_khz);
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      value = as_int(device.memory_bus_bits);
      break;
    case cudaDevAttrL2CacheSize:
      value = as_int(device.l2_bytes);
      break;
    case cudaDevAttrMultiProcessorCount:
      value = as_int(device.multiprocessors);
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      value = as_int(device.max_threads_per_multiprocessor);
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      value = as_int(device.max_blocks_per_multiprocessor);
      break;
    case cudaDevAttrComputeCapabilityMajor:
      value = as_int(device.compute_major);
      break;
    case cudaDevAttrComputeCapabilityMinor:
      value = as_int(device.compute_minor);
      break;
    case cudaDevAttrTextureAlignment:
    case cudaDevAttrSurfaceAlignment:
      value = 512;
      break;
    case cudaDevAttrTexturePitchAlignment:
      value = 32;
      break;
    case cudaDevAttrAsyncEngineCount:
      value = async_engines;
      break;
    case cudaDevAttrPciBusId:
      value = pci_bus;
      break;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrMemSyncDomainCount:
      value = 1;
      break;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      value = 2;
      break;
    case cudaDevAttrHostNumaId:
#if CUDART_VERSION >= 12020
    case cudaDevAttrNumaId:
#endif
      value = -1;
      break;
    default:
      return static_cast<int>(which) > 0 && which < cudaDevAttrMax;
  }
  return true;
}

int attribute(const wire::DeviceFacts& device, cudaDeviceAttr which) {
  int value = 0;
  (void)attribute(device, which, value);
  return value;
}

constexpr std::size_t unsupported = ~std::size_t{0};

/// By cudaLimit: stack, printf buffer, heap, depth of device-side synchronisation (gone since compute capability 9.0
/// and CUDA 12), pending launches, fetch granularity of the L2 cache, persisting L2 cache.
struct Limits {
  std::size_t values[7] = {1024, 1 << 20, 8 << 20, unsupported, 2048, 64, 0};
};
Limits limits;
unsigned device_flags = 0;

std::size_t* limit_of(cudaLimit limit) {
  const auto index = static_cast<unsigned>(limit);
  return index < std::size(limits.values) && limits.values[index] != unsupported ? &limits.values[index] : nullptr;
}

cudaFuncCache cache_configuration = cudaFuncCachePreferNone;

cudaError_t check_device(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace

void forget_device_settings() {
  limits = {};
  device_flags = 0;
  cache_configuration = cudaFuncCachePreferNone;
}

}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  if (count != nullptr) *count = 0;
  return call([&](Client&) -> cudaError_t {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = 1;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  return call([&](Client&) -> cudaError_t {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaSetDevice(int device) {
  return call([&](Client&) { return check_device(device); });
}

cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned, unsigned) {
  return call([&](Client&) { return check_device(device); });
}

cudaError_t CUDARTAPI cudaSetValidDevices(int* devices, int count) {
  return call([&](Client&) -> cudaError_t {
    if (count < 0 || (count > 0 && devices == nullptr)) return cudaErrorInvalidValue;
    for (int i = 0; i < count; ++i)
      if (devices[i] != 0) return cudaErrorInvalidDevice;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return wanted == nullptr ? record(cudaErrorInvalidValue) : cudaGetDevice(device);
}

cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned flags) {
  return call([&](Client&) -> cudaError_t {
    if (flags & ~unsigned{cudaDeviceMask}) return cudaErrorInvalidValue;
    device_flags = flags;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned* flags) {
  return call([&](Client&) -> cudaError_t {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = device_flags;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return call([&](Client& state) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    return attribute(state.device, which, *value) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

// In CUDA 12 the header renames this to cudaGetDeviceProperties_v2; either way the structure is that of the header.
cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call([&](Client& state) -> cudaError_t {
    if (properties == nullptr) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    const wire::DeviceFacts& facts = state.device;
    cudaDeviceProp& to = *properties;
    to = {};
    std::memcpy(to.name, facts.name, sizeof to.name);
    to.totalGlobalMem = facts.memory;
    to.sharedMemPerBlock = facts.shared_per_block;
    to.regsPerBlock = as_int(facts.registers_per_block);
    to.warpSize = warp_size;
    to.memPitch = INT_MAX;
    to.maxThreadsPerBlock = as_int(facts.max_threads_per_block);
    for (int axis = 0; axis < 3; ++axis) {
      to.maxThreadsDim[axis] = as_int(facts.max_block[axis]);
      to.maxGridSize[axis] = as_int(facts.max_grid[axis]);
    }
    to.totalConstMem = facts.constant_memory;
    to.major = as_int(facts.compute_major);
    to.minor = as_int(facts.compute_minor);
    to.textureAlignment = to.surfaceAlignment = 512;
    to.texturePitchAlignment = 32;
    to.multiProcessorCount = as_int(facts.multiprocessors);
    to.memoryBusWidth = as_int(facts.memory_bus_bits);
    to.l2CacheSize = as_int(facts.l2_bytes);
    to.maxThreadsPerMultiProcessor = as_int(facts.max_threads_per_multiprocessor);
    to.sharedMemPerMultiprocessor = facts.shared_per_multiprocessor;
    to.regsPerMultiprocessor = as_int(facts.registers_per_block);
    to.sharedMemPerBlockOptin = facts.shared_per_block_optin;
    to.maxBlocksPerMultiProcessor = as_int(facts.max_blocks_per_multiprocessor);
    to.canMapHostMemory = to.concurrentKernels = to.ECCEnabled = to.unifiedAddressing = to.managedMemory = 1;
    to.streamPrioritiesSupported = to.globalL1CacheSupported = to.localL1CacheSupported = 1;
    to.cooperativeLaunch = to.hostRegisterSupported = to.concurrentManagedAccess = to.memoryPoolsSupported = 1;
    to.computePreemptionSupported = 1;
    to.asyncEngineCount = async_engines;
    std::memcpy(to.uuid.bytes, uuid, sizeof to.uuid.bytes);
    to.pciBusID = attribute(facts, cudaDevAttrPciBusId);
#if CUDART_VERSION < 13000
    to.clockRate = as_int(facts.clock_khz);
    to.memoryClockRate = as_int(facts.memory_clock_khz);
    to.deviceOverlap = 1;
    to.singleToDoublePrecisionPerfRatio = attribute(facts, cudaDevAttrSingleToDoublePrecisionPerfRatio);
#endif
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call([&](Client&) -> cudaError_t {
    if (text == nullptr || length < 13) return cudaErrorInvalidValue;
    std::snprintf(text, static_cast<std::size_t>(length), "%s", pci_text);
    return check_device(device);
  });
}

cudaError_t CUDARTAPI cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return call([&](Client&) -> cudaError_t {
    if (device == nullptr || text == nullptr) return cudaErrorInvalidValue;
    if (std::strcmp(text, pci_text) != 0) return cudaErrorInvalidDevice;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return call([&](Client&) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    const std::size_t* known = limit_of(limit);
    if (known == nullptr) return cudaErrorUnsupportedLimit;
    *value = *known;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return call([&](Client& state) -> cudaError_t {
    std::size_t* known = limit_of(limit);
    if (known == nullptr) return cudaErrorUnsupportedLimit;
    if (limit == cudaLimitMallocHeapSize) {
      wire::Request request;
      request.op = wire::Op::set_heap_limit;
      request.bytes = value;
      if (const cudaError_t error = state.submit(request); error != cudaSuccess) return error;
    }
    *known = value;
    return cudaSuccess;
  });
}

// Caches are not simulated: their configuration is accepted and without effect.
cudaError_t CUDARTAPI cudaDeviceSetCacheConfig(cudaFuncCache configuration) {
  return call([&](Client&) -> cudaError_t {
    if (configuration < cudaFuncCachePreferNone || configuration > cudaFuncCachePreferEqual)
      return cudaErrorInvalidValue;
    cache_configuration = configuration;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaDeviceGetCacheConfig(cudaFuncCache* configuration) {
  return call([&](Client&) -> cudaError_t {
    if (configuration == nullptr) return cudaErrorInvalidValue;
    *configuration = cache_configuration;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return call([](Client&) { return cudaSuccess; });
}

cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* configuration) {
  if (configuration != nullptr) *configuration = cudaSharedMemBankSizeFourByte;
  return call([](Client&) { return cudaSuccess; });
}

cudaError_t CUDARTAPI cudaCtxResetPersistingL2Cache(void) {
  return call([](Client&) { return cudaSuccess; });
}

// There is one device, so it has no peers.
cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call([&](Client&) -> cudaError_t {
    if (can == nullptr) return cudaErrorInvalidValue;
    *can = 0;
    return device == 0 && peer == 0 ? cudaSuccess : cudaErrorInvalidDevice;
  });
}

cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int, unsigned) {
  return call([](Client&) { return cudaErrorInvalidDevice; });
}

cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int) {
  return call([](Client&) { return cudaErrorInvalidDevice; });
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int* version) {
  if (version == nullptr) return record(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}

cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

}  // extern "C"
