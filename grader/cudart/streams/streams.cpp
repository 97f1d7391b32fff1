// Streams, synchronisation and the error state. Work runs in the order of submission: `submit` in call.hpp says why.
#include <cuda_profiler_api.h>

#include <algorithm>
#include <utility>

#include "cudart/call.hpp"

namespace scanlab::cudart {
namespace {

cudaError_t create(cudaStream_t* stream, unsigned flags, int priority) {
  return call([&](Client& state) -> cudaError_t {
    if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking})) return cudaErrorInvalidValue;
    *stream = new CUstream_st{flags, priority, state.next_id++, {}, {}};
    (*stream)->name = ++state.streams_made | (flags & cudaStreamNonBlocking ? wire::stream_non_blocking : 0);
    state.streams.insert(*stream);
    return cudaSuccess;
  });
}

constexpr int greatest_priority = -5;

/// Before a look at the thread's last error: an absent device is detected then too. A sticky error is not recorded
/// here: a thread gets it once for each call that it was the answer to (seen with CUDA 13.0 on an H200).
void note_absent_device() {
  if (in_host_function) {
    record(cudaErrorNotPermitted);
    return;
  }
  Client& state = client();
  const std::lock_guard hold(state.mutex);
  record(connect(state));
}

/// Notifies the device that the errors of refused launches have been asked for.
void note_error_read() {
  if (!std::exchange(has_unread_launch_error, false)) return;
  const std::lock_guard hold(client().mutex);
  client().post({.op = wire::Op::note_error_read});
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaGetLastError(void) {
  note_absent_device();
  note_error_read();
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t CUDARTAPI cudaPeekAtLastError(void) {
  note_absent_device();
  note_error_read();
  return last_error;
}

cudaError_t CUDARTAPI cudaDeviceSynchronize(void) {
  return call([](Client& state) -> cudaError_t {
    if (const cudaError_t error = state.refuse_during_capture(); error != cudaSuccess) return error;
    state.await_all_host_functions();
    return state.synchronise(Client::wait_for_all());
  });
}

cudaError_t CUDARTAPI cudaDeviceReset(void) {
  if (in_host_function) return record(cudaErrorNotPermitted);
  Client& state = client();
  {
    const std::lock_guard hold(state.mutex);
    if (state.link == Client::Link::open) {
      state.await_all_host_functions();
      (void)state.synchronise();  // the text that the device printed is shown, and faults are done with
      if (state.submit({.op = wire::Op::reset}) == cudaSuccess) state.forget();
      last_error = cudaSuccess;
    }
  }
  return call();
}

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* stream) {
  return create(stream, 0, 0);
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create(stream, flags, 0);
}

cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, std::clamp(priority, greatest_priority, 0));
}

cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call([&](Client&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = greatest_priority;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  return call([&](Client& state) -> cudaError_t {
    if (state.streams.erase(stream) == 0) return cudaErrorInvalidResourceHandle;
    state.drop(*stream);
    delete stream;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (const cudaError_t error = state.refuse_during_capture(stream); error != cudaSuccess) return error;
    state.await_host_functions(stream);
    return state.synchronise(state.sent_on(stream), state.wait_for(stream));
  });
}

cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream) {
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (const cudaError_t error = state.refuse_during_capture(stream); error != cudaSuccess) return error;
    const HostCalls before = state.host_functions_before(stream);
    state.want(before);
    if (state.asks_first(state.sent_on(stream)) || !state.done(state.sent_on(stream)) || !before.empty())
      return cudaErrorNotReady;
    return state.note_done(state.wait_for(stream));
  });
}

cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return call_on(stream, [&](Client& state) { return give(flags, state.at(stream).flags); });
}

cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call_on(stream, [&](Client& state) { return give(priority, state.at(stream).priority); });
}

cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return call_on(stream, [&](Client& state) { return give(id, state.at(stream).id); });
}

#if CUDART_VERSION >= 12080
cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t stream, int* device) {
  if (device != nullptr) *device = 0;
  return call_on(stream, [](Client&) { return cudaSuccess; });
}
#endif

cudaError_t CUDARTAPI cudaStreamAttachMemAsync(cudaStream_t stream, void* managed, size_t, unsigned) {
  return call_on(stream, [=](Client& state) {
    return state.kind_of(managed) == MemoryKind::managed ? cudaSuccess : cudaErrorInvalidValue;
  });
}

// How a stream waits, and what stays in the cache for it: hints. Their values are kept.
cudaError_t CUDARTAPI cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID which,
                                             const cudaLaunchAttributeValue* value) {
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    state.at(stream).attributes[which] = *value;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID which,
                                             cudaLaunchAttributeValue* value) {
  return call_on(stream, [&](Client& state) {
    const auto& known = state.at(stream).attributes;
    const auto found = known.find(which);
    return give(value, found == known.end() ? cudaLaunchAttributeValue{} : found->second);
  });
}

cudaError_t CUDARTAPI cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(to) || !state.valid(from)) return cudaErrorInvalidResourceHandle;
    state.at(to).attributes = state.at(from).attributes;
    return cudaSuccess;
  });
}

// Profilers see nothing of a virtual GPU; --counters does.
cudaError_t CUDARTAPI cudaProfilerStart(void) {
  return call();
}
cudaError_t CUDARTAPI cudaProfilerStop(void) {
  return call();
}

}  // extern "C"
