// The frame around every call of the runtime: connect, lock, sticky errors first, remember the error.
#pragma once

#include "client.hpp"

namespace scanlab::cudart {

/// Runs `body(Client&)` → cudaError_t as one call of the runtime.
template <class Body>
cudaError_t call(Body&& body) {
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  if (!state.connect())
    return record(state.link == Client::Link::forked ? cudaErrorInitializationError
                  : state.link == Client::Link::lost ? cudaErrorDevicesUnavailable
                                                     : cudaErrorNoDevice);
  if (state.sticky != cudaSuccess) return record(state.sticky);
  return record(body(state));
}

}  // namespace scanlab::cudart
