// expect: pass 03_double_buffer | a two-dimensional shared array, and a step loop that is not unrolled

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_xy[2][section_size];
  int from = 0;
  s_xy[from][t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
#pragma unroll 1
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    s_xy[1 - from][t] = t >= stride ? s_xy[from][t - stride] + s_xy[from][t] : s_xy[from][t];
    from = 1 - from;
  }
  if (i < n) d_y[i] = s_xy[from][t];
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
