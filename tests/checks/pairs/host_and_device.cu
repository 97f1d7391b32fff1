// The host and the device at the same time: managed, mapped, pinned and registered memory, copies, streams and events.
// The wrong ones come before the right ones that differ from them by what the host waits for, or by what it touches.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <numeric>
#include <string>
#include <thread>

#include "pairs.cuh"

constexpr int n = 256;
constexpr size_t bytes = n * sizeof(int);
constexpr int page = 4096 / sizeof(int);

__managed__ int m_count;
__managed__ int m_table[n];
__managed__ int m_flag, m_data;
__device__ int d_table[n];

__global__ void fill(int* x, int value) {
  x[threadIdx.x] = value;
}

__global__ void copy_to(int* y, const int* x) {
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void add_to(int* count) {
  atomicAdd(count, 1);
}

__global__ void use_variables() {
  m_table[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) m_count = 7;
}

__global__ void fill_and_fence(int* x) {
  x[threadIdx.x] = threadIdx.x;
  __threadfence_system();
}

__global__ void produce(int* data, volatile int* flag) {
  *data = 42;
  __threadfence_system();
  *flag = 1;
}

__global__ void set_flag() {
  m_data = 42;
  __threadfence_system();
  *static_cast<volatile int*>(&m_flag) = 1;
}

__global__ void produce_by_atomic(int* data, int* flag) {
  *data = 42;
  __threadfence_system();
  atomicExch_system(flag, 1);
}

__global__ void consume(int* data, volatile int* flag) {
  while (*flag == 0) {
  }
  *data += 1;
}

struct Node {
  int value;
  Node* next;
};

__global__ void walk(Node* first) {
  for (Node* node = first; node != nullptr; node = node->next) node->value += 1;
}

struct View {
  int* data;
  int length;
};

__global__ void fill_view(View view) {
  if (threadIdx.x < view.length) view.data[threadIdx.x] = 1;
}

/// Memory of a kind with n ints (or more), all written by the host; freed at the end of the case.
struct Managed {
  int* p;
  explicit Managed(size_t count = n) {
    cudaMallocManaged(&p, count * sizeof(int));
    for (size_t i = 0; i < count; ++i) p[i] = 1;
  }
  ~Managed() { cudaFree(p); }
  operator int*() const { return p; }
};

struct Pinned {
  int* p;
  explicit Pinned(size_t count = n, unsigned flags = cudaHostAllocDefault) {
    cudaHostAlloc(&p, count * sizeof(int), flags);
    for (size_t i = 0; i < count; ++i) p[i] = 1;
  }
  ~Pinned() { cudaFreeHost(p); }
  operator int*() const { return p; }
  int* on_device() const {
    int* d;
    cudaHostGetDevicePointer(&d, p, 0);
    return d;
  }
};

struct OnDevice {
  int* p;
  OnDevice() { cudaMalloc(&p, bytes), cudaMemset(p, 0, bytes); }
  ~OnDevice() { cudaFree(p); }
  operator int*() const { return p; }
};

struct InStream {
  cudaStream_t s;
  explicit InStream(unsigned flags = cudaStreamDefault) { cudaStreamCreateWithFlags(&s, flags); }
  ~InStream() { cudaStreamDestroy(s); }
  operator cudaStream_t() const { return s; }
};

struct Event {
  cudaEvent_t e;
  Event() { cudaEventCreate(&e); }
  ~Event() { cudaEventDestroy(e); }
  operator cudaEvent_t() const { return e; }
};

__global__ void double_all(int* x, int length) {
  for (int i = threadIdx.x; i < length; i += blockDim.x) x[i] *= 2;
}

__global__ void copy_all(int* y, const int* x, int length) {
  for (int i = threadIdx.x; i < length; i += blockDim.x) y[i] = x[i];
}

__global__ void choose(int* out, const int* flag) {
  *out = *flag == 0 ? 1 : 2;
}

/// Managed memory that nothing has been written to.
struct Unwritten {
  int* p;
  explicit Unwritten(size_t count = n) { cudaMallocManaged(&p, count * sizeof(int)); }
  ~Unwritten() { cudaFree(p); }
  operator int*() const { return p; }
};

volatile int sink;
int h_out[4 * page];

// ---- managed memory -------------------------------------------------------------------------------------------------

// wrong: race.host | call cudaDeviceSynchronize() between the two
HOST(managed_read_at_once) {
  Managed x;
  fill<<<1, n>>>(x, 2);  // here
  sink = x[n - 1];       // here
}

// right
HOST(managed_read_after_device) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  sink = x[n - 1];
}

