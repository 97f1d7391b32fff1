// The device as programs ask for it: count, properties, attributes, limits, versions.
#include <algorithm>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <variant>
#include <vector>

#include "cudart/sides.hpp"

namespace scanlab::cudart {
namespace {

constexpr int single_to_double = 2;
// Where such a device might be plugged in; any identity does, if it says nothing about the program that asks.
constexpr int pci_bus = 7;
constexpr char pci_text[] = "0000:07:00.0";
constexpr unsigned char uuid[16] = {0x8f, 0x3a, 0x51, 0xc6, 0x0d, 0x72, 0x54, 0xe9,
                                    0xb1, 0x4c, 0x96, 0x2e, 0xd7, 0x05, 0x6a, 0x38};

/// What the device says of itself as an attribute, and most of it as a property too.
struct Fact {
  cudaDeviceAttr attribute;
  std::int64_t value;
  std::variant<std::monostate, int cudaDeviceProp::*, std::size_t cudaDeviceProp::*> property = {};
};

int as_int(std::int64_t value) {
  return static_cast<int>(std::min<std::int64_t>(value, INT_MAX));
}

/// What the virtual GPU does not have (textures, peers, clusters) is not among them, and 0; so is
/// canUseHostPointerForRegisteredMem: registered memory has another address on the device.
std::vector<Fact> facts_of(const wire::DeviceFacts& facts) {
  const auto bytes = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  return {
    {cudaDevAttrMaxThreadsPerBlock, facts.max_threads_per_block, &cudaDeviceProp::maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, facts.max_block[0]}, {cudaDevAttrMaxBlockDimY, facts.max_block[1]},
        {cudaDevAttrMaxBlockDimZ, facts.max_block[2]}, {cudaDevAttrMaxGridDimX, facts.max_grid[0]},
        {cudaDevAttrMaxGridDimY, facts.max_grid[1]}, {cudaDevAttrMaxGridDimZ, facts.max_grid[2]},
        {cudaDevAttrMaxSharedMemoryPerBlock, bytes(facts.shared_per_block), &cudaDeviceProp::sharedMemPerBlock},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, bytes(facts.shared_per_block_optin),
         &cudaDeviceProp::sharedMemPerBlockOptin},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, bytes(facts.shared_per_multiprocessor),
         &cudaDeviceProp::sharedMemPerMultiprocessor},
        {cudaDevAttrTotalConstantMemory, bytes(facts.constant_memory), &cudaDeviceProp::totalConstMem},
        {cudaDevAttrWarpSize, 32, &cudaDeviceProp::warpSize}, {cudaDevAttrMaxPitch, INT_MAX, &cudaDeviceProp::memPitch},
        {cudaDevAttrMaxRegistersPerBlock, facts.registers_per_block, &cudaDeviceProp::regsPerBlock},
        {cudaDevAttrMaxRegistersPerMultiprocessor, facts.registers_per_block, &cudaDeviceProp::regsPerMultiprocessor},
        {cudaDevAttrClockRate, facts.clock_khz}, {cudaDevAttrMemoryClockRate, facts.memory_clock_khz},
        {cudaDevAttrGlobalMemoryBusWidth, facts.memory_bus_bits, &cudaDeviceProp::memoryBusWidth},
        {cudaDevAttrL2CacheSize, bytes(facts.l2_bytes), &cudaDeviceProp::l2CacheSize},
        {cudaDevAttrMultiProcessorCount, facts.multiprocessors, &cudaDeviceProp::multiProcessorCount},
        {cudaDevAttrMaxThreadsPerMultiProcessor, facts.max_threads_per_multiprocessor,
         &cudaDeviceProp::maxThreadsPerMultiProcessor},
        {cudaDevAttrMaxBlocksPerMultiprocessor, facts.max_blocks_per_multiprocessor,
         &cudaDeviceProp::maxBlocksPerMultiProcessor},
        {cudaDevAttrComputeCapabilityMajor, facts.compute_major, &cudaDeviceProp::major},
        {cudaDevAttrComputeCapabilityMinor, facts.compute_minor, &cudaDeviceProp::minor},
        {cudaDevAttrTextureAlignment, 512, &cudaDeviceProp::textureAlignment},
        {cudaDevAttrSurfaceAlignment, 512, &cudaDeviceProp::surfaceAlignment},
        {cudaDevAttrTexturePitchAlignment, 32, &cudaDeviceProp::texturePitchAlignment},
        {cudaDevAttrAsyncEngineCount, 3, &cudaDeviceProp::asyncEngineCount},
        {cudaDevAttrPciBusId, pci_bus, &cudaDeviceProp::pciBusID}, {cudaDevAttrGpuOverlap, 1},
        {cudaDevAttrEccEnabled, 1, &cudaDeviceProp::ECCEnabled},
        {cudaDevAttrConcurrentKernels, 1, &cudaDeviceProp::concurrentKernels},
        {cudaDevAttrCanMapHostMemory, 1, &cudaDeviceProp::canMapHostMemory},
        {cudaDevAttrUnifiedAddressing, 1, &cudaDeviceProp::unifiedAddressing},
        {cudaDevAttrManagedMemory, 1, &cudaDeviceProp::managedMemory},
        {cudaDevAttrStreamPrioritiesSupported, 1, &cudaDeviceProp::streamPrioritiesSupported},
        {cudaDevAttrGlobalL1CacheSupported, 1, &cudaDeviceProp::globalL1CacheSupported},
        {cudaDevAttrLocalL1CacheSupported, 1, &cudaDeviceProp::localL1CacheSupported},
        {cudaDevAttrCooperativeLaunch, 1, &cudaDeviceProp::cooperativeLaunch},
        {cudaDevAttrHostRegisterSupported, 1, &cudaDeviceProp::hostRegisterSupported},
        {cudaDevAttrConcurrentManagedAccess, 1, &cudaDeviceProp::concurrentManagedAccess},
        {cudaDevAttrComputePreemptionSupported, 1, &cudaDeviceProp::computePreemptionSupported},
        {cudaDevAttrMemoryPoolsSupported, 1, &cudaDeviceProp::memoryPoolsSupported}, {cudaDevAttrMemSyncDomainCount, 1},
        {cudaDevAttrSingleToDoublePrecisionPerfRatio, single_to_double}, {cudaDevAttrHostNumaId, -1},
#if CUDART_VERSION >= 12020
        {cudaDevAttrNumaId, -1},
#endif
  };
}

