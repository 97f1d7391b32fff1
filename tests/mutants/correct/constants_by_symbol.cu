// expect: pass 02_kogge_stone | constants by symbol, a small table from the host in each call, scratch of a pool

#include "scanlab.cuh"

constexpr int kSteps = 10;
__constant__ int c_stride[kSteps];
__device__ int d_calls;

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_xy[section_size];
  s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  for (int step = 0; step < kSteps; ++step) {
    const int stride = c_stride[step];
    __syncthreads();
    Element sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;
    __syncthreads();
    s_xy[t] = sum;
  }
  if (i < n) d_y[i] = s_xy[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n + section_size - 1) / section_size;
  int strides[kSteps];
  for (int k = 0; k < kSteps; ++k) strides[k] = 1 << k;
  static int calls = 0;
  ++calls;
  SCANLAB_CUDA_CHECK(cudaMemcpyToSymbol(c_stride, strides, sizeof strides));
  SCANLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(d_calls, &calls, sizeof calls));
  Element* scratch = nullptr;
  SCANLAB_CUDA_CHECK(cudaMallocAsync(&scratch, n * sizeof(Element), nullptr));
  kogge_stone_kernel<kind><<<sections, section_size>>>(d_x, scratch, n);
  SCANLAB_CUDA_CHECK(cudaMemcpyAsync(d_y, scratch, n * sizeof(Element), cudaMemcpyDefault));
  SCANLAB_CUDA_CHECK(cudaFreeAsync(scratch, nullptr));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
