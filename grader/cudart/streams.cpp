// Streams, events, synchronisation and the error state. Work runs in the order of submission, at once.
#include <cuda_profiler_api.h>

#include <utility>

#include "call.hpp"

namespace scanlab::cudart {
namespace {

using wire::Op;
using wire::Request;

/// What every call that waits for the device does; only the device as a whole can be waited for.
cudaError_t wait(cudaStream_t stream) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
    return state.synchronise();
  });
}

cudaError_t wait(cudaEvent_t event) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(event)) return cudaErrorInvalidResourceHandle;
    return event->recorded ? state.synchronise() : cudaSuccess;
  });
}

cudaError_t create(cudaStream_t* stream, unsigned flags, int priority) {
  return call([&](Client& state) -> cudaError_t {
    if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking})) return cudaErrorInvalidValue;
    *stream = new CUstream_st{flags, priority, state.next_stream++};
    state.streams.insert(*stream);
    return cudaSuccess;
  });
}

constexpr int greatest_priority = -5;

cudaError_t on_stream(cudaStream_t stream) {
  return call([&](Client& state) { return state.valid(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaGetLastError(void) {
  (void)call([](Client&) { return cudaSuccess; });  // an absent device or a sticky error comes back every time
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t CUDARTAPI cudaPeekAtLastError(void) {
  (void)call([](Client&) { return cudaSuccess; });
  return last_error;
}

cudaError_t CUDARTAPI cudaDeviceSynchronize(void) {
  return call([](Client& state) { return state.synchronise(); });
}

cudaError_t CUDARTAPI cudaDeviceReset(void) {
  Client& state = client();
  {
    const std::lock_guard hold(state.mutex);
    if (state.link == Client::Link::open) {
      (void)state.synchronise();  // the text that the device printed is shown, and faults are done with
      scanlab::server::wire::Request request;
      request.op = scanlab::server::wire::Op::reset;
      if (state.submit(request) == cudaSuccess) state.forget();
      last_error = cudaSuccess;
    }
  }
  return call([](Client&) { return cudaSuccess; });
}

// The names of CUDA before 4.0, still in old textbooks.
cudaError_t CUDARTAPI cudaThreadSynchronize(void) {
  return cudaDeviceSynchronize();
}
cudaError_t CUDARTAPI cudaThreadExit(void) {
  return cudaDeviceReset();
}

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* stream) {
  return create(stream, 0, 0);
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create(stream, flags, 0);
}

cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, priority > 0 ? 0 : priority < greatest_priority ? greatest_priority : priority);
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
    delete stream;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
  return wait(stream);
}
cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream) {
  return wait(stream);
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call([&](Client& state) {
    return state.valid(stream) && state.valid(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = state.streams.contains(stream) ? stream->flags : 0;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
    if (priority == nullptr) return cudaErrorInvalidValue;
    *priority = state.streams.contains(stream) ? stream->priority : 0;
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(stream)) return cudaErrorInvalidResourceHandle;
    if (id == nullptr) return cudaErrorInvalidValue;
    *id = state.streams.contains(stream) ? stream->id : stream == cudaStreamPerThread ? 2 : 1;
    return cudaSuccess;
  });
}

#if CUDART_VERSION >= 12080
cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t stream, int* device) {
  if (device != nullptr) *device = 0;
  return on_stream(stream);
}
#endif

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status != nullptr) *status = cudaStreamCaptureStatusNone;
  return on_stream(stream);
}

cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  return call([&](Client&) -> cudaError_t {
    if (mode == nullptr) return cudaErrorInvalidValue;
    std::swap(*mode, current);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
  return on_stream(stream);
}

// Everything submitted before has run, or will before the next call that waits; the host may go on at once.
cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return record(cudaErrorInvalidValue);
  if (const cudaError_t error = wait(stream); error != cudaSuccess) return error;
  function(data);
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  if (callback == nullptr) return record(cudaErrorInvalidValue);
  const cudaError_t error = wait(stream);
  if (error == cudaErrorInvalidResourceHandle) return error;
  callback(stream, error, data);
  return error;
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (event == nullptr || (flags & ~known)) return cudaErrorInvalidValue;
    if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return cudaErrorInvalidValue;
    *event = new CUevent_st{flags, false, 0};
    state.events.insert(*event);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&](Client& state) -> cudaError_t {
    if (!state.valid(event) || !state.valid(stream)) return cudaErrorInvalidResourceHandle;
    scanlab::server::wire::Request request;
    request.op = scanlab::server::wire::Op::clock;
    const auto reply = state.exchange(request);
    event->ns = reply.time;
    event->recorded = true;
    return static_cast<cudaError_t>(reply.error);
  });
}

cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
  return wait(event);
}
cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event) {
  return wait(event);
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call([&](Client& state) -> cudaError_t {
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (!state.valid(start) || !state.valid(end)) return cudaErrorInvalidResourceHandle;
    if (!start->recorded || !end->recorded || ((start->flags | end->flags) & cudaEventDisableTiming))
      return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = state.synchronise(); error != cudaSuccess) return error;
    *milliseconds = static_cast<float>((end->ns - start->ns) / 1e6);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  return call([&](Client& state) -> cudaError_t {
    if (state.events.erase(event) == 0) return cudaErrorInvalidResourceHandle;
    delete event;
    return cudaSuccess;
  });
}

// Profilers see nothing of a virtual GPU; --counters does.
cudaError_t CUDARTAPI cudaProfilerStart(void) {
  return call([](Client&) { return cudaSuccess; });
}
cudaError_t CUDARTAPI cudaProfilerStop(void) {
  return call([](Client&) { return cudaSuccess; });
}

}  // extern "C"
