// expect: pass 09_atomic_block_sums | no barrier at the end of the loop: a thread loads over places that it has stored
// itself

#include <algorithm>

#include "scanlab.cuh"

constexpr int kThreads = 128;
constexpr int kRun = section_size / kThreads;

template <Kind kind>
__global__ void scan_kernel(const float* d_x, float* d_y, float* d_offsets, int n, int sections) {
  __shared__ float s[section_size + kThreads];
  const int t = threadIdx.x;
  for (int section = blockIdx.x; section < sections; section += gridDim.x) {
    const int first = section * section_size;
    for (int p = t; p < section_size; p += kThreads) {
      const int i = first + p;
      s[p + p / kRun] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
    }
    __syncthreads();
    float run[kRun];
#pragma unroll
    for (int k = 0; k < kRun; ++k) run[k] = s[t * (kRun + 1) + k];
#pragma unroll
    for (int k = 1; k < kRun; ++k) run[k] += run[k - 1];
    __syncthreads();
    s[t] = run[kRun - 1];
#pragma unroll 1
    for (int d = 1; d < kThreads; d *= 2) {
      __syncthreads();
      const float sum = t >= d ? s[t - d] + s[t] : s[t];
      __syncthreads();
      s[t] = sum;
    }
    __syncthreads();
    const float before = t > 0 ? s[t - 1] : identity(), total = s[kThreads - 1];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kRun; ++k) s[t * (kRun + 1) + k] = before + run[k];
    for (int later = section + 1 + t; later < sections; later += kThreads) atomicAdd(d_offsets + later, total);
    __syncthreads();
    for (int p = t; p < section_size && first + p < n; p += kThreads) d_y[first + p] = s[p + p / kRun];
  }
}

__global__ void add_kernel(float* d_y, const float* d_offsets, int n) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = section_size + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    d_y[i] = d_offsets[i / section_size] + d_y[i];
  }
}

template <typename Kernel>
int blocks_that_fit(Kernel kernel, int threads) {
  int device, multiprocessors, blocks;
  SCANLAB_CUDA_CHECK(cudaGetDevice(&device));
  SCANLAB_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  SCANLAB_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
  return multiprocessors * blocks;
}

template <Kind kind>
void launch_scan(const float* d_x, float* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  float* d_offsets = nullptr;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_offsets, sections * sizeof *d_offsets));
  SCANLAB_CUDA_CHECK(cudaMemset(d_offsets, 0, sections * sizeof *d_offsets));
  scan_kernel<kind><<<std::min(sections, 4), kThreads>>>(d_x, d_y, d_offsets, n, sections);
  add_kernel<<<blocks_that_fit(add_kernel, 512), 512>>>(d_y, d_offsets, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_offsets));
}
