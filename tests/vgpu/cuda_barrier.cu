// cuda::barrier: arrive and wait apart, producers and consumers, threads that leave, a completion function, a barrier
// of several blocks. Every result is compared with the same computation on the host.
#include <cstdio>
#include <cuda/barrier>
#include <utility>

#include "arrays.hpp"

using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int threads = 128;

/// Each step adds the two neighbours; between its arrival and its wait a thread does what needs no other thread.
__global__ void split_arrival(const int* in, int* out, int steps) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ BlockBarrier barrier;
  __shared__ int s_values[threads];
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, threads);
  s_values[t] = in[t];
  __syncthreads();
  int own = 0;
  for (int step = 0; step < steps; ++step) {
    const int sum = s_values[(t + 1) % threads] + s_values[(t + threads - 1) % threads];
    auto read = barrier.arrive();
    own = own * 3 + step + t;
    barrier.wait(std::move(read));  // all threads have read: the values may change
    s_values[t] = sum + (own & 7);
    barrier.arrive_and_wait();  // all threads have written
  }
  out[t] = s_values[t];
}

std::vector<int> split_arrival_on_host(std::vector<int> values, int steps) {
  std::vector<int> own(threads, 0);
  for (int step = 0; step < steps; ++step) {
    std::vector<int> next(threads);
    for (int t = 0; t < threads; ++t) {
      own[t] = own[t] * 3 + step + t;
      next[t] = values[(t + 1) % threads] + values[(t + threads - 1) % threads] + (own[t] & 7);
    }
    values = next;
  }
  return values;
}

/// The first warp fills two buffers in turn, the others add up what is in them.
__global__ void producer_consumer(const int* in, int* out, int n) {
  constexpr int tile = 64;
  __shared__ BlockBarrier ready[2], filled[2];
  __shared__ int s_buffer[2][tile];
  if (threadIdx.x < 2) {
    init(&ready[threadIdx.x], blockDim.x);
    init(&filled[threadIdx.x], blockDim.x);
  }
  __syncthreads();
  const int tiles = n / tile;
  if (threadIdx.x < 32) {
    for (int k = 0; k < tiles; ++k) {
      ready[k % 2].arrive_and_wait();
      for (int j = threadIdx.x; j < tile; j += 32) s_buffer[k % 2][j] = in[k * tile + j];
      (void)filled[k % 2].arrive();
    }
    return;
  }
  const int consumer = threadIdx.x - 32, consumers = blockDim.x - 32;
  (void)ready[0].arrive();
  (void)ready[1].arrive();
  int sum = 0;
  for (int k = 0; k < tiles; ++k) {
    filled[k % 2].arrive_and_wait();
    for (int j = consumer; j < tile; j += consumers) sum += s_buffer[k % 2][j] * (k + 1);
    (void)ready[k % 2].arrive();
  }
  out[consumer] = sum;
}

/// Thread t takes part in t % 8 + 1 rounds, then leaves. Each round counts the threads that are there.
__global__ void leave(int* present) {
  __shared__ BlockBarrier barrier;
  __shared__ int s_count[8];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  if (threadIdx.x < 8) s_count[threadIdx.x] = 0;
  __syncthreads();
  const int rounds = threadIdx.x % 8 + 1;
  for (int round = 0; round < rounds; ++round) {
    atomicAdd(&s_count[round], 1);
    if (round + 1 == rounds) {
      if (round == 7) barrier.arrive_and_wait();  // the last ones stay until all counts are there
      break;
    }
    barrier.arrive_and_wait();
  }
  if (rounds < 8) {
    barrier.arrive_and_drop();
  } else if (threadIdx.x == 7) {
    for (int round = 0; round < 8; ++round) present[round] = s_count[round];
  }
}

/// One thread arrives for four.
__global__ void several_arrivals(int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ int s_sum;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    s_sum = 0;
  }
  __syncthreads();
  bool parity = false;
  for (int round = 0; round < 5; ++round, parity = !parity) {
    atomicAdd(&s_sum, threadIdx.x + round);
    __syncwarp();
    if (threadIdx.x % 4 == 0) (void)barrier.arrive(4);
    barrier.wait_parity(parity);
  }
  out[threadIdx.x] = s_sum;
}

struct Halve {
  int* value;
  __device__ void operator()() const { *value /= 2; }
};

/// The completion function runs once a phase, before any thread goes on.
__global__ void with_completion(int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block, Halve>;
  __shared__ alignas(Barrier) unsigned char storage[sizeof(Barrier)];
  __shared__ int s_value;
  auto* barrier = reinterpret_cast<Barrier*>(storage);
  if (threadIdx.x == 0) {
    s_value = 1 << 20;
    new (barrier) Barrier(blockDim.x, Halve{&s_value});
  }
  __syncthreads();
  int seen = 0;
  for (int round = 0; round < 3; ++round) {
    barrier->arrive_and_wait();
    seen = seen * 2 + (s_value == 1 << 19 >> 2 * round);
    barrier->arrive_and_wait();
  }
  out[threadIdx.x] = seen;
}

__device__ int d_partial[4];

/// Four blocks add up: the barrier lies in global memory.
__global__ void several_blocks(cuda::barrier<cuda::thread_scope_device>* barrier, int* out) {
  if (threadIdx.x == 0) {
    d_partial[blockIdx.x] = 10 * (blockIdx.x + 1);
    barrier->arrive_and_wait();
    int sum = 0;
    for (int k = 0; k < 4; ++k) sum += d_partial[k];
    out[blockIdx.x] = sum;
  }
}
__global__ void make_barrier(cuda::barrier<cuda::thread_scope_device>* barrier, int count) {
  init(barrier, count);
}

int main() {
  std::vector<int> in(threads);
  for (int t = 0; t < threads; ++t) in[t] = t * t % 37;
  const Array d_in(in);
  const Array<int> d_out(1024, 0xff);
  split_arrival<<<1, threads>>>(d_in, d_out, 9);
  compare("arrive, then wait", d_out, split_arrival_on_host(in, 9));

  const int n = 64 * 7;
  std::vector<int> stream(n), sums(96, 0);
  for (int k = 0; k < n; ++k) stream[k] = k % 23 - 5;
  for (int k = 0; k < n; ++k) sums[k % 64 % 96] += stream[k] * (k / 64 + 1);
  producer_consumer<<<1, 128>>>(Array(stream), d_out, n);
  compare("producer and consumers", d_out, sums);

  std::vector<int> present(8);
  for (int t = 0; t < 96; ++t)
    for (int round = 0; round <= t % 8; ++round) ++present[round];
  leave<<<1, 96>>>(d_out);
  compare("threads that leave", d_out, present);

  several_arrivals<<<1, 64>>>(d_out);
  int sum = 0;
  for (int t = 0; t < 64; ++t) sum += 5 * t + 10;
  compare("arrivals for others", d_out, std::vector<int>(64, sum));

  with_completion<<<1, 64>>>(d_out);
  compare("completion function", d_out, std::vector<int>(64, 0b111));

  cuda::barrier<cuda::thread_scope_device>* barrier;
  cudaMalloc(&barrier, sizeof *barrier);
  make_barrier<<<1, 1>>>(barrier, 4);
  several_blocks<<<4, 32>>>(barrier, d_out);
  compare("several blocks", d_out, std::vector<int>(4, 100));
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
