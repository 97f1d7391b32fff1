// Correct programs that read what was never written, and use nothing of it; and memory that is written in ways that
// are easily overlooked: --check keeps silent.
// test: vgpu-run --check
// test: vgpu
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <cstdio>
#include <cuda/barrier>
#include <vector>

constexpr int block = 128;

// --- shared memory ---------------------------------------------------------------------------------------------------

// As in Hwu, Kirk and El Hajj: no identity past the end, whose sums are never stored.
__global__ void brent_kung(const float* d_x, float* d_y, int n) {
  __shared__ float s_xy[2 * block];
  const unsigned i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) s_xy[threadIdx.x] = d_x[i];
  if (i + blockDim.x < n) s_xy[threadIdx.x + blockDim.x] = d_x[i + blockDim.x];
  for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
    __syncthreads();
    const unsigned index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index < 2 * block) s_xy[index] += s_xy[index - stride];
  }
  for (unsigned stride = block / 2; stride > 0; stride /= 2) {
    __syncthreads();
    const unsigned index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index + stride < 2 * block) s_xy[index + stride] += s_xy[index];
  }
  __syncthreads();
  if (i < n) d_y[i] = s_xy[threadIdx.x];
  if (i + blockDim.x < n) d_y[i + blockDim.x] = s_xy[threadIdx.x + blockDim.x];
}

// A warp reads whole rows of a tile, padding and all.
__global__ void padded_tile(const float* d_x, float* d_y) {
  __shared__ float s_tile[32][33];
  const int t = threadIdx.x;
  for (int k = 0; k < 32; ++k) s_tile[k][t] = d_x[32 * k + t];
  __syncwarp();
  float sum = 0;
  for (int k = 0; k < 33; ++k) {
    const float value = s_tile[t][k];
    sum += k < 32 ? value : 0.0f;
  }
  d_y[t] = sum;
}

__global__ void predicated_tail(const float* d_x, float* d_y, int n) {
  __shared__ float s_x[block];
  const int t = threadIdx.x;
  if (t < n) s_x[t] = d_x[t];
  __syncthreads();
  const float value = s_x[t];
  d_y[t] = t < n ? value : -1.0f;
}

__global__ void stored_over(const float* d_x, float* d_y) {
  __shared__ float s_x[block];
  const int t = threadIdx.x;
  volatile float* s = s_x;
  d_y[t] = s[t];
  __syncthreads();
  s_x[t] = d_x[t];
  __syncthreads();
  d_y[t] = s_x[block - 1 - t];
}

__global__ void no_bit_of_it(int* d_y) {
  __shared__ int s_x[block];
  volatile int* s = s_x;
  const int value = s[threadIdx.x], again = s[threadIdx.x];
  d_y[threadIdx.x] = (value & 0) + (value ^ again) + (again - value);
}

__global__ void votes(const int* d_x, int* d_y, int n) {
  __shared__ int s_x[block];
  const int t = threadIdx.x;
  if (t < n) s_x[t] = d_x[t];
  __syncthreads();
  const bool is_one = (s_x[t] == 1) & (t < n);
  d_y[t] = __popc(__ballot_sync(~0u, is_one));
}

struct Wide {
  char tag;
  double value;
  short depth;
};

__global__ void structs(Wide* d_y) {
  __shared__ Wide s_all[2][block];
  Wide& w = s_all[0][threadIdx.x];
  w.tag = 1;
  w.value = threadIdx.x;
  w.depth = 2;
  __syncthreads();
  s_all[1][threadIdx.x] = s_all[0][block - 1 - threadIdx.x];
  __syncthreads();
  d_y[threadIdx.x] = s_all[1][threadIdx.x];
}

struct alignas(16) Three {
  float x, y, z;
};

__global__ void aligned_structs(Three* d_y) {
  __shared__ Three s_all[block];
  Three& w = s_all[threadIdx.x];
  w.x = w.y = w.z = threadIdx.x;
  __syncthreads();
  d_y[threadIdx.x] = s_all[block - 1 - threadIdx.x];
}

__global__ void dynamic_arrays(const int* d_x, int* d_y) {
  extern __shared__ int s_all[];
  int* s_front = s_all;
  int* s_back = s_all + block;
  s_front[threadIdx.x] = d_x[threadIdx.x];
  __syncthreads();
  s_back[threadIdx.x] = s_front[block - 1 - threadIdx.x];
  __syncthreads();
  d_y[threadIdx.x] = s_back[threadIdx.x];
}

