// expect: pass 05_coarsening | runs of 16, their sums scanned by Kogge-Stone; phase 3 scans the run anew from its start

#include "scanlab.cuh"

constexpr int run_length = 16;
constexpr int block_size = section_size / run_length;

template <Kind kind>
__global__ void coarsened_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;
  __shared__ Element s_xy[block_size][run_length + 1];
  __shared__ Element s_sums[block_size];
#pragma unroll 1
  for (int p = t; p < section_size; p += block_size) {
    const bool there = p >= shift<kind> && first + p < n;
    s_xy[p / run_length][p % run_length] = there ? d_x[first + p - shift<kind>] : identity();
  }
  __syncthreads();

  Element sum = s_xy[t][0];
#pragma unroll 1
  for (int k = 1; k < run_length; ++k) sum = sum + s_xy[t][k];
  s_sums[t] = sum;

#pragma unroll 1
  for (int stride = 1; stride < block_size; stride *= 2) {
    __syncthreads();
    if (t >= stride) sum = s_sums[t - stride] + sum;
    __syncthreads();
    s_sums[t] = sum;
  }
  __syncthreads();

  sum = t == 0 ? identity() : s_sums[t - 1];
#pragma unroll 1
  for (int k = 0; k < run_length; ++k) {
    sum = sum + s_xy[t][k];
    s_xy[t][k] = sum;
  }
  __syncthreads();
  for (int p = t; p < section_size && first + p < n; p += block_size) {
    d_y[first + p] = s_xy[p / run_length][p % run_length];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  coarsened_kernel<kind><<<sections, block_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