// wrong: race.host | RACE (write-after-write)
HOST(managed_written_at_once) {
  Managed x;
  fill<<<1, n>>>(x, 2);  // here
  x[5] = 3;              // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_written_before) {
  Managed x;
  x[5] = 3;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
}

// wrong: race.host | RACE (write-after-read)
HOST(managed_input_changed) {
  Managed x, y;
  copy_to<<<1, n>>>(y, x);  // here
  x[0] = 9;                 // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_input_read) {
  Managed x, y;
  copy_to<<<1, n>>>(y, x);
  sink = x[0];
  cudaDeviceSynchronize();
}

// wrong: race.host | element 255 of cudaMallocManaged
HOST(managed_element_that_is_written) {
  Managed x(2 * n);
  fill<<<1, n>>>(x, 2);
  sink = x[n];      // of no thread
  sink = x[n - 1];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_other_half) {
  Managed x(2 * n);
  fill<<<1, n>>>(x, 2);
  for (int i = n; i < 2 * n; ++i) x[i] = sink = x[i] + 1;
  cudaDeviceSynchronize();
}

// wrong: race.host | kernel add_to and the host
HOST(managed_counter_at_once) {
  Managed count(1);
  add_to<<<1, n>>>(count);
  sink = count[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_counter_after_event) {
  Managed count(1);
  Event done;
  add_to<<<1, n>>>(count);
  cudaEventRecord(done);
  cudaEventSynchronize(done);
  sink = count[0];
}

// wrong: race.host
HOST(managed_error_asked_only) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  if (cudaGetLastError() != cudaSuccess) return;
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_error_and_wait) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return;
  sink = x[0];
}

// wrong: race.host
HOST(managed_prefetched_to_the_host) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaMemPrefetchAsync(x, bytes, cudaMemLocation{cudaMemLocationTypeHost, 0}, 0, nullptr);
  sink = x[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_prefetched_and_waited_for) {
  Managed x;
  cudaMemPrefetchAsync(x, bytes, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr);
  fill<<<1, n>>>(x, 2);
  cudaMemPrefetchAsync(x, bytes, cudaMemLocation{cudaMemLocationTypeHost, 0}, 0, nullptr);
  cudaDeviceSynchronize();
  sink = x[0];
}

// wrong: race.host
HOST(managed_second_launch) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  sink = x[0];
  fill<<<1, n>>>(x, 3);  // here
  sink = x[0];           // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_in_turn) {
  Managed x;
  for (int k = 0; k < 20; ++k) {
    fill<<<1, n>>>(x, k);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; ++i) x[i] += x[(i + 1) % n];
  }
}

// wrong: race.host
HOST(managed_read_by_the_library) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  sink = std::accumulate(x.p, x.p + n, 0);  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_read_by_the_library_later) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  sink = std::accumulate(x.p, x.p + n, 0);
}

// wrong: race.host
HOST(managed_copied_by_memcpy) {
  Managed x(4 * page);
  static int copy[4 * page];
  fill<<<1, n>>>(x, 2);
  memcpy(copy, x, sizeof copy);  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_filled_by_memset) {
  Managed x(4 * page), y(4 * page);
  fill<<<1, n>>>(x, 2);
  memset(y, 0, 4 * page * sizeof(int));
  cudaDeviceSynchronize();
  memset(x, 0, 4 * page * sizeof(int));
}

