// libcu++: cuda::atomic in global, shared and managed memory, atomic_ref, fences, and cuda::std on the device.
#include <cstdio>
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/utility>

#include "arrays.hpp"

struct Shared {
  cuda::atomic<int, cuda::thread_scope_device> count{0};
  cuda::atomic<unsigned long long, cuda::thread_scope_device> sum{0};
  cuda::atomic<int, cuda::thread_scope_system> max{-1};
  cuda::std::atomic<int> order{0};
  cuda::atomic<float, cuda::thread_scope_device> total{0};
  cuda::atomic<bool, cuda::thread_scope_device> flag{false};
};

__global__ void use_atomics(Shared* s, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s->count.fetch_add(1, cuda::memory_order_relaxed);
  s->sum += i;
  s->max.fetch_max(i);
  ++s->order;
  s->total.fetch_add(0.5f);
  int seen = s->count.load(cuda::memory_order_acquire);
  while (!s->count.compare_exchange_weak(seen, seen + 1, cuda::memory_order_acq_rel)) {
  }
  if (i == 5) s->flag.store(true, cuda::memory_order_release);
  __shared__ cuda::atomic<int, cuda::thread_scope_block> local;
  if (threadIdx.x == 0) local.store(0);
  __syncthreads();
  local.fetch_or(1 << threadIdx.x % 31, cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = local.exchange(0);
}

// Thread 0 of each block hands a value to the next block through plain memory, a flag and fences.
__global__ void pass_on(int* values, int* flags, int* next) {
  const int block = atomicAdd(next, 1);
  cuda::atomic_ref<int, cuda::thread_scope_device> mine(flags[block]), after(flags[block + 1]);
  if (block > 0)
    while (mine.load(cuda::memory_order_relaxed) == 0) {
    }
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  values[block + 1] = values[block] + block;
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  after.store(1, cuda::memory_order_relaxed);
}

// Atomic block sums: every block adds its total to the offsets of all later blocks; a second kernel adds the offsets.
__global__ void block_sums(const int* in, int* out, int* offsets, int n) {
  __shared__ int s[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0;
  for (int d = 1; d < blockDim.x; d <<= 1) {
    __syncthreads();
    const int left = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
    __syncthreads();
    s[threadIdx.x] += left;
  }
  __syncthreads();
  if (i < n) out[i] = s[threadIdx.x];
  for (int later = blockIdx.x + 1 + threadIdx.x; later < gridDim.x; later += blockDim.x)
    atomicAdd(&offsets[later], s[blockDim.x - 1]);
}
__global__ void add_offsets(int* out, const int* __restrict__ offsets, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += __ldg(&offsets[blockIdx.x]);
}

__device__ cuda::std::optional<int> half_of(int x) {
  return x % 2 ? cuda::std::nullopt : cuda::std::optional<int>(x / 2);
}
__global__ void standard(float* out) {
  cuda::std::array<int, 4> a = {4, 3, 2, 1};
  int sum = 0;
  for (int x : a) sum = sum * 10 + x;
  const auto [p, q] = cuda::std::make_pair(sum, half_of(threadIdx.x).value_or(-1));
  const auto t = cuda::std::make_tuple(1, 2.5f);
  const cuda::std::complex<float> z = cuda::std::complex<float>(1, 2) * cuda::std::complex<float>(3, -1);
  out[threadIdx.x] = p + q + cuda::std::get<1>(t) + z.real() * 10000 + z.imag() * 100000;
  if (threadIdx.x == 0) out[4] = cuda::std::numeric_limits<short>::max();
}

__global__ void device_heap(int** lists, int n) {
  int* mine = static_cast<int*>(malloc(n * sizeof(int)));
  for (int k = 0; k < n; ++k) mine[k] = k * threadIdx.x;
  lists[threadIdx.x] = mine;
}
__global__ void sum_lists(int** lists, int n, int* out) {
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += lists[threadIdx.x][k];
  out[threadIdx.x] = sum;
  free(lists[threadIdx.x]);
}

int main() {
  Shared* s;
  const Array<int> d_out(1000);
  cudaMallocManaged(&s, sizeof(Shared));
  new (s) Shared();
  use_atomics<<<4, 64>>>(s, d_out);
  auto out = d_out.read(4);
  printf("%d %llu %d %d %g %d %#x\n", s->count.load(), s->sum.load(), s->max.load(), s->order.load(), s->total.load(),
         s->flag.load(), out[3]);

  d_out.set(0);
  pass_on<<<50, 1>>>(d_out, d_out + 100, d_out + 200);
  printf("passed on: %d\n", d_out.read()[50]);

  const int n = 5000, blocks = (n + 127) / 128;
  std::vector<int> in(n);
  int sum = 0, wrong = 0;
  for (int i = 0; i < n; ++i) in[i] = i % 9 - 3;
  const Array<int> d_scanned(n), d_offsets(blocks, 0);
  block_sums<<<blocks, 128>>>(Array(in), d_scanned, d_offsets, n);
  add_offsets<<<blocks, 128>>>(d_scanned, d_offsets, n);
  const auto scanned = d_scanned.read();
  for (int i = 0; i < n; ++i) wrong += scanned[i] != (sum += in[i]);
  printf("atomic block sums: %d wrong\n", wrong);

  const Array<float> d_f(5);
  standard<<<1, 4>>>(d_f);
  const auto f = d_f.read();
  printf("%g %g %g %g %g\n", f[0], f[1], f[2], f[3], f[4]);

  const Array<int*> lists(32);
  device_heap<<<1, 32>>>(lists, 100);
  sum_lists<<<1, 32>>>(lists, 100, d_out);
  out = d_out.read(32);
  printf("device heap: %d %d\n", out[1], out[31]);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
