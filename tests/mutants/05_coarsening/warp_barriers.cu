// expect: fail threads cost.threads | right, but the trees of lab 04, with fewer barriers where one warp is left

#include "scanlab.cuh"

// A level of at most 32 pairs, and the one before it, are warp 0's own affair.
__device__ void wait(int pairs_of_two_levels) {
  if (pairs_of_two_levels > 32) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

template <Kind kind>
__global__ void brent_kung_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;
  __shared__ Element s_xy[section_size];
  for (int p = t; p < section_size; p += blockDim.x) {
    s_xy[p] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  for (int stride = 1; stride < section_size; stride *= 2) {
    wait(section_size / stride);
    const int p = (t + 1) * 2 * stride - 1;
    if (p < section_size) s_xy[p] = s_xy[p - stride] + s_xy[p];
  }
  for (int stride = section_size / 4; stride > 0; stride /= 2) {
    wait(section_size / stride);
    const int p = (t + 1) * 2 * stride - 1;
    if (p + stride < section_size) s_xy[p + stride] = s_xy[p] + s_xy[p + stride];
  }
  __syncthreads();
  for (int p = t; p < section_size; p += blockDim.x) {
    if (first + p < n) d_y[first + p] = s_xy[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  brent_kung_kernel<kind><<<sections, section_size / 2>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
