// Host functions in streams: beside kernels, beside the host, and beside each other. The wrong ones come before the
// right ones that differ from them by what waits for what.
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "host_and_device.cuh"

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

// ---- two host functions ---------------------------------------------------------------------------------------------

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

// wrong: race.host | kernel fill and a host function
HOST(host_function_and_a_wait_for_another_stream) {
  Managed x;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaLaunchHostFunc(t, read_first, x);
  cudaStreamSynchronize(s);
  cudaStreamSynchronize(t);
}

// right
HOST(host_function_behind_a_wait_for_another_stream) {
  Managed x;
  InStream s, t;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaStreamSynchronize(s);
  cudaLaunchHostFunc(t, read_first, x);
  cudaStreamSynchronize(t);
}
