// expect: fail sectors cost.global_sectors | right, but every step goes through global memory instead of shared memory

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  if (i < n) d_y[i] = t >= shift<kind> ? d_x[i - shift<kind>] : identity();
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    Element sum = identity();
    if (i < n) sum = d_y[i];
    if (i < n && t >= stride) sum = d_y[i - stride] + sum;
    __syncthreads();
    if (i < n) d_y[i] = sum;
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  kogge_stone_kernel<kind><<<sections, section_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
