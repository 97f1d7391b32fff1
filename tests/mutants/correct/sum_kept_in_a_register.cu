// expect: pass 03_double_buffer | a thread keeps its own sum in a register, and writes it for the others only

#include "scanlab.cuh"

template <Kind kind>
__device__ Element load(const Element* d_x, int t, int i, int n) {
  if (t < shift<kind>) return identity();
  if (i >= n) return identity();
  return d_x[i - shift<kind>];
}

template <Kind kind>
__global__ void kept(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s_even[section_size], s_odd[section_size];
  const int t = threadIdx.x, i = blockIdx.x * section_size + t;
  Element sum = load<kind>(d_x, t, i, n);
  Element* const s[2] = {s_even, s_odd};
#pragma unroll
  for (int level = 0; level < 10; ++level) {
    s[level % 2][t] = sum;
    __syncthreads();
    if (t >= 1 << level) sum = s[level % 2][t - (1 << level)] + sum;
  }
  if (i < n) d_y[i] = sum;
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  int blocks = n >> 10;
  blocks += (n & 1023) != 0;
  if (blocks) kept<kind><<<blocks, 1 << 10>>>(d_x, d_y, n);
}
