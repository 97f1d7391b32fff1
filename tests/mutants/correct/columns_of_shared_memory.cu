// expect: pass 05_coarsening | run k's elements stand in column k of shared memory; the first warp scans the sums in
// turns

#include "scanlab.cuh"

constexpr int height = 8, width = section_size / height;

template <Kind kind>
__global__ void columns(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s[height][width + 1], s_sum[width];
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  for (int row = 0; row < height; ++row) {
    const int p = row * width + t, i = first + p;
    s[p % height][p / height] = p >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }
  __syncthreads();
  Element sum = s[0][t];
  for (int k = 1; k < height; ++k) s[k][t] = sum = sum + s[k][t];
  s_sum[t] = sum;
  __syncthreads();
  if (t < 32) {  // four sums a lane, then a scan of the warp's lanes in shared memory
    Element part[4];
    part[0] = s_sum[4 * t];
    for (int k = 1; k < 4; ++k) part[k] = part[k - 1] + s_sum[4 * t + k];
    __syncwarp();
    s_sum[4 * t + 3] = part[3];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
      Element both = s_sum[4 * t + 3];
      if (t >= d) both = s_sum[4 * (t - d) + 3] + both;
      __syncwarp();
      s_sum[4 * t + 3] = both;
      __syncwarp();
    }
    const bool has_left = t > 0;
    const Element left = has_left ? s_sum[4 * t - 1] : identity();
    for (int k = 0; k < 3; ++k) s_sum[4 * t + k] = has_left ? left + part[k] : part[k];
  }
  __syncthreads();
  if (t > 0) {
    const Element before = s_sum[t - 1];
    for (int k = 0; k < height; ++k) s[k][t] = before + s[k][t];
  }
  __syncthreads();
  for (int row = 0; row < height; ++row) {
    const int p = row * width + t;
    if (first + p < n) d_y[first + p] = s[p % height][p / height];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  columns<kind><<<(n - 1) / section_size + 1, width>>>(d_x, d_y, n);
}
