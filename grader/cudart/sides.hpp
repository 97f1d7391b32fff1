// What allocations and copies share: addresses, the side that memory lies on, and whether a call waits.
#pragma once

#include "call.hpp"

namespace scanlab::cudart {

/// Does the call wait for the device before it returns (and so surface its faults)?
enum class Waits { no, yes };

inline std::uint32_t flags_of(Waits waits) {
  return waits == Waits::yes ? wire::flag_blocking : 0;
}

inline Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

/// Managed memory lies on the side that owns it at the moment.
inline bool on_device(const Client& state, const void* pointer) {
  return in_device_window(pointer) && (state.device_owns_managed || !state.is_managed(pointer));
}

}  // namespace scanlab::cudart
