// The host beside streams, events and host functions. The wrong ones come before the right ones that differ from them
// by what the host waits for, or by what it touches.
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "host_and_device.cuh"

// ---- streams and events ---------------------------------------------------------------------------------------------

// wrong: race.host | call cudaStreamSynchronize() for stream #
HOST(stream_not_waited_for) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(stream_waited_for) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamSynchronize(s);
  sink = x[0];
}

// wrong: race.host
HOST(other_stream_waited_for) {
  Managed x, y;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  fill<<<1, n, 0, t>>>(y, 2);
  cudaStreamSynchronize(t);
  sink = y[0];
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(each_stream_waited_for) {
  Managed x, y;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  fill<<<1, n, 0, t>>>(y, 2);
  cudaStreamSynchronize(t);
  sink = y[0];
  cudaStreamSynchronize(s);
  sink = x[0];
}

// wrong: race.host
HOST(default_stream_waited_for_beside_non_blocking) {
  Managed x;
  InStream s(cudaStreamNonBlocking);
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamSynchronize(nullptr);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(default_stream_waited_for) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamSynchronize(nullptr);
  sink = x[0];
}

// wrong: race.host
HOST(event_recorded_too_early) {
  Managed x;
  Event done;
  cudaEventRecord(done);
  fill<<<1, n>>>(x, 2);
  cudaEventSynchronize(done);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(event_recorded_behind) {
  Managed x;
  Event done;
  fill<<<1, n>>>(x, 2);
  cudaEventRecord(done);
  cudaEventSynchronize(done);
  sink = x[0];
}

// wrong: race.host
HOST(event_between_two_launches) {
  Managed x, y;
  Event done;
  fill<<<1, n>>>(y, 2);
  cudaEventRecord(done);
  fill<<<1, n>>>(x, 2);
  cudaEventSynchronize(done);
  sink = y[0];
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(event_of_the_first_launch) {
  Managed x, y;
  Event done;
  fill<<<1, n>>>(y, 2);
  cudaEventRecord(done);
  fill<<<1, n>>>(x, 2);
  cudaEventSynchronize(done);
  for (int i = 0; i < n; ++i) sink = y[i];
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(event_waited_for_by_a_stream_only) {
  Managed x;
  InStream s, t;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(stream_that_waits_for_the_event) {
  Managed x;
  InStream s, t;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  cudaStreamSynchronize(t);
  sink = x[0];
}

// wrong: race.host
HOST(stream_asked_once) {
  Managed x;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  (void)cudaStreamQuery(t);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(stream_asked_until_it_is_done) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  while (cudaStreamQuery(s) == cudaErrorNotReady) {
  }
  sink = x[0];
}

// wrong: race.host
HOST(its_stream_asked_once) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  (void)cudaStreamQuery(s);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(event_asked_once) {
  Managed x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (cudaEventQuery(done) == cudaSuccess) sink = 1;
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(asked_behind_a_synchronisation) {
  Managed x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaDeviceSynchronize();
  if (cudaStreamQuery(s) == cudaSuccess && cudaEventQuery(done) == cudaSuccess) sink = x[0];
}

// right
HOST(event_asked_until_it_is_done) {
  Managed x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  while (cudaEventQuery(done) != cudaSuccess) std::this_thread::yield();
  sink = x[0];
}

// wrong: race.host
HOST(attached_to_a_stream) {
  Managed x;
  InStream s;
  cudaStreamAttachMemAsync(s, x.p, 0, cudaMemAttachSingle);
  cudaStreamSynchronize(s);
  fill<<<1, n, 0, s>>>(x, 2);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(attached_to_a_stream_and_another_runs) {
  Managed x, y;
  InStream s, t;
  cudaStreamAttachMemAsync(s, x.p, 0, cudaMemAttachSingle);
  cudaStreamAttachMemAsync(t, y.p, 0, cudaMemAttachSingle);
  cudaDeviceSynchronize();
  fill<<<1, n, 0, s>>>(x, 2);
  sink = y[0];
  cudaStreamSynchronize(s);
  sink = x[0];
}

// wrong: race.host
HOST(graph_not_waited_for) {
  Managed x;
  InStream s;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, s);
  sink = x[0];  // here
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph);
}

// right
HOST(graph_waited_for) {
  Managed x;
  InStream s;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  fill<<<1, n, 0, s>>>(x, 2);
  sink = x[0];
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  for (int k = 0; k < 3; ++k) {
    cudaGraphLaunch(executable, s);
    cudaStreamSynchronize(s);
    sink = x[0];
  }
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph);
}

// wrong: race.host
HOST(stream_destroyed_only) {
  Managed x;
  {
    InStream s;
    fill<<<1, n, 0, s>>>(x, 2);
  }
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// ---- host functions -------------------------------------------------------------------------------------------------

void CUDART_CB read_first(void* p) {
  sink = static_cast<int*>(p)[0];  // the host function's line
}

void CUDART_CB write_first(void* p) {
  static_cast<int*>(p)[0] = 5;
}

void CUDART_CB write_as_callback(cudaStream_t, cudaError_t, void* p) {
  static_cast<int*>(p)[0] = 5;
}

void CUDART_CB do_nothing(void*) {}

// right
HOST(host_function_reads) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaLaunchHostFunc(
      s, [](void* p) { sink = static_cast<int*>(p)[0]; }, x.p);
  cudaStreamSynchronize(s);
  sink = x[0];
}

// right
HOST(host_function_notifies) {
  Managed x;
  InStream s;
  std::promise<void> done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaLaunchHostFunc(
      s, [](void* p) { static_cast<std::promise<void>*>(p)->set_value(); }, &done);
  done.get_future().wait();
  sink = x[0];
}

// wrong: race.host | stream #2 does not wait for stream #1
HOST(host_function_beside_another_stream) {
  Managed x;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);            // here
  cudaLaunchHostFunc(t, read_first, x);  // here
  cudaDeviceSynchronize();
}

// right
HOST(host_function_behind_an_event) {
  Managed x;
  InStream s, t;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  cudaLaunchHostFunc(t, read_first, x);
  cudaDeviceSynchronize();
}

// wrong: race.host | and a host function
HOST(host_function_before_another_stream) {
  Managed x;
  InStream s, t;
  cudaLaunchHostFunc(s, write_first, x);  // here
  fill<<<1, n, 0, t>>>(x, 2);             // here
  cudaDeviceSynchronize();
}

// right
HOST(host_function_waited_for_before_another_stream) {
  Managed x;
  InStream s, t;
  cudaLaunchHostFunc(s, write_first, x);
  cudaStreamSynchronize(s);
  fill<<<1, n, 0, t>>>(x, 2);
  cudaDeviceSynchronize();
}

// wrong: race.host | cudaMemcpyAsync and a host function
HOST(host_function_beside_a_copy) {
  Pinned h;
  OnDevice x;
  InStream s, t;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);  // here
  cudaLaunchHostFunc(t, read_first, h);                     // here
  cudaDeviceSynchronize();
}

// right
HOST(host_function_behind_a_copy) {
  Pinned h;
  OnDevice x, y;
  InStream s, t;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaLaunchHostFunc(s, read_first, h);
  fill<<<1, n, 0, t>>>(y, 2);
  cudaDeviceSynchronize();
}

// wrong: race.host | a host function and the host
HOST(host_function_writes_and_the_host_reads) {
  Managed x;
  InStream s;
  cudaLaunchHostFunc(s, write_first, x);  // here
  sink = x[0];                            // here
  cudaStreamSynchronize(s);
}

// right
HOST(host_function_writes_and_the_host_waits) {
  Managed x;
  InStream s;
  cudaLaunchHostFunc(s, write_first, x);
  sink = x[1];
  cudaStreamSynchronize(s);
  sink = x[0];
}

// wrong: race.host | call cudaStreamSynchronize() for stream #1
HOST(host_function_and_the_other_stream_waited_for) {
  Managed x, y;
  InStream s, t;
  fill<<<1, n, 0, t>>>(y, 2);
  cudaLaunchHostFunc(s, write_first, x);  // here
  cudaStreamSynchronize(t);
  x[0] = y[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(host_function_and_its_event_waited_for) {
  Managed x, y;
  InStream s, t;
  Event done;
  fill<<<1, n, 0, t>>>(y, 2);
  cudaLaunchHostFunc(s, write_first, x);
  cudaEventRecord(done, s);
  cudaStreamSynchronize(t);
  sink = y[0];
  cudaEventSynchronize(done);
  sink = x[0];
}

// wrong: race.host
HOST(callback_and_the_host) {
  Managed x;
  InStream s;
  cudaStreamAddCallback(s, write_as_callback, x, 0);  // here
  x[0] = 3;                                           // here
  cudaDeviceSynchronize();
}

// right
HOST(callback_asked_until_it_is_done) {
  Managed x;
  InStream s;
  cudaStreamAddCallback(s, write_as_callback, x, 0);
  while (cudaStreamQuery(s) == cudaErrorNotReady) std::this_thread::yield();
  x[0] = 3;
}

// wrong: race.host | kernel fill and the host
HOST(kernel_before_a_host_function_that_nobody_waits_for) {
  Managed x;
  InStream s;
  fill<<<1, n, 0, s>>>(x, 2);  // here
  cudaLaunchHostFunc(s, do_nothing, nullptr);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(host_function_writes_and_notifies) {
  struct Shared {
    int* data;
    std::promise<void> done;
  };
  Managed x;
  InStream s;
  Shared shared{x, {}};
  cudaLaunchHostFunc(
      s,
      [](void* p) {
        auto& its = *static_cast<Shared*>(p);
        its.data[0] = 7;
        its.done.set_value();
      },
      &shared);
  shared.done.get_future().wait();
  sink = x[0];
  x[0] = 1;
}

// right
HOST(host_function_sets_a_flag_beside_the_data) {
  Managed x;
  InStream s;
  auto* flag = reinterpret_cast<std::atomic<int>*>(x.p + 1);
  flag->store(0);
  cudaLaunchHostFunc(
      s,
      [](void* p) {
        static_cast<int*>(p)[0] = 7;
        reinterpret_cast<std::atomic<int>*>(static_cast<int*>(p) + 1)->store(1);
      },
      x.p);
  while (flag->load() == 0) {
  }
  sink = x[0];
}

// right
HOST(host_function_notifies_before_another_stream) {
  Managed x;
  InStream s, t;
  std::promise<void> done;
  static int* data;
  data = x;
  cudaLaunchHostFunc(
      s,
      [](void* p) {
        data[0] = 5;
        static_cast<std::promise<void>*>(p)->set_value();
      },
      &done);
  done.get_future().wait();
  fill<<<1, n, 0, t>>>(x, 2);
  cudaDeviceSynchronize();
}

// right
HOST(host_function_waits_for_the_host) {
  Managed x, y;
  InStream s, t;
  static std::atomic<bool> is_set;
  static int *first, *second;
  is_set = false, first = x, second = y;
  cudaLaunchHostFunc(
      s,
      [](void*) {
        while (!is_set) std::this_thread::yield();
        first[0] += second[0];
      },
      nullptr);
  fill<<<1, n, 0, t>>>(y, 2);
  cudaStreamSynchronize(t);
  x[0] = y[1];
  is_set = true;
  cudaStreamSynchronize(s);
}

// ---- two host functions
// ----------------------------------------------------------------------------------------------

// wrong: race.host | stream #2 does not wait for stream #1
HOST(host_functions_of_two_streams) {
  Pinned h;
  InStream s, t;
  cudaLaunchHostFunc(s, write_first, h);  // here
  cudaLaunchHostFunc(t, read_first, h);   // here
  cudaDeviceSynchronize();
}

// right
HOST(host_functions_of_one_stream) {
  Pinned h;
  InStream s, t;
  cudaLaunchHostFunc(s, write_first, h);
  cudaLaunchHostFunc(s, read_first, h);
  cudaLaunchHostFunc(t, do_nothing, h);
  cudaDeviceSynchronize();
}

// wrong: race.host | RACE (write-after-write)
HOST(one_host_function_in_two_streams) {
  Managed x;
  InStream s, t;
  cudaLaunchHostFunc(s, write_first, x);  // here
  cudaLaunchHostFunc(t, write_first, x);  // here
  cudaDeviceSynchronize();
}

// right
HOST(host_functions_with_an_event_between) {
  Managed x;
  InStream s, t;
  Event done;
  cudaLaunchHostFunc(s, write_first, x);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  cudaLaunchHostFunc(t, write_first, x);
  cudaDeviceSynchronize();
}

// right
HOST(host_functions_and_a_synchronisation) {
  Managed x;
  InStream s, t;
  cudaLaunchHostFunc(s, write_first, x);
  cudaStreamSynchronize(s);
  cudaLaunchHostFunc(t, write_first, x);
  cudaDeviceSynchronize();
}

void CUDART_CB count_atomically(void* p) {
  ++*static_cast<std::atomic<int>*>(p);
}

// right
HOST(host_functions_count_atomically) {
  Managed x;
  InStream s, t;
  cudaLaunchHostFunc(s, count_atomically, x);
  cudaLaunchHostFunc(t, count_atomically, x);
  cudaDeviceSynchronize();
}

void CUDART_CB count_with_a_lock(void* p) {
  static std::mutex mutex;
  const std::lock_guard hold(mutex);
  ++*static_cast<int*>(p);
}

// right
HOST(host_functions_count_with_a_lock) {
  Managed x;
  InStream s, t;
  cudaLaunchHostFunc(s, count_with_a_lock, x);
  cudaLaunchHostFunc(t, count_with_a_lock, x);
  cudaDeviceSynchronize();
}

// ---- lines of launches ----------------------------------------------------------------------------------------------

// wrong: race.global | kernel fill in stream #1 writes it ... it is launched ... it is launched
HOST(launched_in_two_streams) {
  OnDevice x;
  InStream s, t;
  cudaDeviceSynchronize();
  fill<<<1, n, 0, s>>>(x, 2);  // here
  fill<<<1, n, 0, t>>>(x, 3);  // here
  cudaDeviceSynchronize();
}

// right
HOST(launched_in_one_stream) {
  OnDevice x;
  InStream s;
  cudaDeviceSynchronize();
  fill<<<1, n, 0, s>>>(x, 2);
  fill<<<1, n, 0, s>>>(x, 3);
  cudaDeviceSynchronize();
}

// ---- lines of calls -------------------------------------------------------------------------------------------------

// wrong: race.global | cudaMemcpyAsync and cudaFreeAsync
HOST(copied_and_freed) {
  Pinned h;
  InStream s, t;
  int* x;
  cudaMallocAsync(&x, bytes, s);  // here
  cudaMemsetAsync(x, 0, bytes, s);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);  // here
  cudaFreeAsync(x, t);                                      // here
  cudaDeviceSynchronize();
}

// right
HOST(copied_and_freed_behind_an_event) {
  Pinned h;
  InStream s, t;
  Event done;
  int* x;
  cudaMallocAsync(&x, bytes, s);
  cudaMemsetAsync(x, 0, bytes, s);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(t, done, 0);
  cudaFreeAsync(x, t);
  cudaDeviceSynchronize();
}

// wrong: race.global | cudaMemsetAsync and cudaMemsetAsync
HOST(set_by_two_streams) {
  InStream s, t;
  int* x;
  cudaMalloc(&x, bytes);            // here
  cudaMemsetAsync(x, 0, bytes, s);  // here
  cudaMemsetAsync(x, 1, bytes, t);  // here
  cudaDeviceSynchronize();
  cudaFree(x);
}

// right
HOST(set_by_one_stream) {
  InStream s, t;
  int* x;
  cudaMalloc(&x, bytes);
  cudaMemsetAsync(x, 0, bytes, s);
  cudaMemsetAsync(x, 1, bytes, s);
  cudaDeviceSynchronize();
  cudaMemsetAsync(x, 1, bytes, t);
  cudaDeviceSynchronize();
  cudaFree(x);
}