__global__ void async_copy(const int* d_x, int* d_y) {
  __shared__ int s_x[block];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &d_x[threadIdx.x], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  d_y[threadIdx.x] = s_x[block - 1 - threadIdx.x];
}

__global__ void barrier_object(int* d_y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> s_barrier;
  __shared__ int s_x[block];
  if (threadIdx.x == 0) init(&s_barrier, block);
  __syncthreads();
  s_x[threadIdx.x] = threadIdx.x;
  s_barrier.arrive_and_wait();
  d_y[threadIdx.x] = s_x[block - 1 - threadIdx.x];
}

// Sums of all warps, of which there are fewer than 32.
__global__ void sums_of_warps(const int* d_x, int* d_y) {
  __shared__ int s_sums[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = __reduce_add_sync(~0u, d_x[threadIdx.x]);
  if (lane == 0) s_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = s_sums[lane];
    for (int delta = 1; delta < 32; delta *= 2) {
      const int left = __shfl_up_sync(~0u, sum, delta);
      if (lane >= delta) sum += left;
    }
    if (lane < block / 32) d_y[lane] = sum;
  }
}

// --- global memory ---------------------------------------------------------------------------------------------------

__device__ int d_three = 3;
__device__ int d_zero[block];
__constant__ int c_table[4];

__global__ void variables(int* d_y) {
  d_zero[threadIdx.x] += threadIdx.x;
  d_y[threadIdx.x] = d_three + d_zero[threadIdx.x] + c_table[threadIdx.x % 4];
}

__global__ void smallest(int* d_y) {
  atomicMin(&d_y[0], static_cast<int>(threadIdx.x));
  __syncthreads();
  d_y[0] = 7;
}

__global__ void copy(const int* d_x, int* d_y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d_y[i] = d_x[i];
}

__global__ void copy_vectors(const int4* d_x, int4* d_y) {
  d_y[threadIdx.x] = d_x[threadIdx.x];
}

