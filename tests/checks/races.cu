// What courses get wrong in shared memory: each kernel has one race, which --check names.
// test: vgpu-run --check
// test: exit 4
// test: vgpu
#include <cuda_pipeline.h>

#include <cstdio>

constexpr int block = 128;

__global__ void no_second_barrier(float* d_x) {
  __shared__ float s_xy[block];
  const int t = threadIdx.x;
  s_xy[t] = d_x[t];
  for (int stride = 32; stride < block; stride *= 2) {
    __syncthreads();
    float sum = s_xy[t];
    if (t >= stride) sum += s_xy[t - stride];
    s_xy[t] = sum;
  }
  d_x[t] = s_xy[t];
}

__global__ void no_first_barrier(float* d_x) {
  __shared__ float s_tile[block];
  s_tile[threadIdx.x] = d_x[threadIdx.x];
  d_x[threadIdx.x] = s_tile[block - 1 - threadIdx.x];
}

__global__ void one_result_for_all(int* d_y) {
  __shared__ int s_result;
  s_result = threadIdx.x / 32;
  __syncthreads();
  d_y[threadIdx.x] = s_result;
}

__global__ void tiles(int* d_y) {
  __shared__ int s_tile[8][16];
  s_tile[threadIdx.y][threadIdx.x] = threadIdx.x;
  d_y[threadIdx.y * 16 + threadIdx.x] = s_tile[7 - threadIdx.y][threadIdx.x];
}

__global__ void warp_reduction(int* d_y) {
  extern __shared__ int s_sum[];
  volatile int* s = s_sum;
  const int t = threadIdx.x;
  s[t] = d_y[t];
  if (t < 16) s[t] += s[t + 16];
  if (t == 0) d_y[0] = s[0];
}

__global__ void histogram(const int* d_x, int* d_y) {
  __shared__ int s_bin[16];
  if (threadIdx.x < 16) s_bin[threadIdx.x] = 0;
  atomicAdd(&s_bin[d_x[threadIdx.x] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) d_y[threadIdx.x] = s_bin[threadIdx.x];
}

__global__ void plain_histogram(const int* d_x, int* d_y) {
  __shared__ int s_count[16];
  if (threadIdx.x < 16) s_count[threadIdx.x] = 0;
  __syncthreads();
  s_count[d_x[threadIdx.x] & 15]++;
  __syncthreads();
  if (threadIdx.x < 16) d_y[threadIdx.x] = s_count[threadIdx.x];
}

__global__ void copy_ahead(const int* d_x, int* d_y) {
  __shared__ int s_tile[block];
  __pipeline_memcpy_async(&s_tile[threadIdx.x], &d_x[threadIdx.x], sizeof(int));
  __pipeline_commit();
  __syncthreads();
  d_y[threadIdx.x] = s_tile[threadIdx.x ^ 64];
  __pipeline_wait_prior(0);
}

int main() {
  float* d_x;
  int* d_y;
  cudaMalloc(&d_x, block * sizeof(float));
  cudaMalloc(&d_y, block * sizeof(int));
  cudaMemset(d_x, 0, block * sizeof(float));
  cudaMemset(d_y, 0, block * sizeof(int));
  no_second_barrier<<<1, block>>>(d_x);
  no_first_barrier<<<1, block>>>(d_x);
  one_result_for_all<<<1, block>>>(d_y);
  tiles<<<1, dim3(16, 8)>>>(d_y);
  warp_reduction<<<1, 32, 32 * sizeof(int)>>>(d_y);
  histogram<<<1, block>>>(d_y, d_y);
  plain_histogram<<<1, block>>>(d_y, d_y);
  copy_ahead<<<1, block>>>(d_y, d_y);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
