// Allocations of device, managed and host memory, and what is known of a pointer.
#include <cstdlib>
#include <map>
#include <string>

#include "sides.hpp"

namespace scanlab::cudart {

using wire::Op;
using wire::Request;

namespace {

cudaError_t allocate(Client& state, void** pointer, std::size_t bytes, wire::Allocate how, Waits waits) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return how == wire::Allocate::managed ? cudaErrorInvalidValue : cudaSuccess;
  Request request;
  request.op = Op::allocate;
  request.flags = flags_of(waits);
  request.bytes = bytes;
  request.value = static_cast<std::uint64_t>(how);
  const wire::Reply reply = state.exchange(request);
  if (reply.error != 0) return static_cast<cudaError_t>(reply.error);
  const bool managed = how == wire::Allocate::managed;
  if (managed && !state.map_managed(reply.address, bytes)) {
    request.op = Op::release;
    request.to = reply.address;
    (void)state.submit(request);
    say("cudaMallocManaged: the system refuses to map device addresses in this process");
    return cudaErrorNotSupported;
  }
  // A kernel's results may not be lost by handing the host's copies over again: the new one joins at the next launch.
  if (managed && state.device_owns_managed)
    if (const cudaError_t error = state.synchronise(); error != cudaSuccess) return error;
  AllocationNote& note = state.allocations[reply.address];
  note.bytes = bytes;
  note.label = (managed ? "cudaMallocManaged #" : "cudaMalloc #") + std::to_string(state.allocation_number++) + " (" +
               std::to_string(bytes) + " bytes)";
  note.managed = managed;
  *pointer = reinterpret_cast<void*>(reply.address);
  return cudaSuccess;
}

cudaError_t release(Client& state, void* pointer, Waits waits) {
  if (pointer == nullptr) return waits == Waits::yes ? state.synchronise() : cudaSuccess;
  if (state.is_managed(pointer))
    if (const cudaError_t error = state.synchronise(); error != cudaSuccess) return error;
  Request request;
  request.op = Op::release;
  request.flags = flags_of(waits);
  request.to = address_of(pointer);
  const cudaError_t error = state.submit(request);
  const auto found = state.allocations.find(address_of(pointer));
  if (error == cudaSuccess && found != state.allocations.end()) {
    if (found->second.managed) state.unmap_managed(found->first, found->second.bytes);
    state.allocations.erase(found);
  } else if (error == cudaErrorInvalidValue && state.sticky == cudaSuccess) {
    say("cudaFree: the pointer is not what cudaMalloc returned, or is freed already");
  }
  return error;
}

cudaError_t allocate_host(Client& state, void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, bytes) != 0) return cudaErrorMemoryAllocation;
  state.host_allocations[memory] = bytes;
  *pointer = memory;
  return cudaSuccess;
}

constexpr std::size_t pitch_alignment = 512;

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;
namespace wire = scanlab::server::wire;

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** pointer, size_t bytes) {
  return call([&](Client& state) { return allocate(state, pointer, bytes, wire::Allocate::ordinary, Waits::yes); });
}

cudaError_t CUDARTAPI cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
    return allocate(state, pointer, bytes, wire::Allocate::ordinary, Waits::no);
  });
}

cudaError_t CUDARTAPI cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    return allocate(state, pointer, bytes, wire::Allocate::managed, Waits::yes);
  });
}

cudaError_t CUDARTAPI cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return call([&](Client& state) -> cudaError_t {
    if (pitch == nullptr) return cudaErrorInvalidValue;
    *pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
    return allocate(state, pointer, *pitch * height, wire::Allocate::ordinary, Waits::yes);
  });
}

cudaError_t CUDARTAPI cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return call([&](Client& state) -> cudaError_t {
    if (pitched == nullptr) return cudaErrorInvalidValue;
    pitched->pitch = (extent.width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return allocate(state, &pitched->ptr, pitched->pitch * extent.height * extent.depth, wire::Allocate::ordinary,
                    Waits::yes);
  });
}

cudaError_t CUDARTAPI cudaFree(void* pointer) {
  return call([&](Client& state) { return release(state, pointer, Waits::yes); });
}

cudaError_t CUDARTAPI cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
    return pointer == nullptr ? cudaErrorInvalidValue : release(state, pointer, Waits::no);
  });
}

cudaError_t CUDARTAPI cudaMallocHost(void** pointer, size_t bytes) {
  return call([&](Client& state) { return allocate_host(state, pointer, bytes); });
}