// wrong: race.host
HOST(managed_printed) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  printf("out: %d\n", x[0] > 0);  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_printed_after_copy) {
  Managed x;
  OnDevice y;
  int h;
  fill<<<1, n>>>(x, 2);
  cudaMemcpy(&h, y, sizeof h, cudaMemcpyDeviceToHost);
  sink = x[0];
}

// wrong: race.host
HOST(list_read_at_once) {
  Node* first = nullptr;
  for (int k = 0; k < 3; ++k) {
    Node* node;
    cudaMallocManaged(&node, sizeof *node);
    *node = {k, first};
    first = node;
  }
  walk<<<1, 1>>>(first);
  sink = first->next->next->value;  // here
  cudaDeviceSynchronize();
  for (Node *node = first, *next; node != nullptr; node = next) next = node->next, cudaFree(node);
}

// right
HOST(list_read_later) {
  Node* first = nullptr;
  for (int k = 0; k < 3; ++k) {
    Node* node;
    cudaMallocManaged(&node, sizeof *node);
    *node = {k, first};
    first = node;
  }
  walk<<<1, 1>>>(first);
  cudaDeviceSynchronize();
  for (Node *node = first, *next; node != nullptr; node = next) sink = node->value, next = node->next, cudaFree(node);
}

// wrong: race.host
HOST(view_read_at_once) {
  Managed x;
  fill_view<<<1, n>>>({x, n});
  sink = x[3];  // here
  cudaDeviceSynchronize();
}

// right
HOST(view_of_others) {
  Managed x, y;
  fill_view<<<1, n>>>({x, n});
  for (int i = 0; i < n; ++i) y[i] = i;
  cudaDeviceSynchronize();
  sink = x[3];
}

// wrong: race.host | m_count
HOST(variable_read_at_once) {
  use_variables<<<1, n>>>();
  sink = m_count;  // here
  cudaDeviceSynchronize();
}

// right
HOST(variable_read_later) {
  m_count = 1;
  use_variables<<<1, n>>>();
  cudaDeviceSynchronize();
  sink = m_count + m_table[9];
}

// wrong: race.host | RACE (write-after-write)
HOST(variable_set_at_once) {
  use_variables<<<1, n>>>();
  m_table[3] = 0;  // here
  cudaDeviceSynchronize();
}

// right
HOST(variable_beside_other_kernel) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  m_table[3] = 0;
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(managed_by_another_thread) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  std::thread reader([&] {
    sink = x[0];  // here
  });
  reader.join();
  cudaDeviceSynchronize();
}

// right
HOST(managed_by_another_thread_later) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  cudaDeviceSynchronize();
  std::thread reader([&] { sink = x[0]; });
  reader.join();
}

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

// ---- pinned memory and copies ---------------------------------------------------------------------------------------

// wrong: race.host | cudaMemcpyAsync and the host
HOST(copy_to_pinned_at_once) {
  Pinned h;
  OnDevice x;
  InStream s;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);  // here
  sink = h[0];                                              // here
  cudaDeviceSynchronize();
}

// right
HOST(copy_to_pinned_waited_for) {
  Pinned h;
  OnDevice x;
  InStream s;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  sink = h[0];
}

// wrong: race.host | RACE (write-after-read)
HOST(copy_from_pinned_changed) {
  Pinned h;
  OnDevice x;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);  // here
  h[0] = 5;                                              // here
  cudaDeviceSynchronize();
}

// right
HOST(copy_from_pinned_read) {
  Pinned h;
  OnDevice x;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  for (int i = 0; i < n; ++i) sink = h[i];
  cudaDeviceSynchronize();
  h[0] = 5;
}

