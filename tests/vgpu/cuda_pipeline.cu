// cuda::pipeline and cuda::memcpy_async: stages of a block, of a thread, and with warps that only copy.
#include <cooperative_groups.h>

#include <cstdio>
#include <cuda/pipeline>

#include "arrays.hpp"

namespace cg = cooperative_groups;

constexpr int threads = 128, tile = 256;

/// Two stages: while one tile is summed the next is copied.
__global__ void two_stages(const int* in, int* out, int tiles) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  constexpr int stages = 2;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ alignas(16) int s_tile[stages][tile];
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int computed = 0, fetched = 0; computed < tiles; ++computed) {
    for (; fetched < tiles && fetched < computed + stages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, s_tile[fetched % stages], in + fetched * tile,
                         cuda::aligned_size_t<16>(tile * sizeof(int)), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    for (int k = threadIdx.x; k < tile; k += threads) sum += s_tile[computed % stages][tile - 1 - k] * (computed + 1);
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

/// A pipeline of one thread has no shared state; each thread copies its own four words ahead.
__global__ void own_pipeline(const int4* in, int* out, int rounds) {
  constexpr int stages = 3;
  __shared__ int4 s_own[stages][threads];
  auto pipeline = cuda::make_pipeline();
  const auto copy = [&](int round) {
    pipeline.producer_acquire();
    if (round < rounds)
      cuda::memcpy_async(&s_own[round % stages][threadIdx.x], &in[round * threads + threadIdx.x],
                         cuda::aligned_size_t<16>(sizeof(int4)), pipeline);
    pipeline.producer_commit();
  };
  copy(0);
  copy(1);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    copy(round + 2);
    cuda::pipeline_consumer_wait_prior<2>(pipeline);
    const int4 v = s_own[round % stages][threadIdx.x];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

/// The first warp produces, the other three consume.
__global__ void roles(const int* in, int* out, int tiles) {
  constexpr int stages = 4, producers = 32;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ alignas(16) int s_tile[stages][tile];
  auto block = cg::this_thread_block();
  const bool produces = threadIdx.x < producers;
  auto pipeline =
      cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  if (produces) {
    for (int k = 0; k < tiles; ++k) {
      pipeline.producer_acquire();
      for (int j = threadIdx.x; j < tile; j += producers)
        cuda::memcpy_async(&s_tile[k % stages][j], &in[k * tile + j], sizeof(int), pipeline);
      pipeline.producer_commit();
    }
    return;
  }
  const int consumer = threadIdx.x - producers;
  int sum = 0;
  for (int k = 0; k < tiles; ++k) {
    pipeline.consumer_wait();
    for (int j = consumer; j < tile; j += threads - producers) sum = sum * 3 + s_tile[k % stages][j];
    pipeline.consumer_release();
  }
  out[consumer] = sum;
}

int main() {
  const int tiles = 6, n = tiles * tile;
  std::vector<int> in(n);
  for (int k = 0; k < n; ++k) in[k] = k * 7 % 101 - 50;
  const Array<int> d_in(in), d_out(threads);

  std::vector<int> expected(threads, 0);
  for (int k = 0; k < n; ++k) expected[(tile - 1 - k % tile) % threads] += in[k] * (k / tile + 1);
  two_stages<<<1, threads>>>(d_in, d_out, tiles);
  compare("two stages", d_out, expected);

  const int rounds = n / 4 / threads;
  expected.assign(threads, 0);
  for (int k = 0; k < n; ++k) expected[k / 4 % threads] += in[k] * (k % 4 + 1);
  own_pipeline<<<1, threads>>>(reinterpret_cast<const int4*>(d_in.get()), d_out, rounds);
  compare("a pipeline a thread", d_out, expected);

  expected.assign(threads - 32, 0);
  for (int k = 0; k < tiles; ++k)
    for (int j = 0; j < tile; ++j) {
      int& sum = expected[j % (threads - 32)];
      sum = sum * 3 + in[k * tile + j];
    }
  roles<<<1, threads>>>(d_in, d_out, tiles);
  compare("producers and consumers", d_out, expected);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
