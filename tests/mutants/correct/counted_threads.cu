// expect: pass 04_brent_kung | the number of active threads is counted, and the loops are not unrolled

#include "scanlab.cuh"

constexpr int block_size = section_size / 2;

template <Kind kind>
__global__ void brent_kung_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;
  __shared__ Element s_xy[section_size];

  for (int p = t; p < section_size; p += block_size) {
    s_xy[p] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }

  int stride = 1;
#pragma unroll 1
  for (int active = block_size; active > 0; active /= 2) {
    __syncthreads();
    if (t < active) {
      const int left = stride * (2 * t + 1) - 1, right = stride * (2 * t + 2) - 1;
      s_xy[right] = s_xy[left] + s_xy[right];
    }
    stride *= 2;
  }
  stride /= 4;
#pragma unroll 1
  for (int active = 1; active < block_size; active = 2 * active + 1) {
    __syncthreads();
    if (t < active) {
      const int left = stride * (2 * t + 2) - 1, right = stride * (2 * t + 3) - 1;
      s_xy[right] = s_xy[left] + s_xy[right];
    }
    stride /= 2;
  }
  __syncthreads();

  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  brent_kung_kernel<kind><<<sections, block_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
