// expect: fail atomics cost.atomics | right, but a thread of each block sums up the sums before its own, without
// atomics; 2^22 elements end in time

#include "scanlab.cuh"

template <Kind kind>
__global__ void sections(const Element* d_x, Element* d_y, Element* d_sums, unsigned n) {
  __shared__ Element s_xy[section_size];
  const unsigned t = threadIdx.x, i = blockIdx.x * section_size + t;
  s_xy[t] = i >= unsigned(shift<kind>) && i < n ? d_x[i - shift<kind>] : identity();
  for (unsigned stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    Element sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;
    __syncthreads();
    s_xy[t] = sum;
  }
  if (i < n) d_y[i] = s_xy[t];
  if (t == section_size - 1) d_sums[blockIdx.x] = s_xy[t];
}

__global__ void add(Element* d_y, const Element* d_sums, unsigned n) {
  __shared__ Element s_before;
  if (threadIdx.x == 0) {
    Element before = identity();
    for (unsigned k = 0; k <= blockIdx.x; ++k) before = before + d_sums[k];
    s_before = before;
  }
  __syncthreads();
  const unsigned i = (blockIdx.x + 1) * section_size + threadIdx.x;
  if (i < n) d_y[i] = s_before + d_y[i];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int blocks = (n - 1) / section_size + 1;
  Element* d_sums;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_sums, blocks * sizeof(Element)));
  sections<kind><<<blocks, section_size>>>(d_x, d_y, d_sums, n);
  if (blocks > 1) add<<<blocks - 1, section_size>>>(d_y, d_sums, n);
  SCANLAB_CUDA_CHECK(cudaFree(d_sums));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