/// Nothing for an attribute that is not known.
std::optional<int> attribute(const wire::DeviceFacts& device, cudaDeviceAttr which) {
  for (const Fact& fact : facts_of(device))
    if (fact.attribute == which) return as_int(fact.value);
  return which > 0 && which < cudaDevAttrMax ? std::optional(0) : std::nullopt;
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

std::size_t stack_limit() {
  return limits.values[cudaLimitStackSize];
}

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
  return call([&](Client&) { return give(count, 1); });
}

cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  return call([&](Client&) { return give(device, 0); });
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
    const unsigned schedule = flags & unsigned{cudaDeviceScheduleMask};
    if ((flags & ~unsigned{cudaDeviceMask}) || std::popcount(schedule) > 1) return cudaErrorInvalidValue;
    device_flags = flags;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned* flags) {
  return call([&](Client&) { return give(flags, device_flags); });
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return call([&](Client& state) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    const std::optional<int> known = attribute(state.device, which);
    *value = known.value_or(0);
    return known ? cudaSuccess : cudaErrorInvalidValue;
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
    for (int axis = 0; axis < 3; ++axis) {
      to.maxThreadsDim[axis] = as_int(facts.max_block[axis]);
      to.maxGridSize[axis] = as_int(facts.max_grid[axis]);
    }
    for (const Fact& fact : facts_of(facts)) {
      if (const auto* number = std::get_if<int cudaDeviceProp::*>(&fact.property)) to.** number = as_int(fact.value);
      if (const auto* bytes = std::get_if<std::size_t cudaDeviceProp::*>(&fact.property))
        to.** bytes = static_cast<std::size_t>(fact.value);
    }
    std::memcpy(to.uuid.bytes, uuid, sizeof to.uuid.bytes);
#if CUDART_VERSION < 13000
    to.clockRate = as_int(facts.clock_khz);
    to.memoryClockRate = as_int(facts.memory_clock_khz);
    to.deviceOverlap = 1;
    to.singleToDoublePrecisionPerfRatio = single_to_double;
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
    return std::strcmp(text, pci_text) == 0 ? give(device, 0) : cudaErrorInvalidDevice;
  });
}

cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return call([&](Client&) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    const std::size_t* known = limit_of(limit);
    return known == nullptr ? cudaErrorUnsupportedLimit : give(value, *known);
  });
}

cudaError_t CUDARTAPI cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return call([&](Client& state) -> cudaError_t {
    std::size_t* known = limit_of(limit);
    if (known == nullptr) return cudaErrorUnsupportedLimit;
    constexpr std::size_t most_stack = 523'712, widest_fetch = 128;  // bytes, as an H200 has them
    if (limit == cudaLimitStackSize && value > most_stack) return cudaErrorInvalidValue;
    if (limit == cudaLimitPersistingL2CacheSize && value > state.device.l2_bytes) return cudaErrorInvalidValue;
    if (limit == cudaLimitMaxL2FetchGranularity && value > widest_fetch) return cudaErrorInvalidValue;
    if (limit == cudaLimitMallocHeapSize) {
      const cudaError_t error = state.submit({.op = wire::Op::set_heap_limit, .bytes = value});
      if (error != cudaSuccess) return error;
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
  return call([&](Client&) { return give(configuration, cache_configuration); });
}

cudaError_t CUDARTAPI cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return call();
}

cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* configuration) {
  if (configuration != nullptr) *configuration = cudaSharedMemBankSizeFourByte;
  return call();
}

cudaError_t CUDARTAPI cudaCtxResetPersistingL2Cache(void) {
  return call();
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
