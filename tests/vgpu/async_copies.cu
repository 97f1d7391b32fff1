// Copies from global to shared memory that do not pass through registers: cp.async as intrinsics, pipeline primitives
// and memcpy_async of cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cstdio>

#include "arrays.hpp"

namespace cg = cooperative_groups;
constexpr int threads = 64, tile = threads * 4;

__global__ void by_primitives(const int* in, int* out, int n) {
  __shared__ __align__(16) int s[2][tile];
  const int tiles = n / tile, at = threadIdx.x * 4;
  __pipeline_memcpy_async(&s[0][at], &in[at], 16);
  __pipeline_commit();
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) __pipeline_memcpy_async(&s[(k + 1) % 2][at], &in[(k + 1) * tile + at], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int j = 0; j < 4; ++j)
      out[k * tile + j * threads + threadIdx.x] = s[k % 2][tile - 1 - j * threads - threadIdx.x];
    __syncthreads();
  }
}

// Zero fill: fewer bytes are read than written.
__global__ void with_zeros(const int* in, int* out) {
  __shared__ __align__(16) int s[tile];
  for (int j = 0; j < 4; ++j) s[threadIdx.x + j * threads] = -1;
  __syncthreads();
  __pipeline_memcpy_async(&s[threadIdx.x * 4], &in[threadIdx.x * 4], 16,
                          4 * (threadIdx.x % 5 < 4 ? threadIdx.x % 5 : 4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int j = 0; j < 4; ++j) out[threadIdx.x * 4 + j] = s[threadIdx.x * 4 + j];
}

__global__ void by_group(const int* in, int* out, int n) {
  extern __shared__ int s[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, in, sizeof(int) * n);
  cg::wait(block);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = s[n - 1 - i];
}

__global__ void by_ptx(const float* in, float* out) {
  __shared__ float s[threads];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = s[threads - 1 - threadIdx.x];
}

int main() {
  const int n = 5 * tile;
  std::vector<int> in(n);
  int wrong = 0;
  for (int i = 0; i < n; ++i) in[i] = i * 3 + 1;
  const Array<int> d_in(in), d_out(n);
  by_primitives<<<1, threads>>>(d_in, d_out, n);
  auto out = d_out.read();
  for (int i = 0; i < n; ++i) wrong += out[i] != in[i / tile * tile + tile - 1 - i % tile];
  printf("primitives: %d wrong\n", wrong);

  with_zeros<<<1, threads>>>(d_in, d_out);
  out = d_out.read();
  wrong = 0;
  for (int i = 0; i < tile; ++i) {
    const int zeros = i / 4 % 5;
    wrong += out[i] != (i % 4 < 4 - zeros ? in[i] : 0);
  }
  printf("zero fill: %d wrong\n", wrong);

  by_group<<<1, threads, 777 * sizeof(int)>>>(d_in, d_out, 777);
  out = d_out.read();
  wrong = 0;
  for (int i = 0; i < 777; ++i) wrong += out[i] != in[776 - i];
  printf("group: %d wrong\n", wrong);

  by_ptx<<<1, threads>>>((const float*)d_in.get(), (float*)d_out.get());
  out = d_out.read();
  wrong = 0;
  for (int i = 0; i < threads; ++i) wrong += out[i] != in[threads - 1 - i];
  printf("ptx: %d wrong, %s\n", wrong, cudaGetErrorName(cudaDeviceSynchronize()));
}