// wrong: race.host
HOST(copy_to_pinned_event_too_early) {
  Pinned h;
  OnDevice x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaEventRecord(done, s);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaEventSynchronize(done);
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(copy_to_pinned_event_behind) {
  Pinned h;
  OnDevice x;
  InStream s;
  Event done;
  fill<<<1, n, 0, s>>>(x, 2);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(done, s);
  cudaEventSynchronize(done);
  sink = h[0];
}

// wrong: race.host
HOST(parts_by_streams_wrong_one_read) {
  Pinned h(2 * n);
  OnDevice x, y;
  InStream s, t;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(h + n, y, bytes, cudaMemcpyDeviceToHost, t);
  cudaStreamSynchronize(s);
  sink = h[n];  // here
  cudaDeviceSynchronize();
}

// right
HOST(parts_by_streams) {
  Pinned h(2 * n);
  OnDevice x, y;
  InStream s, t;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(h + n, y, bytes, cudaMemcpyDeviceToHost, t);
  cudaStreamSynchronize(s);
  for (int i = 0; i < n; ++i) sink = h[i];
  cudaStreamSynchronize(t);
  for (int i = 0; i < n; ++i) sink = h[n + i];
}

// wrong: race.host
HOST(buffer_filled_again_too_early) {
  Pinned h;
  OnDevice x;
  InStream s;
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < n; ++i) h[i] = k;                     // here
    cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice, s);  // here
  }
  cudaDeviceSynchronize();
}

