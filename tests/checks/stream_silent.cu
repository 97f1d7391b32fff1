// Right ways to use several streams: --check has nothing to say about any of them.
// test: vgpu-run --check
// test: nvcc -Xcompiler -pthread
#include <atomic>
#include <cstdio>
#include <thread>

constexpr int n = 1024, block = 256, grid = n / block;
constexpr size_t bytes = n * sizeof(int);

__global__ void fill(int* d_to, int value) {
  d_to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(int* d_to, const int* d_from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  d_to[i] += d_from[i];
}

__global__ void fill_every(int* d_to, int step, int value) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * step;
  if (i < n) d_to[i] = value;
}

__global__ void scatter(int* d_to, int parity) {
  const unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * 37 % (n / 2);
  d_to[2 * i + parity] = i;
}

__global__ void count(int* d_counts) {
  atomicAdd(&d_counts[threadIdx.x % 4], 1);
}

// An atomic of one's own begins with a plain read.
__global__ void largest(int* d_largest) {
  int seen = *d_largest, mine = threadIdx.x;
  while (seen < mine) {
    const int before = atomicCAS(d_largest, seen, mine);
    if (before == seen) break;
    seen = before;
  }
}

__global__ void produce(int* d_x, int* d_flag) {
  *d_x = 7;
  __threadfence();
  *static_cast<volatile int*>(d_flag) = 1;
}

__global__ void consume(int* d_y, const int* d_x, int* d_flag) {
  while (*static_cast<volatile int*>(d_flag) == 0) {
  }
  __threadfence();
  *d_y = *d_x;
}

__global__ void notify_host(int* d_x, int* mailbox) {
  *d_x = 9;
  __threadfence_system();
  *static_cast<volatile int*>(mailbox) = 1;
}

__device__ int d_table[n];

__global__ void use_table(int* d_to) {
  d_to[threadIdx.x] = d_table[threadIdx.x];
}

struct Streams {
  cudaStream_t one, two, free_one, free_two;
  cudaEvent_t first, second;
};

void events(const Streams& s, int* d_x, int* d_y) {
  fill<<<grid, block, 0, s.one>>>(d_x, 1);
  cudaEventRecord(s.first, s.one);
  cudaStreamWaitEvent(s.free_one, s.first, 0);
  add<<<grid, block, 0, s.free_one>>>(d_y, d_x);
  cudaEventRecord(s.second, s.free_one);
  cudaStreamWaitEvent(s.one, s.second, 0);
  fill<<<grid, block, 0, s.one>>>(d_x, 2);
}

// What an event passes on, the next one passes on too.
void chain_of_events(const Streams& s, int* d_x, int* d_y) {
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaEventRecord(s.first, s.free_one);
  cudaStreamWaitEvent(s.two, s.first, 0);
  cudaEventRecord(s.second, s.two);
  cudaStreamWaitEvent(s.free_two, s.second, 0);
  add<<<grid, block, 0, s.free_two>>>(d_y, d_x);
}

void fork_and_join(const Streams& s, int* d_x, int* d_y) {
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaEventRecord(s.first, s.free_one);
  cudaStreamWaitEvent(s.free_two, s.first, 0);
  fill<<<grid / 2, block, 0, s.free_one>>>(d_x, 2);
  fill<<<grid / 2, block, 0, s.free_two>>>(d_x + n / 2, 3);
  cudaEventRecord(s.second, s.free_two);
  cudaStreamWaitEvent(s.free_one, s.second, 0);
  add<<<grid, block, 0, s.free_one>>>(d_y, d_x);
}

void default_stream_between(const Streams& s, int* d_x, int* d_y) {
  fill<<<grid, block, 0, s.one>>>(d_x, 1);
  fill<<<1, block>>>(d_y, 0);
  add<<<grid, block, 0, s.two>>>(d_y, d_x);
}

// A wait in the default stream is work of it, too.
void default_stream_waits(const Streams& s, int* d_x, int* d_y) {
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaEventRecord(s.first, s.free_one);
  cudaStreamWaitEvent(cudaStreamLegacy, s.first, 0);
  add<<<grid, block, 0, s.one>>>(d_y, d_x);
}

void waits_of_the_host(const Streams& s, int* d_x, int* d_y) {
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaStreamSynchronize(s.free_one);
  add<<<grid, block, 0, s.free_two>>>(d_y, d_x);
  cudaEventRecord(s.first, s.free_two);
  cudaEventSynchronize(s.first);
  fill<<<grid, block>>>(d_x, 2);
  cudaDeviceSynchronize();
  add<<<grid, block, 0, s.free_one>>>(d_y, d_x);
  while (cudaStreamQuery(s.free_one) == cudaErrorNotReady) {
  }
  fill<<<grid, block, 0, s.free_two>>>(d_y, 0);
  cudaEventRecord(s.first, s.free_two);
  while (cudaEventQuery(s.first) == cudaErrorNotReady) {
  }
  add<<<grid, block, 0, s.free_one>>>(d_y, d_x);
}