__global__ void in_place(int* d_y) {
  d_y[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void heap(int* d_y) {
  int* const mine = static_cast<int*>(malloc(4 * sizeof(int)));
  mine[0] = threadIdx.x;
  d_y[threadIdx.x] = mine[0];
  free(mine);
}

__global__ void scratch_twice(int* d_scratch, int* d_y) {
  const int before = d_scratch[threadIdx.x];
  d_scratch[threadIdx.x] = threadIdx.x;
  __syncthreads();
  d_y[threadIdx.x] = d_scratch[block - 1 - threadIdx.x] + 0 * before;
}

// Each block adds its count to that of the one before, which is not zeroed but stored first.
__global__ void chain(volatile int* d_flag, volatile int* d_sum, int* d_y) {
  __shared__ float s_unused[block];
  if (threadIdx.x == 0) {
    int sum = 0;
    if (blockIdx.x > 0) {
      while (d_flag[blockIdx.x - 1] == 0) {
      }
      __threadfence();
      sum = d_sum[blockIdx.x - 1];
    }
    d_sum[blockIdx.x] = sum + 1;
    __threadfence();
    d_flag[blockIdx.x] = 1;
    d_y[blockIdx.x] = sum;
  }
  volatile float* s = s_unused;
  if (s[threadIdx.x] * 0.0f == 12345.0f && blockIdx.x > 1000) d_y[0] = -1;
}

template <class T>
std::vector<T> look(const T* d, int n) {
  std::vector<T> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  return h;
}

template <class T>
T* unwritten(int n) {
  T* d = nullptr;
  cudaMalloc(&d, n * sizeof(T));
  return d;
}

int main() {
  constexpr int n = 3 * 2 * block + 37;
  const std::vector<float> ones(n, 1.0f);
  const std::vector<int> int_ones(n, 1);
  float* const d_x = unwritten<float>(32 * 33);
  cudaMemset(d_x, 0, 32 * 33 * sizeof(float));
  cudaMemcpy(d_x, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  int* const d_i = unwritten<int>(n);
  cudaMemcpyAsync(d_i, int_ones.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  float* const d_y = unwritten<float>(n);
  int* const d_j = unwritten<int>(n);

  brent_kung<<<4, block>>>(d_x, d_y, n);
  std::printf("brent_kung %g %g\n", look(d_y, n)[n - 1], look(d_y, n)[255]);
  padded_tile<<<1, 32>>>(d_x, d_y);
  std::printf("padded_tile %g\n", look(d_y, 32)[0]);
  predicated_tail<<<1, block>>>(d_x, d_y, 100);
  std::printf("predicated_tail %g\n", look(d_y, block)[block - 1]);
  stored_over<<<1, block>>>(d_x, d_y);
  std::printf("stored_over %g\n", look(d_y, block)[0]);
  no_bit_of_it<<<1, block>>>(d_j);
  std::printf("no_bit_of_it %d\n", look(d_j, block)[0]);
  votes<<<1, block>>>(d_i, d_j, 100);
  std::printf("votes %d\n", look(d_j, block)[block - 1]);
  Wide* const d_wide = unwritten<Wide>(block);
  structs<<<1, block>>>(d_wide);
  std::printf("structs %g\n", look(d_wide, block)[0].value);
  Three* const d_threes = unwritten<Three>(block);
  aligned_structs<<<1, block>>>(d_threes);
  std::printf("aligned_structs %g\n", look(d_threes, block)[0].z);
  dynamic_arrays<<<1, block, 3 * block * sizeof(int)>>>(d_i, d_j);
  std::printf("dynamic_arrays %d\n", look(d_j, block)[0]);
  async_copy<<<1, block>>>(d_i, d_j);
  std::printf("async_copy %d\n", look(d_j, block)[0]);
  barrier_object<<<1, block>>>(d_j);
  std::printf("barrier_object %d\n", look(d_j, block)[0]);
  sums_of_warps<<<1, block>>>(d_i, d_j);
  std::printf("sums_of_warps %d\n", look(d_j, 4)[3]);

  const int table[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(c_table, table, sizeof table);
  variables<<<1, block>>>(d_j);
  std::printf("variables %d\n", look(d_j, block)[1]);
  smallest<<<1, block>>>(unwritten<int>(1));
  int* const d_least = unwritten<int>(1);
  smallest<<<1, block>>>(d_least);
  std::printf("smallest %d\n", look(d_least, 1)[0]);

  // More than is written is copied, and nothing of it used.
  int *const d_large = unwritten<int>(2 * block), *const d_copy = unwritten<int>(2 * block);
  cudaMemcpy(d_large, int_ones.data(), block * sizeof(int), cudaMemcpyHostToDevice);
  copy<<<2, block>>>(d_large, d_copy, 2 * block);
  copy_vectors<<<1, 2 * block / 4>>>(reinterpret_cast<int4*>(d_copy), reinterpret_cast<int4*>(d_large));
  std::printf("copy %d\n", look(d_large, block)[block - 1]);
  std::printf("never written, but nobody computed it: %d\n", static_cast<int>(look(unwritten<int>(4), 4).size()));

  int* d_pitched = nullptr;
  std::size_t pitch = 0;
  cudaMallocPitch(&d_pitched, &pitch, 32 * sizeof(int), 4);
  cudaMemset2D(d_pitched, pitch, 0, 32 * sizeof(int), 4);
  copy<<<1, 32>>>(d_pitched + 3 * pitch / sizeof(int), d_j, 32);
  std::printf("memset2D %d\n", look(d_j, 32)[31]);

  int* managed = nullptr;
  cudaMallocManaged(&managed, 2 * block * sizeof(int));
  for (int k = 0; k < block; ++k) managed[k] = k;
  in_place<<<1, block>>>(managed);
  brent_kung<<<1, block>>>(d_x, reinterpret_cast<float*>(managed) + block, 37);
  cudaDeviceSynchronize();
  std::printf("managed %d %g\n", managed[5], reinterpret_cast<float*>(managed)[block + 36]);
  int *pinned = nullptr, *d_pinned = nullptr;
  cudaHostAlloc(&pinned, block * sizeof(int), cudaHostAllocMapped);
  for (int k = 0; k < block; ++k) pinned[k] = k;
  cudaHostGetDevicePointer(&d_pinned, pinned, 0);
  in_place<<<1, block>>>(d_pinned);
  cudaDeviceSynchronize();
  std::printf("pinned %d\n", pinned[5]);

  heap<<<1, block>>>(d_j);
  std::printf("heap %d\n", look(d_j, block)[5]);
  scratch_twice<<<1, block>>>(unwritten<int>(block), d_j);
  std::printf("scratch_twice %d\n", look(d_j, block)[0]);
  int *const d_flag = unwritten<int>(8), *const d_sum = unwritten<int>(8);
  cudaMemset(d_flag, 0, 8 * sizeof(int));
  chain<<<8, block>>>(d_flag, d_sum, d_j);
  std::printf("chain %d\n", look(d_j, 8)[7]);
  in_place<<<2, block>>>(d_i);
  in_place<<<2, block>>>(d_i);
  std::printf("in_place %d\n", look(d_i, block)[0]);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
