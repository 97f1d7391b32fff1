// expect: fail inclusive,exclusive race.shared | the warp at the top has no __syncwarp() between its levels: its lanes
// need not run in step
// expect on gpu: pass/fail inclusive,exclusive | the lanes of a warp happen to go side by side here

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

  for (int stride = 1; stride < section_size / 64; stride *= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * stride - 1;
    if (p < section_size) s_xy[p] = s_xy[p - stride] + s_xy[p];
  }
  __syncthreads();
  if (t < 32) {
    for (int stride = section_size / 64; stride < section_size; stride *= 2) {
      const int p = (t + 1) * 2 * stride - 1;
      if (p < section_size) s_xy[p] = s_xy[p - stride] + s_xy[p];
    }
    for (int stride = section_size / 4; stride >= section_size / 64; stride /= 2) {
      const int p = (t + 1) * 2 * stride - 1;
      if (p + stride < section_size) s_xy[p + stride] = s_xy[p] + s_xy[p + stride];
    }
  }
  for (int stride = section_size / 128; stride > 0; stride /= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * stride - 1;
    if (p + stride < section_size) s_xy[p + stride] = s_xy[p] + s_xy[p + stride];
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