// Copies to the host wait, also those called asynchronous where the host's memory is pageable.
void copies_that_wait(const Streams& s, int* d_x, int* d_y, int* h_pinned) {
  static int h_x[n];
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaMemcpyAsync(h_x, d_x, bytes, cudaMemcpyDeviceToHost, s.free_one);
  fill<<<grid, block, 0, s.free_two>>>(d_x, 2);
  cudaStreamSynchronize(s.free_two);
  cudaMemcpy(d_x, h_pinned, bytes, cudaMemcpyHostToDevice);
  add<<<grid, block, 0, s.free_one>>>(d_y, d_x);
  cudaMemcpyAsync(h_pinned, d_y, bytes, cudaMemcpyDeviceToHost, s.free_one);
  cudaStreamSynchronize(s.free_one);
  cudaMemcpyAsync(d_x, h_pinned, bytes, cudaMemcpyHostToDevice, s.free_two);
}

void default_stream_of_the_thread(const Streams& s, int* d_x, int* d_y) {
  fill<<<grid, block, 0, cudaStreamPerThread>>>(d_x, 1);
  cudaStreamSynchronize(cudaStreamPerThread);
  add<<<grid, block, 0, s.free_one>>>(d_y, d_x);
  cudaStreamSynchronize(s.free_one);
  fill<<<grid, block, 0, cudaStreamPerThread>>>(d_x, 2);
  add<<<grid, block>>>(d_y, d_x);  // it waits for the thread's default stream
}

// Two threads, each with a stream of its own, and a third that goes on when both are done.
void threads(const Streams& s, int* d_x, int* d_y) {
  std::thread other([&] {
    fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
    cudaStreamSynchronize(s.free_one);
  });
  fill<<<grid, block, 0, cudaStreamPerThread>>>(d_y, 2);
  cudaStreamSynchronize(cudaStreamPerThread);
  other.join();
  add<<<grid, block, 0, s.free_two>>>(d_y, d_x);
}

std::atomic<bool> is_called;

void CUDART_CB called(void*) {
  is_called = true;
}

// The host function notifies this thread that the kernel has ended.
void host_functions(const Streams& s, int* d_x, int* d_y) {
  is_called = false;
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaLaunchHostFunc(s.free_one, called, nullptr);
  while (!is_called) std::this_thread::yield();
  add<<<grid, block, 0, s.free_two>>>(d_y, d_x);
}

// Two buffers: while one is filled, the other is used.
void double_buffer(const Streams& s, int* d_x, int* d_y, int* h_pinned) {
  const cudaStream_t stream[2] = {s.free_one, s.free_two};
  for (int k = 0; k < 6; ++k) {
    int* const d_half = d_x + k % 2 * (n / 2);
    cudaMemcpyAsync(d_half, h_pinned + k % 2 * (n / 2), bytes / 2, cudaMemcpyHostToDevice, stream[k % 2]);
    fill<<<grid / 2, block, 0, stream[k % 2]>>>(d_half, k);
    cudaMemcpyAsync(d_y + k % 2 * (n / 2), d_half, bytes / 2, cudaMemcpyDeviceToDevice, stream[k % 2]);
  }
}

// Neighbours, but never the same element: every second, every fourth and the one after it, in any order.
void elements_in_turn(const Streams& s, int* d_x) {
  fill_every<<<grid, block, 0, s.one>>>(d_x, 2, 1);
  fill_every<<<grid, block, 0, s.two>>>(d_x + 1, 4, 2);
  fill_every<<<grid, block, 0, s.free_one>>>(d_x + 3, 4, 3);
}
void scattered_elements(const Streams& s, int* d_x) {
  scatter<<<grid / 2, block, 0, s.one>>>(d_x, 0);
  scatter<<<grid / 2, block, 0, s.two>>>(d_x, 1);
}

void atomics(const Streams& s, int* d_x) {
  count<<<grid, block, 0, s.one>>>(d_x);
  count<<<grid, block, 0, s.two>>>(d_x);
  largest<<<grid, block, 0, s.one>>>(d_x + 8);
  largest<<<grid, block, 0, s.free_one>>>(d_x + 8);
}

void readers(const Streams& s, int* d_x, int* d_y, int* d_z, int* h_pinned) {
  add<<<grid, block, 0, s.one>>>(d_y, d_x);
  add<<<grid, block, 0, s.two>>>(d_z, d_x);
  cudaMemcpyAsync(h_pinned, d_x, bytes, cudaMemcpyDeviceToHost, s.free_one);
}

void memory_of_streams(const Streams& s, int* d_y) {
  int* d_scratch;
  cudaMallocAsync(&d_scratch, bytes, s.one);
  fill<<<grid, block, 0, s.one>>>(d_scratch, 1);
  cudaEventRecord(s.first, s.one);
  cudaStreamWaitEvent(s.two, s.first, 0);
  add<<<grid, block, 0, s.two>>>(d_y, d_scratch);
  cudaFreeAsync(d_scratch, s.two);
}

