// Host functions in the order of their streams: a thread of the runtime's own runs them, as the driver's does.
//
// One thread for all streams is enough: CUDA lets host functions of independent streams run one after the other. The
// calling thread goes on at once; a thread that submits work after a host function waits for it (submit in call.hpp).
//
// Where the host is watched, a host function does not begin before somebody waits for it, or asks, or uses memory that
// it may use, or some time is over. A thread that does stays behind its access until the function has ended: what the
// two do to the same memory nothing orders, however fast the machine is.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <thread>

#include "cudart/call.hpp"

namespace scanlab::cudart {

thread_local bool in_host_function = false;
thread_local std::uint64_t running_host_function = 0;

namespace {

/// A host function waits so long for somebody to ask for it.
constexpr std::chrono::milliseconds longest_wait{50};
/// A thread stays so long at an access until they end.
constexpr std::chrono::milliseconds longest_stay{250};

}  // namespace

void Client::await_turn(const HostCall& host_call) {
  if (!reports_host_ || !watch.has_areas()) return;
  std::unique_lock hold(turn_mutex_);
  const auto most = std::min(longest_wait, waiting_left_);
  if (!turn_changed_.wait_for(hold, most, [&] { return host_call.is_wanted || staying_ > 0; })) waiting_left_ -= most;
}

bool Client::should_stay() const {
  return !in_host_function && submitted_functions_ != ended_functions_ && not_ended_for_ != ended_functions_;
}

void Client::stay(Address device) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  const auto most = std::min(longest_stay, staying_left_);
  const auto is_pending = [&] { return submitted_functions_ != ended_functions_; };
  ++staying_;
  while (is_pending() && clock::now() - begin < most) {
    turn_changed_.notify_all();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  --staying_;
  if (!is_pending()) return;
  staying_left_ -= most;
  not_ended_for_ = ended_functions_.load();
  std::uint64_t in_use = 0;
  (void)report_access({device, 0}, {}, in_use);  // it goes on
}

void Client::note_begin(std::uint64_t id) {
  post({.op = wire::Op::host_function, .id = id, .value = static_cast<std::uint64_t>(wire::HostFunctionStep::begins)});
}

/// From here on it may notify others. Returns whether its accesses can be reported.
bool Client::begin(const HostCall& host_call) {
  if (!reports_host_) return false;
  if (!try_lock()) {
    // Another thread has the connection, and may wait for what this function does.
    begun_unnoted_ = host_call.id;
    return false;
  }
  const std::lock_guard hold(mutex, std::adopt_lock);
  note_begin(host_call.id);
  watch.close_all();
  return true;
}

void Client::want(const HostCalls& host_calls) {
  const std::lock_guard hold(turn_mutex_);
  // They run one after the other.
  auto last = host_queue_.begin();
  for (auto one = host_queue_.begin(); one != host_queue_.end(); ++one)
    if (std::ranges::find(host_calls, *one) != host_calls.end()) last = std::next(one);
  for (auto one = host_queue_.begin(); one != last; ++one) (*one)->is_wanted = true;
  turn_changed_.notify_all();
}

void Client::run_host_functions() {
  in_host_function = true;
  mutex.lock();
  for (;;) {
    while (host_queue_.empty()) host_queue_changed_.wait(mutex);
    const std::shared_ptr<HostCall> next = host_queue_.front();
    // Everything submitted before it is done first; a kernel that was stopped is known then.
    const cudaError_t error = sticky != cudaSuccess ? sticky : synchronise();
    mutex.unlock();
    if (error == cudaSuccess || next->runs_after_errors) {
      await_turn(*next);
      if (begin(*next)) running_host_function = next->id;
      next->run(error);
      running_host_function = 0;
    }
    mutex.lock();
    next->done = true;
    if (begun_unnoted_.exchange(0) != 0) note_begin(next->id);
    post({.op = wire::Op::host_function,
          .id = next->id,
          .value = static_cast<std::uint64_t>(wire::HostFunctionStep::ended)});
    for (const std::uint64_t event : next->events)  // their places in the stream are reported already
      post({.op = wire::Op::record_event, .id = event, .value = 1});
    ++ended_functions_;
    host_queue_.pop_front();
    host_queue_changed_.notify_all();
  }
}

void Client::enqueue_host_function(cudaStream_t stream, std::shared_ptr<HostCall> host_call) {
  if (!host_thread_started_) {
    host_thread_started_ = true;
    std::thread([this] { run_host_functions(); }).detach();  // the client is never destroyed
  }
  host_call->id = next_id++;
  if (reports_host_) watch.expect_use_of(host_call->data, submitted_functions_ == ended_functions_);
  ++submitted_functions_;
  work_in(stream);
  if (reports_host_) note_call_site(frames_here());
  post({.op = wire::Op::host_function,
        .id = host_call->id,
        .value = static_cast<std::uint64_t>(wire::HostFunctionStep::submitted)});
  // It may notify the host at any time that what was before it is done.
  if (!reports_host_) note_begin(host_call->id);
  watch.close_all();
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
  want(host_calls);
  while (!std::all_of(host_calls.begin(), host_calls.end(), is_done)) host_queue_changed_.wait(mutex);
}

namespace {

cudaError_t enqueue(cudaStream_t stream, HostCall host_call) {
  const auto shared = std::make_shared<HostCall>(std::move(host_call));
  return call_on(stream, [&](Client& state) -> cudaError_t {
    if (Capture* capture = state.capture_of(stream)) {
      // Each launch of the graph calls it again.
      const auto again = [shared](Client& client, cudaStream_t on) {
        client.enqueue_host_function(on,
                                     std::make_shared<HostCall>(HostCall{shared->run, false, false, {}, shared->data}));
        return cudaSuccess;
      };
      return capture->add(&state.at(stream),
                          {cudaGraphNodeTypeHost, again, state.reports_host() ? frames_here() : Frames{}});
    }
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
  return enqueue(stream, {[=](cudaError_t) { function(data); }, false, false, {}, data});
}

cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                            unsigned flags) {
  if (callback == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  return enqueue(stream, {[=](cudaError_t error) { callback(stream, error, data); }, true, false, {}, data});
}

}  // extern "C"
