// Allocations of device and managed memory, and what is known of a pointer.
#include <string>
#include <utility>

#include "cudart/sides.hpp"

namespace scanlab::cudart {

using wire::Op;

namespace {

/// By MemoryKind, as far as a program allocates it.
constexpr std::pair<const char*, wire::Allocate> known_kinds[] = {{"cudaMalloc", wire::Allocate::ordinary},
                                                                  {"cudaMallocManaged", wire::Allocate::managed},
                                                                  {"pinned host memory", wire::Allocate::pinned}};

}  // namespace

cudaError_t allocate(Client& state, void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags, Waits waits,
                     std::uint32_t order) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;  // managed memory too (seen with CUDA 13.0 on an H200)
  const auto& [name, how] = known_kinds[static_cast<std::size_t>(kind)];
  const std::uint32_t request_flags = flags_of(waits) | order;
  if (state.reports_host()) state.note_call_site(frames_here());
  const wire::Reply reply = state.exchange(
      {.op = Op::allocate, .flags = request_flags, .bytes = bytes, .value = static_cast<std::uint64_t>(how)});
  if (reply.error != 0) return error_of(reply);
  if (kind != MemoryKind::device) {
    if (const cudaError_t error = state.share(reply.address, bytes); error != cudaSuccess) {
      (void)state.submit({.op = Op::release, .flags = request_flags, .to = reply.address});
      return error;
    }
  }
  const std::uint64_t number = state.allocation_number[static_cast<std::size_t>(kind)]++;
  std::string label = std::string(name) + " #" + std::to_string(number) + " (" + std::to_string(bytes) + " bytes)";
  state.allocations[reply.address] = {bytes, std::move(label), kind, flags};
  *pointer = reinterpret_cast<void*>(reply.address);
  return cudaSuccess;
}

cudaError_t release(Client& state, void* pointer, Waits waits, std::uint32_t order) {
  if (pointer == nullptr) return waits == Waits::yes ? state.synchronise() : cudaSuccess;
  if (state.reports_host()) state.note_call_site(frames_here());
  const cudaError_t error =
      state.submit({.op = Op::release, .flags = flags_of(waits) | order, .to = address_of(pointer)});
  const auto found = state.allocations.find(address_of(pointer));
  if (error == cudaSuccess && found != state.allocations.end()) {
    forget_pool_allocation(found->first);
    if (found->second.kind != MemoryKind::device) {
      state.unmap(found->first, found->second.bytes);
      if (state.freed.size() < Client::most_freed) state.freed.insert_or_assign(found->first, found->second);
    }
    state.allocations.erase(found);
  } else if (error == cudaErrorInvalidValue && state.sticky == cudaSuccess) {
    say("cudaFree: the pointer is not what cudaMalloc returned, or is freed already");
  }
  return error;
}

bool lies_within(const Client& state, const void* pointer, std::size_t bytes) {
  Address base = 0;
  const AllocationNote* note = state.allocation_of(pointer, &base);
  return note == nullptr || bytes <= note->bytes - (address_of(pointer) - base);
}

namespace {

constexpr std::size_t pitch_alignment = 512;

/// The bytes of a pitched allocation; false when they are more than there are numbers for.
bool pitched_bytes(std::size_t width, std::size_t height, std::size_t depth, std::size_t& pitch, std::size_t& bytes) {
  if (width > SIZE_MAX - pitch_alignment) return false;
  pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
  return !__builtin_mul_overflow(pitch, height, &bytes) && !__builtin_mul_overflow(bytes, depth, &bytes);
}

cudaError_t hint(const void* pointer, std::size_t bytes) {
  return call([&](Client& state) -> cudaError_t {
    const bool is_managed = state.kind_of(pointer) == MemoryKind::managed;
    return is_managed && bytes != 0 && lies_within(state, pointer, bytes) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** pointer, size_t bytes) {
  return call([&](Client& state) -> cudaError_t {
    if (const cudaError_t error = state.refuse_during_capture(); error != cudaSuccess) return error;
    return allocate(state, pointer, bytes, MemoryKind::device, 0, Waits::yes);
  });
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
  return cudaMalloc(pointer, bytes);
}

cudaError_t CUDARTAPI cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  std::size_t bytes = 0;
  if (pitched == nullptr) return record(cudaErrorInvalidValue);
  if (!pitched_bytes(extent.width, extent.height, extent.depth, pitched->pitch, bytes))
    return record(cudaErrorMemoryAllocation);
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return cudaMalloc(&pitched->ptr, bytes);
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
    const auto reply = state.exchange({.op = Op::memory_info});
    *free_bytes = reply.bytes;
    *total = reply.value;
    return error_of(reply);
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
      const bool is_known = state.submit({.op = Op::check_range, .to = address_of(pointer), .bytes = 1}) == cudaSuccess;
      if (!is_known) return cudaErrorInvalidValue;
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
    if (registration_of(state, pointer) != nullptr) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = 0;
      attributes->devicePointer = reinterpret_cast<void*>(device_alias(state, pointer));
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
