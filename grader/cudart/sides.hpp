// What allocations and copies share: addresses, the side that memory lies on, and whether a call waits.
#pragma once

#include "cudart/call.hpp"

namespace scanlab::cudart {

/// Does the call wait for the device before it returns (and so surface its faults)?
enum class Waits { no, yes };

inline std::uint32_t flags_of(Waits waits) {
  return waits == Waits::yes ? wire::flag_blocking : 0;
}

inline Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

/// Host and device can both use it, at this address.
inline bool is_shared(const Client& state, const void* pointer) {
  return state.kind_of(pointer) != MemoryKind::device;
}

/// Does a copy of this memory go through the device? Managed memory does, pinned memory is the host's.
inline bool on_device(const Client& state, const void* pointer) {
  const MemoryKind kind = state.kind_of(pointer);
  return in_device_window(pointer) && (kind == MemoryKind::device || kind == MemoryKind::managed);
}

/// An allocation with a note in `state.allocations`; its address in `*pointer`. Pinned memory by cudaHostAlloc's flags.
/// `order`: flag_stream_ordered for memory in the order of a stream, or 0.
cudaError_t allocate(Client& state, void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags, Waits waits,
                     std::uint32_t order = 0);
cudaError_t release(Client& state, void* pointer, Waits waits, std::uint32_t order = 0);

/// What pools remember of an allocation that is released, and of everything.
void forget_pool_allocation(Address address);
void forget_pools();
/// Limits, flags and configurations are again as they were at the start.
void forget_device_settings();
/// Bytes of stack that a thread has: cudaLimitStackSize.
std::size_t stack_limit();

/// Does what a pointer points into go on for so many bytes? True where it points into no allocation.
bool lies_within(const Client& state, const void* pointer, std::size_t bytes);

/// The registered memory that a pointer points into, and where it begins; null when it points into none.
const Registration* registration_of(const Client& state, const void* pointer, const void** begin = nullptr);
/// Where pinned or registered memory lies in the device's window; 0 for other memory of the host.
Address device_alias(const Client& state, const void* host);

}  // namespace scanlab::cudart
