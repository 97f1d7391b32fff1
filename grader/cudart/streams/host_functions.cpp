// Host functions in the order of their streams: a thread of the runtime's own runs them, as the driver's does.
//
// One thread for all streams is enough: CUDA lets host functions of independent streams run one after the other. The
// calling thread goes on at once; a thread that submits work after a host function waits for it (submit in call.hpp).
#include <algorithm>
#include <thread>

#include "cudart/call.hpp"

namespace scanlab::cudart {

thread_local bool in_host_function = false;

void Client::run_host_functions() {
  in_host_function = true;
  mutex.lock();
  for (;;) {
    while (host_queue_.empty()) host_queue_changed_.wait(mutex);
    const std::shared_ptr<HostCall> next = host_queue_.front();
    // Everything submitted before it is done first; a kernel that was stopped is known then.
    const cudaError_t error = sticky != cudaSuccess ? sticky : synchronise();
    mutex.unlock();
    if (error == cudaSuccess || next->runs_after_errors) next->run(error);
    mutex.lock();
    next->done = true;
    for (const std::uint64_t event : next->events)  // their places in the stream are reported already
      post({.op = wire::Op::record_event, .id = event, .value = 1});
    host_queue_.pop_front();
    host_queue_changed_.notify_all();
  }
}

void Client::enqueue_host_function(cudaStream_t stream, std::shared_ptr<HostCall> host_call) {
  if (!host_thread_started_) {
    host_thread_started_ = true;
    std::thread([this] { run_host_functions(); }).detach();  // the client is never destroyed
  }
  // It may notify the host at any time that what was before it is done: from here on that counts as known.
  note(wait_for(stream));
  at(stream).host_calls.push_back(host_call);
  host_queue_.push_back(std::move(host_call));
  host_queue_changed_.notify_all();
}

HostCalls Client::host_functions_before(cudaStream_t stream) {
  HostCalls before;
  if (host_queue_.empty()) return before;
  const auto add = [&](CUstream_st& other) {
    std::erase_if(other.host_calls, [](const auto& host_call) { return host_call->done; });
    before.insert(before.end(), other.host_calls.begin(), other.host_calls.end());
  };
  CUstream_st& own = at(stream);
  add(own);
  // The legacy default stream waits for every blocking stream, and they for it.
  if (&own == &legacy_stream) {
    for_each_blocking_stream(add);
  } else if (!(own.flags & cudaStreamNonBlocking)) {
    add(legacy_stream);
  }
  return before;
}

void Client::await(const HostCalls& host_calls) {
  const auto is_done = [](const auto& host_call) { return host_call->done; };
  while (!std::all_of(host_calls.begin(), host_calls.end(), is_done)) host_queue_changed_.wait(mutex);
}

namespace {

cudaError_t enqueue(cudaStream_t stream, HostCall host_call) {
  const auto shared = std::make_shared<HostCall>(std::move(host_call));
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (Capture* capture = state.capture_of(stream))
      return capture->add(&state.at(stream), cudaGraphNodeTypeHost, [shared](Client& client, cudaStream_t on) {
        // Each launch of the graph calls it again.
        client.enqueue_host_function(on, std::make_shared<HostCall>(HostCall{shared->run, false, false, {}}));
        return cudaSuccess;
      });
    if (const cudaError_t error = state.refuse_implicit_capture(stream); error != cudaSuccess) return error;
    state.enqueue_host_function(stream, shared);
    return cudaSuccess;
  });
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

extern "C" {

cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return record(cudaErrorInvalidValue);
  return enqueue(stream, {[=](cudaError_t) { function(data); }, false, false, {}});
}

cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                            unsigned flags) {
  if (callback == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  return enqueue(stream, {[=](cudaError_t error) { callback(stream, error, data); }, true, false, {}});
}

}  // extern "C"