// right
HOST(two_buffers_in_turn) {
  Pinned h(2 * n);
  OnDevice x;
  InStream s;
  Event free[2];
  for (int k = 0; k < 6; ++k) {
    int* half = h + (k % 2) * n;
    if (k >= 2) cudaEventSynchronize(free[k % 2]);
    for (int i = 0; i < n; ++i) half[i] = k;
    cudaMemcpyAsync(x, half, bytes, cudaMemcpyHostToDevice, s);
    cudaEventRecord(free[k % 2], s);
  }
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(one_buffer_of_two_pages) {
  Pinned h(2 * page);
  OnDevice x;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  h[page] = 1;
  h[n - 1] = 1;  // here
  cudaDeviceSynchronize();
}

// right
HOST(synchronous_copies_of_pinned) {
  Pinned h;
  OnDevice x;
  cudaMemcpy(x, h, bytes, cudaMemcpyHostToDevice);
  h[0] = 2;
  fill<<<1, n>>>(x, 2);
  cudaMemcpy(h, x, bytes, cudaMemcpyDeviceToHost);
  sink = h[0];
}

// wrong: race.host | cudaMemsetAsync and the host
HOST(managed_set_asynchronously) {
  Managed x;
  cudaMemsetAsync(x, 0, bytes);  // here
  sink = x[0];                   // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_set) {
  Managed x;
  cudaMemset(x, 0, bytes);
  sink = x[0];
}

// wrong: race.host
HOST(managed_copied_asynchronously) {
  Managed x, y;
  cudaMemcpyAsync(y, x, bytes, cudaMemcpyDefault);
  sink = y[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(pageable_copied_asynchronously) {
  static int h[n];
  OnDevice x;
  InStream s;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice, s);
  h[0] = 1;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost, s);
  sink = h[0];
  cudaDeviceSynchronize();
}

// right
HOST(managed_copied) {
  static int h[n];
  Managed x;
  cudaMemcpy(x, h, bytes, cudaMemcpyHostToDevice);
  sink = x[0];
  x[1] = 2;
  cudaMemcpy(x, h, bytes, cudaMemcpyDefault);
  for (int i = 0; i < n; ++i) x[i] = i;
}

// wrong: race.host
HOST(symbol_copied_to_pinned) {
  Pinned h;
  cudaMemcpyFromSymbolAsync(h, d_table, bytes, 0, cudaMemcpyDeviceToHost, nullptr);
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(symbol_copied_and_waited_for) {
  Pinned h;
  cudaMemcpyFromSymbolAsync(h, d_table, bytes, 0, cudaMemcpyDeviceToHost, nullptr);
  cudaDeviceSynchronize();
  sink = h[0];
}

// wrong: race.host
HOST(rows_copied_to_pinned) {
  Pinned h;
  OnDevice x;
  cudaMemcpy2DAsync(h, 64, x, 64, 32, 16, cudaMemcpyDeviceToHost, nullptr);
  sink = h[16];  // here
  cudaDeviceSynchronize();
}

// right
HOST(between_rows_that_are_copied) {
  Pinned h;
  OnDevice x;
  cudaMemcpy2DAsync(h, 64, x, 64, 32, 16, cudaMemcpyDeviceToHost, nullptr);
  sink = h[12];
  cudaDeviceSynchronize();
  sink = h[16];
}

// wrong: race.host
HOST(registered_read_at_once) {
  int* h = static_cast<int*>(aligned_alloc(4096, 4 * page * sizeof(int)));
  OnDevice x;
  cudaHostRegister(h, 4 * page * sizeof(int), cudaHostRegisterDefault);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  sink = h[0];  // here
  cudaDeviceSynchronize();
  cudaHostUnregister(h), free(h);
}

// right
HOST(registered_waited_for) {
  int* h = static_cast<int*>(aligned_alloc(4096, 4 * page * sizeof(int)));
  OnDevice x;
  cudaHostRegister(h, 4 * page * sizeof(int), cudaHostRegisterDefault);
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  h[2 * page] = 1;
  cudaDeviceSynchronize();
  sink = h[0];
  cudaHostUnregister(h);
  sink = h[0];
  free(h);
}

// wrong: race.host
HOST(pinned_by_two_copies) {
  Pinned h;
  OnDevice x, y;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  cudaMemcpyAsync(h, y, bytes, cudaMemcpyDeviceToHost);
  std::string text = std::to_string(h[1]);  // here
  cudaDeviceSynchronize();
}

// right
HOST(pinned_written_to_a_file) {
  Pinned h;
  OnDevice x;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);
  cudaDeviceSynchronize();
  FILE* file = tmpfile();
  const bool is_whole = fwrite(h, 1, bytes, file) == bytes && fflush(file) == 0;
  rewind(file);
  if (!is_whole || fread(h, 1, bytes, file) != bytes) printf("out: a system call fails\n");
  fclose(file);
}

// ---- mapped memory --------------------------------------------------------------------------------------------------

// wrong: race.host | pinned host memory
HOST(mapped_read_at_once) {
  Pinned h(n, cudaHostAllocMapped);
  fill<<<1, n>>>(h.on_device(), 2);
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(mapped_read_later) {
  Pinned h(n, cudaHostAllocMapped);
  fill<<<1, n>>>(h.on_device(), 2);
  cudaDeviceSynchronize();
  sink = h[0];
}

// wrong: race.host
HOST(mapped_read_behind_a_fence_only) {
  Pinned h(n, cudaHostAllocMapped);
  fill_and_fence<<<1, 32>>>(h.on_device());
  sink = h[0];  // here
  cudaDeviceSynchronize();
}

// right
HOST(mapped_flag) {
  Pinned h(n, cudaHostAllocMapped);
  volatile int* flag = h.p + 1;
  *flag = 0;
  produce<<<1, 1>>>(h.on_device(), h.on_device() + 1);
  while (*flag == 0) {
  }
  sink = h[0];
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(mapped_input_changed) {
  Pinned h(n, cudaHostAllocMapped);
  OnDevice x;
  copy_to<<<1, n>>>(x, h.on_device());
  h[3] = 4;  // here
  cudaDeviceSynchronize();
}

// right
HOST(mapped_input_read) {
  Pinned h(n, cudaHostAllocMapped);
  OnDevice x;
  copy_to<<<1, n>>>(x, h.on_device());
  sink = h[3];
  cudaDeviceSynchronize();
  h[3] = 4;
}

// right
HOST(mapped_flag_by_atomics) {
  Pinned h(n, cudaHostAllocMapped);
  auto* flag = reinterpret_cast<std::atomic<int>*>(h.p + 1);
  flag->store(0);
  produce_by_atomic<<<1, 1>>>(h.on_device(), h.on_device() + 1);
  while (flag->load() == 0) {
  }
  sink = h[0];
  cudaDeviceSynchronize();
}

// right
HOST(managed_flag_of_the_host) {
  Managed x(2);
  volatile int* flag = x.p + 1;
  x[0] = 1, *flag = 0;
  consume<<<1, 1>>>(x, x + 1);
  x[0] = 41;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *flag = 1;
  cudaDeviceSynchronize();
  sink = x[0];
}

// right
HOST(variable_as_flag) {
  set_flag<<<1, 1>>>();
  while (*static_cast<volatile int*>(&m_flag) == 0) {
  }
  sink = m_data;
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(portable_read_at_once) {
  Pinned h(n, cudaHostAllocPortable | cudaHostAllocWriteCombined);
  fill<<<1, n>>>(h, 2);
  sink = h[n / 2];  // here
  cudaDeviceSynchronize();
}

// right
HOST(allocation_waits) {
  Managed x;
  fill<<<1, n>>>(x, 2);
  OnDevice y;
  int h;
  cudaMemcpy(&h, y, sizeof h, cudaMemcpyDeviceToHost);
  sink = x[0];
}

// ---- managed memory that nobody has written -------------------------------------------------------------------------

// wrong: uninitialised.global | on a GPU such memory holds zeros at first
HOST(flag_never_written) {
  Unwritten flag(1);
  OnDevice out;
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// right
HOST(flag_written_as_zero) {
  Unwritten flag(1);
  OnDevice out;
  *flag = 0;
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// wrong: uninitialised.global
HOST(flag_never_written_beside_another) {
  Unwritten flag(1);
  Managed other;
  OnDevice out;
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// right
HOST(flag_set_by_the_device) {
  Unwritten flag(1);
  OnDevice out;
  cudaMemset(flag, 0, sizeof(int));
  choose<<<1, 1>>>(out, flag);
  cudaMemcpy(h_out, out, sizeof(int), cudaMemcpyDeviceToHost);
}

// wrong: uninitialised.global
HOST(managed_counter_never_written) {
  Unwritten count(1);
  add_to<<<1, 4>>>(count);
  cudaDeviceSynchronize();
  sink = *count;
}

// right
HOST(managed_counter_written_as_zero) {
  Unwritten count(1);
  *count = 0;
  add_to<<<1, 4>>>(count);
  cudaDeviceSynchronize();
  sink = *count;
}

// wrong: uninitialised.global
HOST(managed_input_never_written) {
  Unwritten x, y;
  copy_to<<<1, n>>>(y, x);
  cudaDeviceSynchronize();
  sink = y[0];
}

// right
HOST(managed_input_read_from_a_file) {
  Unwritten x, y;
  FILE* file = fopen("/dev/zero", "rb");
  if (fread(x, 1, bytes, file) != bytes) printf("out: a system call fails\n");
  fclose(file);
  copy_to<<<1, n>>>(y, x);
  cudaDeviceSynchronize();
  sink = y[0];
}

// right
HOST(room_for_more_than_there_is) {
  Unwritten x(4 * page), y(4 * page);
  for (int i = 0; i < n; ++i) x[i] = i;
  double_all<<<1, n>>>(x, 4 * page);
  copy_all<<<1, n>>>(y, x, 4 * page);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) sink = y[i];
}

// right
HOST(managed_output_of_a_kernel) {
  Unwritten x, y;
  fill<<<1, n>>>(x, 2);
  copy_to<<<1, n>>>(y, x);
  cudaDeviceSynchronize();
  sink = y[0];
}

// ---- the kind of a copy ---------------------------------------------------------------------------------------------

// advice: copy.kind | write cudaMemcpyDeviceToDevice
HOST(to_device_between_two_of_the_device) {
  OnDevice x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyHostToDevice);  // here
}

// advice: copy.kind
HOST(to_host_between_two_of_the_device) {
  OnDevice x, y;
  for (int k = 0; k < 3; ++k) cudaMemcpy(y + k, x, 4, cudaMemcpyDeviceToHost);  // here
}

// right
HOST(on_device_between_two_of_the_device) {
  OnDevice x, y;
  cudaMemcpy(y, x, bytes, cudaMemcpyDeviceToDevice);
  cudaMemcpy(y, x, bytes, cudaMemcpyDefault);
}

// right
HOST(to_device_from_managed) {
  OnDevice x;
  Managed y;
  cudaMemcpy(x, y, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(y, x, bytes, cudaMemcpyDeviceToHost);
}
