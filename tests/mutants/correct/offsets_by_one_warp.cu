// expect: pass 09_atomic_block_sums | the last warp alone adds to the offsets, from the far end; runs, trees and pools

#include "scanlab.cuh"

constexpr int threads = 256, length = section_size / threads;

template <Kind kind>
__global__ void locally(const Element* d_x, Element* d_y, Element* d_before, unsigned n) {
  __shared__ Element s[threads][length + 1], s_sum[threads];
  const unsigned t = threadIdx.x, first = blockIdx.x * section_size;
  for (unsigned p = t; p < section_size; p += threads) {
    const unsigned i = first + p;
    s[p / length][p % length] = i >= unsigned(shift<kind>) && i < n ? d_x[i - shift<kind>] : identity();
  }
  __syncthreads();
  Element sum = s[t][0];
  for (int k = 1; k < length; ++k) s[t][k] = sum = sum + s[t][k];
  s_sum[t] = sum;
  for (unsigned d = 1; d < threads; d *= 2) {
    __syncthreads();
    const unsigned p = (t + 1) * 2 * d - 1;
    if (p < threads) s_sum[p] = s_sum[p - d] + s_sum[p];
  }
  __syncthreads();
  if (t >= threads - 32) {
    const Element total = s_sum[threads - 1];
    for (int later = gridDim.x - 1 - (t % 32); later > int(blockIdx.x); later -= 32) atomicAdd(d_before + later, total);
  }
  for (unsigned d = threads / 4; d > 0; d /= 2) {
    __syncthreads();
    const unsigned p = (t + 1) * 2 * d - 1;
    if (p + d < threads) s_sum[p + d] = s_sum[p] + s_sum[p + d];
  }
  __syncthreads();
  if (t > 0) {
    for (Element& element : s[t]) {
      if (&element != &s[t][length]) element = s_sum[t - 1] + element;
    }
  }
  __syncthreads();
  for (unsigned p = t; p < section_size && first + p < n; p += threads) d_y[first + p] = s[p / length][p % length];
}

__global__ void globally(Element* d_y, const Element* d_before, unsigned n) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = section_size + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    d_y[i] = d_before[i / section_size] + d_y[i];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const unsigned sections = (n - 1) / section_size + 1;
  Element* d_before;
  SCANLAB_CUDA_CHECK(cudaMallocAsync(&d_before, sections * sizeof(Element), cudaStreamLegacy));
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(d_before, 0, sections * sizeof(Element), cudaStreamLegacy));
  locally<kind><<<sections, threads>>>(d_x, d_y, d_before, n);
  if (sections > 1) globally<<<sections, 512>>>(d_y, d_before, n);
  SCANLAB_CUDA_CHECK(cudaFreeAsync(d_before, cudaStreamLegacy));
}