cudaError_t CUDARTAPI cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    if (flags & ~7u) return cudaErrorInvalidValue;
    // Memory that kernels may use is managed memory here: the same pointer on both sides.
    if ((flags & cudaHostAllocMapped) && bytes > 0)
      return allocate(state, pointer, bytes, wire::Allocate::managed, Waits::yes);
    return allocate_host(state, pointer, bytes);
  });
}

cudaError_t CUDARTAPI cudaFreeHost(void* pointer) {
  return call([&](Client& state) -> cudaError_t {
    if (pointer == nullptr) return cudaSuccess;
    if (state.is_managed(pointer)) return release(state, pointer, Waits::yes);
    if (state.host_allocations.erase(pointer) == 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.synchronise(); error != cudaSuccess) return error;
    std::free(pointer);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return call([&](Client& state) -> cudaError_t {
    if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
    return state.host_registrations.emplace(pointer, bytes).second ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t CUDARTAPI cudaHostUnregister(void* pointer) {
  return call([&](Client& state) -> cudaError_t {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    return state.host_registrations.erase(pointer) != 0 ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t CUDARTAPI cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return call([&](Client& state) -> cudaError_t {
    if (device == nullptr || host == nullptr) return cudaErrorInvalidValue;
    *device = nullptr;
    if (state.is_managed(host)) {
      *device = host;
      return cudaSuccess;
    }
    if (!state.host_allocations.contains(host) && !state.host_registrations.contains(host))
      return cudaErrorInvalidValue;
    say("cudaHostGetDevicePointer: allocate with cudaHostAlloc(…, cudaHostAllocMapped) to use host memory in kernels");
    return cudaErrorNotSupported;
  });
}

cudaError_t CUDARTAPI cudaHostGetFlags(unsigned* flags, void* host) {
  return call([&](Client& state) -> cudaError_t {
    if (flags == nullptr) return cudaErrorInvalidValue;
    const bool managed = state.is_managed(host);
    if (!managed && !state.host_allocations.contains(host)) return cudaErrorInvalidValue;
    *flags = managed ? cudaHostAllocMapped : cudaHostAllocDefault;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  return call([&](Client& state) -> cudaError_t {
    if (free_bytes == nullptr || total == nullptr) return cudaErrorInvalidValue;
    wire::Request request;
    request.op = wire::Op::memory_info;
    const wire::Reply reply = state.exchange(request);
    *free_bytes = reply.bytes;
    *total = reply.value;
    return static_cast<cudaError_t>(reply.error);
  });
}

cudaError_t CUDARTAPI cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call([&](Client& state) -> cudaError_t {
    if (attributes == nullptr || pointer == nullptr) return cudaErrorInvalidValue;
    *attributes = {};
    attributes->device = -2;  // cudaInvalidDeviceId: not known to CUDA
    attributes->type = cudaMemoryTypeUnregistered;
    if (in_device_window(pointer)) {
      wire::Request request;
      request.op = wire::Op::check_range;
      request.to = reinterpret_cast<std::uint64_t>(pointer);
      request.bytes = 1;
      if (state.submit(request) != cudaSuccess) return cudaErrorInvalidValue;
      const bool managed = state.is_managed(pointer);
      attributes->type = managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
      attributes->devicePointer = const_cast<void*>(pointer);
      attributes->hostPointer = managed ? const_cast<void*>(pointer) : nullptr;
      attributes->device = 0;
      return cudaSuccess;
    }
    const auto within = [&](const std::map<const void*, std::size_t>& ranges) {
      auto next = ranges.upper_bound(pointer);
      if (next == ranges.begin()) return false;
      --next;
      return static_cast<const char*>(pointer) < static_cast<const char*>(next->first) + next->second;
    };
    attributes->hostPointer = const_cast<void*>(pointer);
    if (within(state.host_allocations) || within(state.host_registrations)) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = 0;
    }
    return cudaSuccess;
  });
}

// Hints about where managed memory should be: there is one place to be.
#if CUDART_VERSION >= 13000
cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void* pointer, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return call([&](Client& state) { return state.is_managed(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t CUDARTAPI cudaMemAdvise(const void* pointer, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return call([&](Client& state) { return state.is_managed(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}
#else
cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void* pointer, size_t, int, cudaStream_t) {
  return call([&](Client& state) { return state.is_managed(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t CUDARTAPI cudaMemAdvise(const void* pointer, size_t, cudaMemoryAdvise, int) {
  return call([&](Client& state) { return state.is_managed(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}
#endif

}  // extern "C"
