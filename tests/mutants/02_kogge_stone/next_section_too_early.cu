// expect: fail inclusive,exclusive race.shared | no barrier at the end of the loop: a fast warp loads the next section
// over what a slow one still stores

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  __shared__ Element s_xy[section_size];
  for (int begin = blockIdx.x * section_size; begin < n; begin += gridDim.x * section_size) {
    const int i = begin + t;
    s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
    for (int stride = 1; stride < section_size; stride *= 2) {
      __syncthreads();
      Element sum = s_xy[t];
      if (t >= stride) sum = s_xy[t - stride] + sum;
      __syncthreads();
      s_xy[t] = sum;
    }
    __syncthreads();
    for (int p = 4 * t; p < 4 * t + 4 && p < section_size; ++p) {  // a quarter of the threads, four places each
      if (begin + p < n) d_y[begin + p] = s_xy[p];
    }
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  const int blocks = sections < 2 ? sections : 2;
  kogge_stone_kernel<kind><<<blocks, section_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
