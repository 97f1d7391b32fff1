// Allocations of device and managed memory, and what is known of a pointer.
#include <string>

#include "cudart/sides.hpp"

namespace scanlab::cudart {

using wire::Op;
using wire::Request;

cudaError_t allocate(Client& state, void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags, Waits waits,
                     std::uint32_t order) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;  // managed memory too (seen with CUDA 13.0 on an H200)
  Request request;
  request.op = Op::allocate;
  request.flags = flags_of(waits) | order;
  request.bytes = bytes;
  request.value = static_cast<std::uint64_t>(kind == MemoryKind::device    ? wire::Allocate::ordinary
                                             : kind == MemoryKind::managed ? wire::Allocate::managed
                                                                           : wire::Allocate::pinned);
  const wire::Reply reply = state.exchange(request);
  if (reply.error != 0) return static_cast<cudaError_t>(reply.error);
  if (kind != MemoryKind::device) {
    if (const cudaError_t error = state.share(reply.address, bytes); error != cudaSuccess) {
      request.op = Op::release;
      request.to = reply.address;
      (void)state.submit(request);
      return error;
    }
  }
  const char* name = kind == MemoryKind::device    ? "cudaMalloc"
                     : kind == MemoryKind::managed ? "cudaMallocManaged"
                                                   : "pinned host memory";
  std::string label =
      std::string(name) + " #" + std::to_string(state.allocation_number++) + " (" + std::to_string(bytes) + " bytes)";
  state.allocations[reply.address] = {bytes, std::move(label), kind, flags};
  *pointer = reinterpret_cast<void*>(reply.address);
  return cudaSuccess;
}

cudaError_t release(Client& state, void* pointer, Waits waits, std::uint32_t order) {
  if (pointer == nullptr) return waits == Waits::yes ? state.synchronise() : cudaSuccess;
  Request request;
  request.op = Op::release;
  request.flags = flags_of(waits) | order;
  request.to = address_of(pointer);
  const cudaError_t error = state.submit(request);
  const auto found = state.allocations.find(address_of(pointer));
  if (error == cudaSuccess && found != state.allocations.end()) {
    forget_pool_allocation(found->first);
    if (found->second.kind != MemoryKind::device) state.unmap(found->first, found->second.bytes);
    state.allocations.erase(found);
  } else if (error == cudaErrorInvalidValue && state.sticky == cudaSuccess) {
    say("cudaFree: the pointer is not what cudaMalloc returned, or is freed already");
  }
  return error;
}

namespace {

constexpr std::size_t pitch_alignment = 512;

/// A call that may not happen while a stream is captured in the global mode.
cudaError_t allocate_device(void** pointer, std::size_t bytes) {
  return call([&](Client& state) -> cudaError_t {
    if (const cudaError_t error = state.refuse_during_capture(); error != cudaSuccess) return error;
    return allocate(state, pointer, bytes, MemoryKind::device, 0, Waits::yes);
  });
}

/// The bytes of a pitched allocation; false when they are more than there are numbers for.
bool pitched_bytes(std::size_t width, std::size_t height, std::size_t depth, std::size_t& pitch, std::size_t& bytes) {
  if (width > SIZE_MAX - pitch_alignment) return false;
  pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
  return !__builtin_mul_overflow(pitch, height, &bytes) && !__builtin_mul_overflow(bytes, depth, &bytes);
}

cudaError_t hint(const void* pointer, std::size_t bytes) {
  return call([&](Client& state) -> cudaError_t {
    Address base = 0;
    const AllocationNote* note = state.allocation_of(pointer, &base);
    if (note == nullptr || note->kind != MemoryKind::managed || bytes == 0) return cudaErrorInvalidValue;
    return bytes <= note->bytes - (address_of(pointer) - base) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;
namespace wire = scanlab::server::wire;

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** pointer, size_t bytes) {
  return allocate_device(pointer, bytes);
}

cudaError_t CUDARTAPI cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    if (const cudaError_t error = state.refuse_during_capture(); error != cudaSuccess) return error;
    return allocate(state, pointer, bytes, MemoryKind::managed, flags, Waits::yes);
  });
}

cudaError_t CUDARTAPI cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  std::size_t bytes = 0;
  if (pitch == nullptr || pointer == nullptr) return record(cudaErrorInvalidValue);
  if (!pitched_bytes(width, height, 1, *pitch, bytes)) return record(cudaErrorMemoryAllocation);
  return allocate_device(pointer, bytes);
}

cudaError_t CUDARTAPI cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  std::size_t bytes = 0;
  if (pitched == nullptr) return record(cudaErrorInvalidValue);
  if (!pitched_bytes(extent.width, extent.height, extent.depth, pitched->pitch, bytes))
    return record(cudaErrorMemoryAllocation);
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return allocate_device(&pitched->ptr, bytes);
}

cudaError_t CUDARTAPI cudaFree(void* pointer) {
  return call([&](Client& state) -> cudaError_t {
    if (const cudaError_t error = state.refuse_during_capture(); error != cudaSuccess) return error;
    state.await_all_host_functions();
    const MemoryKind kind = state.kind_of(pointer);
    if (kind != MemoryKind::device && kind != MemoryKind::managed) {
      say("cudaFree: this is host memory; pinned memory is freed with cudaFreeHost");
      return cudaErrorInvalidValue;
    }
    return release(state, pointer, Waits::yes);
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
    void* const same = const_cast<void*>(pointer);
    if (in_device_window(pointer)) {
      wire::Request request;
      request.op = wire::Op::check_range;
      request.to = reinterpret_cast<std::uint64_t>(pointer);
      request.bytes = 1;
      if (state.submit(request) != cudaSuccess) return cudaErrorInvalidValue;
      const MemoryKind kind = state.kind_of(pointer);
      attributes->type = kind == MemoryKind::device    ? cudaMemoryTypeDevice
                         : kind == MemoryKind::managed ? cudaMemoryTypeManaged
                                                       : cudaMemoryTypeHost;
      attributes->devicePointer = same;
      attributes->hostPointer = kind == MemoryKind::device ? nullptr : same;
      attributes->device = 0;
      return cudaSuccess;
    }
    attributes->hostPointer = same;
    const void* begin = nullptr;
    if (const Registration* registration = registration_of(state, pointer, &begin)) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = 0;
      if (registration->device != 0)
        attributes->devicePointer =
            reinterpret_cast<void*>(registration->device + (address_of(pointer) - address_of(begin)));
    }
    return cudaSuccess;
  });
}

// Hints about where managed memory should be: there is one place to be.
#if CUDART_VERSION >= 13000
cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation, unsigned, cudaStream_t) {
  return hint(pointer, bytes);
}

cudaError_t CUDARTAPI cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return hint(pointer, bytes);
}
#else
cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void* pointer, size_t bytes, int, cudaStream_t) {
  return hint(pointer, bytes);
}

cudaError_t CUDARTAPI cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, int) {
  return hint(pointer, bytes);
}
#endif

}  // extern "C"
