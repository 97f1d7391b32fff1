// expect: fail additions cost.additions | right, but sequential: one thread of each block does all the work
// expect on gpu: fail speed | 1023 additions one after the other, in place of ten steps

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_xy[section_size];
  s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  __syncthreads();
  if (t == 0) {
    for (int k = 1; k < section_size; ++k) s_xy[k] = s_xy[k - 1] + s_xy[k];
  }
  __syncthreads();
  if (i < n) d_y[i] = s_xy[t];
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
