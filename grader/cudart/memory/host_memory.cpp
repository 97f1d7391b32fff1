// Host memory that kernels may use: pinned memory, and the program's own memory after cudaHostRegister.
//
// Pinned memory has one address for host and device, as under unified addressing, whatever flags it was made with.
// Registered memory keeps its host address and gets another one on the device: the program asks for it with
// cudaHostGetDevicePointer (the device's attribute canUseHostPointerForRegisteredMem is 0).
#include <cstdio>
#include <string>

#include "cudart/sides.hpp"

namespace scanlab::cudart {
namespace {

constexpr unsigned alloc_flags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr unsigned register_flags =
    cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;

enum class Pages { movable, fixed, absent };

/// Can the pages of [begin, begin + bytes) be exchanged for shared ones? Not those of files that the program shares
/// with others, and not those of a stack, which this function is using.
Pages pages_at(Address begin, std::size_t bytes) {
  const Address end = begin + bytes;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return Pages::fixed;
  const Address here = reinterpret_cast<Address>(__builtin_frame_address(0));
  char line[4352];
  Address reached = begin;
  Pages found = Pages::movable;
  while (reached < end && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long long from = 0, to = 0;
    char permissions[5] = {};
    if (std::sscanf(line, "%llx-%llx %4s", &from, &to, permissions) != 3 || to <= reached) continue;
    if (from > reached) break;
    const bool own_stack = here >= from && here < to;
    if (permissions[0] != 'r' || permissions[1] != 'w' || permissions[3] != 'p' || own_stack) found = Pages::fixed;
    reached = to;
  }
  std::fclose(maps);
  return reached < end ? Pages::absent : found;
}

/// Gives registered memory an address on the device.
cudaError_t give_to_device(Client& state, void* pointer, std::size_t bytes, Address& device) {
  if (state.reports_host()) state.note_call_site(frames_here());
  const wire::Reply reply = state.exchange({.op = wire::Op::allocate,
                                            .bytes = bytes,
                                            .offset = address_of(pointer) % vgpu::page_bytes,
                                            .value = static_cast<std::uint64_t>(wire::Allocate::registered)});
  if (reply.error != 0) return error_of(reply);
  state.allocations[reply.address] = {bytes, "registered host memory (" + std::to_string(bytes) + " bytes)",
                                      MemoryKind::registered, 0};
  if (const cudaError_t error = state.share(reply.address, bytes, pointer); error != cudaSuccess) {
    (void)release(state, reinterpret_cast<void*>(reply.address), Waits::no);
    return error;
  }
  device = reply.address;
  return cudaSuccess;
}

}  // namespace

const Registration* registration_of(const Client& state, const void* pointer, const void** begin) {
  const auto found = last_up_to(state.registrations, pointer);
  if (found == state.registrations.end() || address_of(pointer) - address_of(found->first) >= found->second.bytes)
    return nullptr;
  if (begin != nullptr) *begin = found->first;
  return &found->second;
}

Address device_alias(const Client& state, const void* host) {
  if (in_device_window(host)) return address_of(host);
  const void* begin = nullptr;
  const Registration* registration = registration_of(state, host, &begin);
  if (registration == nullptr || registration->device == 0) return 0;
  return registration->device + (address_of(host) - address_of(begin));
}

}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t CUDARTAPI cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    if (flags & ~alloc_flags) return cudaErrorInvalidValue;
    return allocate(state, pointer, bytes, MemoryKind::pinned, flags, Waits::no);
  });
}

/// What other work uses it the device says with the release; host functions have ended by then.
static void report_given_back(void* pointer, void* caller) {
  HostWatch& watch = client().watch;
  if (pointer != nullptr && !in_call && client().should_stay())
    watch.is_given_back(address_of(pointer), watch.bytes_from(address_of(pointer)), reinterpret_cast<Address>(caller));
}

cudaError_t CUDARTAPI cudaFreeHost(void* pointer) {
  report_given_back(pointer, __builtin_return_address(0));
  return call([&](Client& state) -> cudaError_t {
    if (pointer == nullptr) return cudaSuccess;
    Address base = 0;
    const AllocationNote* note = state.allocation_of(pointer, &base);
    if (note == nullptr || note->kind != MemoryKind::pinned || base != address_of(pointer)) {
      say("cudaFreeHost: the pointer is not what cudaMallocHost or cudaHostAlloc returned, or is freed already");
      return cudaErrorInvalidValue;
    }
    state.await_all_host_functions();
    return release(state, pointer, Waits::yes);
  });
}

cudaError_t CUDARTAPI cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    if (pointer == nullptr || bytes == 0 || (flags & ~register_flags)) return cudaErrorInvalidValue;
    if (in_device_window(pointer))
      return is_shared(state, pointer) ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue;
    const auto next = state.registrations.lower_bound(pointer);
    const bool reaches_next = next != state.registrations.end() &&
                              static_cast<const char*>(next->first) < static_cast<char*>(pointer) + bytes;
    if (reaches_next || registration_of(state, pointer) != nullptr) return cudaErrorHostMemoryAlreadyRegistered;
    Registration registration{bytes, flags, 0};
    const Pages pages = pages_at(address_of(pointer), bytes);
    if (pages == Pages::absent) return cudaErrorInvalidValue;
    if (pages == Pages::movable)
      if (const cudaError_t error = give_to_device(state, pointer, bytes, registration.device); error != cudaSuccess)
        return error;
    state.registrations.emplace(pointer, registration);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaHostUnregister(void* pointer) {
  report_given_back(pointer, __builtin_return_address(0));
  return call([&](Client& state) -> cudaError_t {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    const auto found = state.registrations.find(pointer);
    if (found == state.registrations.end()) return cudaErrorHostMemoryNotRegistered;
    const Registration registration = found->second;
    state.registrations.erase(found);
    if (registration.device == 0) return cudaSuccess;
    state.drain();  // a kernel may still write there
    state.take_back(pointer, registration);
    return release(state, reinterpret_cast<void*>(registration.device), Waits::no);
  });
}

cudaError_t CUDARTAPI cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    if (device == nullptr || host == nullptr || flags != 0) return cudaErrorInvalidValue;
    *device = nullptr;
    if (!is_shared(state, host) && registration_of(state, host) == nullptr) return cudaErrorInvalidValue;
    *device = reinterpret_cast<void*>(device_alias(state, host));
    if (*device != nullptr) return cudaSuccess;
    say("cudaHostGetDevicePointer: kernels cannot use registered memory of a stack or a shared file here; allocate it "
        "with cudaMallocHost");
    return cudaErrorNotSupported;
  });
}

cudaError_t CUDARTAPI cudaHostGetFlags(unsigned* flags, void* host) {
  return call([&](Client& state) -> cudaError_t {
    if (flags == nullptr) return cudaErrorInvalidValue;
    const AllocationNote* note = state.allocation_of(host);
    if (note == nullptr || note->kind != MemoryKind::pinned) return cudaErrorInvalidValue;
    *flags = note->flags | cudaHostAllocMapped;  // under unified addressing all of it is
    return cudaSuccess;
  });
}

}  // extern "C"