// cudaFree makes all streams wait.
void allocations(const Streams& s, int* d_x, int* d_y) {
  int *d_scratch, *d_other;
  cudaMalloc(&d_scratch, bytes);
  cudaMalloc(&d_other, bytes);
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaFree(d_other);
  add<<<grid, block, 0, s.free_two>>>(d_y, d_x);
  cudaFree(d_scratch);
  fill<<<grid, block, 0, s.free_one>>>(d_x, 2);
}

// A stream that is destroyed ends its work, and the default stream waits for it.
void destroyed(int* d_x, int* d_y) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  fill<<<grid, block, 0, stream>>>(d_x, 1);
  cudaStreamDestroy(stream);
  add<<<grid, block>>>(d_y, d_x);
}

// Kernels that make each other, or the host, wait by a flag order themselves.
void flags(const Streams& s, int* d_x, int* d_y, int* mailbox) {
  cudaMemset(d_x, 0, bytes);
  cudaDeviceSynchronize();
  produce<<<1, 1, 0, s.one>>>(d_x, d_x + 1);
  consume<<<1, 1, 0, s.two>>>(d_y, d_x, d_x + 1);
  cudaDeviceSynchronize();
  *mailbox = 0;
  notify_host<<<1, 1, 0, s.free_one>>>(d_x, mailbox);
  while (*static_cast<volatile int*>(mailbox) == 0) {
  }
  add<<<1, 1, 0, s.free_two>>>(d_y, d_x);
}

void symbols(const Streams& s, int* d_x, int* h_pinned) {
  cudaMemcpyToSymbolAsync(d_table, h_pinned, bytes, 0, cudaMemcpyHostToDevice, s.free_one);
  cudaEventRecord(s.first, s.free_one);
  cudaStreamWaitEvent(s.free_two, s.first, 0);
  use_table<<<1, n, 0, s.free_two>>>(d_x);
}

void graph(const Streams& s, int* d_x, int* d_y) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(s.free_one, cudaStreamCaptureModeGlobal);
  fill<<<grid, block, 0, s.free_one>>>(d_x, 1);
  cudaEventRecord(s.first, s.free_one);
  cudaStreamWaitEvent(s.free_two, s.first, 0);
  add<<<grid, block, 0, s.free_two>>>(d_y, d_x);
  cudaEventRecord(s.second, s.free_two);
  cudaStreamWaitEvent(s.free_one, s.second, 0);
  cudaStreamEndCapture(s.free_one, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, s.two);
  fill<<<grid, block, 0, s.two>>>(d_x, 2);
  cudaStreamSynchronize(s.two);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

int main() {
  int *d_x, *d_y, *d_z, *h_pinned;
  Streams s;
  cudaMalloc(&d_x, bytes);
  cudaMalloc(&d_y, bytes);
  cudaMalloc(&d_z, bytes);
  cudaMallocHost(&h_pinned, bytes);
  for (int i = 0; i < n; ++i) h_pinned[i] = i;
  cudaStreamCreate(&s.one);
  cudaStreamCreate(&s.two);
  cudaStreamCreateWithFlags(&s.free_one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&s.free_two, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&s.first, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&s.second, cudaEventDisableTiming);
  const auto next = [&] {
    cudaDeviceSynchronize();
    cudaMemset(d_x, 0, bytes);
    cudaMemset(d_y, 0, bytes);
    cudaMemset(d_z, 0, bytes);
    cudaDeviceSynchronize();
  };
  next(), events(s, d_x, d_y);
  next(), chain_of_events(s, d_x, d_y);
  next(), fork_and_join(s, d_x, d_y);
  next(), default_stream_between(s, d_x, d_y);
  next(), default_stream_waits(s, d_x, d_y);
  next(), waits_of_the_host(s, d_x, d_y);
  next(), copies_that_wait(s, d_x, d_y, h_pinned);
  next(), default_stream_of_the_thread(s, d_x, d_y);
  next(), threads(s, d_x, d_y);
  next(), host_functions(s, d_x, d_y);
  next(), double_buffer(s, d_x, d_y, h_pinned);
  next(), elements_in_turn(s, d_x);
  next(), scattered_elements(s, d_x);
  next(), atomics(s, d_x);
  next(), readers(s, d_x, d_y, d_z, h_pinned);
  next(), memory_of_streams(s, d_y);
  next(), allocations(s, d_x, d_y);
  next(), destroyed(d_x, d_y);
  next(), flags(s, d_x, d_y, h_pinned);
  next(), symbols(s, d_x, h_pinned);
  next(), graph(s, d_x, d_y);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(d_x);
  cudaFree(d_y);
  cudaFree(d_z);
  cudaFreeHost(h_pinned);
}
