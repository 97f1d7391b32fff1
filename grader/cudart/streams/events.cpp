// Events: recorded in the device's order, with the device's own time.
#include <algorithm>

#include "cudart/call.hpp"

namespace scanlab::cudart {
namespace {

using wire::Op;

bool has_ended(const Client& state, const CUevent_st& event) {
  return state.done(event.sent) && std::all_of(event.host_calls.begin(), event.host_calls.end(),
                                               [](const auto& host_call) { return host_call->done; });
}

/// What a captured event stands for is a place in a graph: it cannot be waited for outside.
cudaError_t check(const Client& state, cudaEvent_t event) {
  if (!state.valid(event)) return cudaErrorInvalidResourceHandle;
  return event->capture ? cudaErrorCapturedEvent : cudaSuccess;
}

cudaError_t time_of(Client& state, const CUevent_st& event, double& ns) {
  const wire::Reply reply = state.exchange({.op = Op::event_time, .id = event.id});
  ns = reply.time;
  return error_of(reply);
}

}  // namespace

cudaError_t record_event(Client& state, cudaEvent_t event, cudaStream_t stream) {
  event->recorded = true;
  event->capture.reset();
  if (Capture* capture = state.capture_of(stream)) {
    event->capture = state.at(stream).capture;
    event->clock = capture->clocks[&state.at(stream)];
    return cudaSuccess;
  }
  event->host_calls = state.host_functions_before(stream);
  // After host functions that have not ended it is recorded again when the last of them, which is the last to run,
  // ends.
  if (!event->host_calls.empty()) event->host_calls.back()->events.push_back(event->id);
  state.work_in(stream);
  state.post({.op = Op::record_event, .id = event->id});
  event->sent = state.sent();
  state.note_work(stream);
  return cudaSuccess;
}

// Everything but host functions is done by the order of submission.
void wait_event(Client& state, cudaStream_t stream, const CUevent_st& event) {
  CUstream_st& waiting = state.at(stream);
  waiting.sent = std::max(waiting.sent, event.sent);
  state.work_in(stream);
  state.post({.op = Op::wait_event, .id = event.id});
  for (const auto& host_call : event.host_calls)
    if (!host_call->done) waiting.host_calls.push_back(host_call);
}

}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call([&](Client& state) -> cudaError_t {
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (event == nullptr || (flags & ~known)) return cudaErrorInvalidValue;
    if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return cudaErrorInvalidValue;
    *event = new CUevent_st{flags, state.next_id++, false, 0, {}, {}, {}};
    state.events.insert(*event);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call_on(stream, [&](Client& state) {
    return state.valid(event) ? record_event(state, event, stream) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags & ~unsigned{cudaEventRecordExternal}) return record(cudaErrorInvalidValue);
  if (flags == cudaEventRecordDefault) return cudaEventRecord(event, stream);
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (!state.valid(event)) return cudaErrorInvalidResourceHandle;
    return state.at(stream).capture ? state.unsupported("an event record node in a graph") : cudaErrorIllegalState;
  });
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
  return call([&](Client& state) -> cudaError_t {
    if (const cudaError_t error = check(state, event); error != cudaSuccess) return error;
    if (!event->recorded) return cudaSuccess;
    const HostCalls before = event->host_calls;  // another thread may record the event meanwhile
    const std::uint64_t requests = event->sent;
    state.note(Client::wait_for(*event));
    state.await(before);
    return state.synchronise(requests, Client::Wait());
  });
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event) {
  return call([&](Client& state) -> cudaError_t {
    if (const cudaError_t error = check(state, event); error != cudaSuccess) return error;
    if (!event->recorded) return cudaSuccess;
    state.want(event->host_calls);
    if (state.asks_first(event->sent) || !has_ended(state, *event)) return cudaErrorNotReady;
    return state.note_done(Client::wait_for(*event));
  });
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (!state.valid(event)) return cudaErrorInvalidResourceHandle;
    if (flags & ~unsigned{cudaEventWaitExternal}) return cudaErrorInvalidValue;
    CUstream_st& waiting = state.at(stream);
    if (flags == cudaEventWaitExternal)
      return waiting.capture ? state.unsupported("an event wait node in a graph") : cudaErrorIllegalState;
    if (event->capture) {
      // The stream joins the capture, and knows what the event knows.
      if (&waiting == &state.legacy_stream) return cudaErrorStreamCaptureImplicit;
      if (waiting.capture && waiting.capture != event->capture) {
        waiting.capture->invalidated = event->capture->invalidated = true;
        return cudaErrorStreamCaptureMerge;
      }
      waiting.capture = event->capture;
      CaptureClock& clock = waiting.capture->clocks[&waiting];
      for (const auto& [other, nodes] : event->clock) clock[other] = std::max(clock[other], nodes);
      return cudaSuccess;
    }
    if (waiting.capture && event->recorded) {
      waiting.capture->invalidated = true;
      return cudaErrorStreamCaptureIsolation;
    }
    wait_event(state, stream, *event);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call([&](Client& state) -> cudaError_t {
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = check(state, start); error != cudaSuccess) return error;
    if (const cudaError_t error = check(state, end); error != cudaSuccess) return error;
    if (!start->recorded || !end->recorded || ((start->flags | end->flags) & cudaEventDisableTiming))
      return cudaErrorInvalidResourceHandle;
    state.want(start->host_calls);
    state.want(end->host_calls);
    if (state.asks_first(std::max(start->sent, end->sent)) || !has_ended(state, *start) || !has_ended(state, *end))
      return cudaErrorNotReady;
    for (const cudaEvent_t event : {start, end}) state.note(Client::wait_for(*event));
    double from = 0, to = 0;
    if (const cudaError_t error = time_of(state, *start, from); error != cudaSuccess) return error;
    if (const cudaError_t error = time_of(state, *end, to); error != cudaSuccess) return error;
    *milliseconds = static_cast<float>((to - from) / 1e6);
    return cudaSuccess;
  });
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  return call([&](Client& state) -> cudaError_t {
    if (state.events.erase(event) == 0) return cudaErrorInvalidResourceHandle;
    const std::uint64_t id = event->id;
    delete event;
    return state.submit({.op = Op::drop_event, .id = id});
  });
}

}  // extern "C"
