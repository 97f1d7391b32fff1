// expect: pass 05_coarsening | a block is one warp: a lane's run is a padded row of shared memory, and no __syncthreads

#include "scanlab.cuh"

constexpr int lanes = 32;
constexpr int run = section_size / lanes;

struct Rows {
  Element row[lanes][run + 1];  // one more, so that the lanes of a warp use different banks
  Element sum[lanes];
};

// Ladner-Fischer: in step d, the upper half of each group of 2d lanes adds the last sum of the lower half.
__device__ void scan_sums(Element* s_sum, int lane) {
#pragma unroll
  for (int d = 1; d < lanes; d *= 2) {
    const int last_of_lower = (lane & ~(2 * d - 1)) + d - 1;
    if (lane & d) s_sum[lane] = s_sum[last_of_lower] + s_sum[lane];
    __syncwarp();
  }
}

template <Kind kind>
__global__ void __launch_bounds__(lanes) warp_kernel(const Element* d_x, Element* d_y, int n) {
  __shared__ Rows s;
  const int lane = threadIdx.x, first = blockIdx.x * section_size;

  for (int k = 0; k < run; ++k) {  // lane k's row, read side by side
    const int p = k * run + lane;
    s.row[k][lane] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  __syncwarp();

  Element sum = s.row[lane][0];
  for (int k = 1; k < run; ++k) sum = s.row[lane][k] = sum + s.row[lane][k];
  s.sum[lane] = sum;
  __syncwarp();
  scan_sums(s.sum, lane);

  if (lane > 0) {
    const Element before = s.sum[lane - 1];
    for (int k = 0; k < run; ++k) s.row[lane][k] = before + s.row[lane][k];
  }
  __syncwarp();

  for (int k = 0; k < run; ++k) {
    const int i = first + k * run + lane;
    if (i < n) d_y[i] = s.row[k][lane];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  warp_kernel<kind><<<(n + section_size - 1) / section_size, lanes>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
