// expect: pass 04_brent_kung | the levels of both trees stand in a table in constant memory; one loop runs through it

#include "scanlab.cuh"

struct Level {
  short stride, ahead;  // how far the target lies behind the subtree's last place
};

__constant__ Level levels[19] = {{1, 0},   {2, 0},   {4, 0},   {8, 0},   {16, 0},  {32, 0}, {64, 0},
                                 {128, 0}, {256, 0}, {512, 0}, {256, 1}, {128, 1}, {64, 1}, {32, 1},
                                 {16, 1},  {8, 1},   {4, 1},   {2, 1},   {1, 1}};

template <Kind kind>
__global__ __launch_bounds__(512) void trees(const Element* __restrict__ d_x, Element* __restrict__ d_y, int n) {
  __shared__ Element s[section_size];
  const int t = threadIdx.x, base = blockIdx.x << 10;
  for (int p : {t, t + 512}) {
    const int from = base + p - shift<kind>;
    s[p] = p < shift<kind> || base + p >= n ? identity() : d_x[from];
  }
  for (int k = 0; k < 19; ++k) {
    const Level level = levels[k];
    const int right = ((t + 1) * 2 + level.ahead) * level.stride - 1;
    __syncthreads();
    if (right < section_size) s[right] = s[right - level.stride] + s[right];
  }
  __syncthreads();
  if (base + t < n) d_y[base + t] = s[t];
  if (base + t + 512 < n) d_y[base + t + 512] = s[t + 512];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) trees<kind><<<(n + 1023) / 1024, 512>>>(d_x, d_y, n);
}
