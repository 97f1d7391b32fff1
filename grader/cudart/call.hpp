// The frames around the calls of the runtime: connect, lock, sticky errors first, remember the error.
#pragma once

#include <utility>

#include "cudart/client.hpp"
#include "cudart/streams/streams.hpp"

namespace scanlab::cudart {

/// Connects on first use; why there is no device otherwise. Needs `state.mutex`.
inline cudaError_t connect(Client& state) {
  if (state.connect()) return cudaSuccess;
  return state.link == Client::Link::forked ? cudaErrorInitializationError
         : state.link == Client::Link::lost ? cudaErrorDevicesUnavailable
                                            : cudaErrorNoDevice;
}

/// Runs `body(Client&)` → cudaError_t as one call of the runtime.
template <class Body>
cudaError_t call(Body&& body) {
  if (in_host_function) return record(cudaErrorNotPermitted);
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  if (const cudaError_t error = connect(state); error != cudaSuccess) return record(error);
  if (state.sticky != cudaSuccess) return record(state.sticky);
  in_call = true;
  const cudaError_t error = body(state);
  if (error != cudaSuccess && error != cudaErrorNotReady) state.post({.op = wire::Op::note_failure});
  in_call = false;
  if (state.watch.is_stale) state.refresh_watch();
  return record(error);
}

/// The same for a call that does nothing here.
inline cudaError_t call() {
  return call([](Client&) { return cudaSuccess; });
}

/// The same for a call about a stream.
template <class Body>
cudaError_t call_on(cudaStream_t stream, Body&& body) {
  return call(
      [&](Client& state) -> cudaError_t { return state.valid(stream) ? body(state) : cudaErrorInvalidResourceHandle; });
}

/// The same for a call about a kernel, by the address of its host stub or as a cudaKernel_t: `body(Client&,
/// Function&)`.
template <class Body>
cudaError_t call_on_kernel(const void* kernel, Body&& body) {
  return call([&](Client& state) -> cudaError_t {
    Function* function = state.find(kernel);
    return function == nullptr ? no_such_kernel(kernel) : body(state, *function);
  });
}

/// The end of a call that gives a value to the program.
template <class T, class Value>
cudaError_t give(T* to, Value&& value) {
  if (to == nullptr) return cudaErrorInvalidValue;
  *to = std::forward<Value>(value);
  return cudaSuccess;
}

/// Where the <<<>>> stands whose launch comes next.
inline thread_local Frames launch_site;

/// Submits work to a stream: `work(Client&, cudaStream_t)` → cudaError_t runs at once, when the host functions that are
/// before it have ended; on a stream that is being captured it becomes a node of the graph. It holds values, not
/// references, since a graph outlives the call.
///
/// At once, in the order in which all streams' work is submitted, is an order that CUDA allows: work never comes before
/// what its stream, an event or the default stream makes it wait for, since all of that was submitted earlier. What
/// CUDA does not promise, that kernels of two streams run side by side, no program may rely on.
template <class Work>
cudaError_t submit(Client& state, cudaStream_t stream, cudaGraphNodeType type, Work work) {
  Frames site;
  if (state.reports_host())
    site = type == cudaGraphNodeTypeKernel && !launch_site.empty() ? std::exchange(launch_site, {}) : frames_here();
  if (Capture* capture = state.capture_of(stream))
    return capture->add(&state.at(stream), {type, std::move(work), std::move(site)});
  if (const cudaError_t error = state.refuse_implicit_capture(stream); error != cudaSuccess) return error;
  state.await_host_functions(stream);
  state.work_in(stream);
  state.note_call_site(std::move(site));
  const cudaError_t error = work(state, stream);
  state.note_work(stream);
  return error;
}
/// The same as a call of its own.
template <class Work>
cudaError_t submit(cudaStream_t stream, cudaGraphNodeType type, Work work) {
  return call_on(stream, [&](Client& state) { return submit(state, stream, type, std::move(work)); });
}

}  // namespace scanlab::cudart
