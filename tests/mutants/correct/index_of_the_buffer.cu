// expect: pass 03_double_buffer | one flat array for both buffers, the place in it toggled by an exclusive or

#include "scanlab.cuh"

template <Kind kind>
__global__ void toggled(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s[2 * section_size];
  const unsigned t = threadIdx.x;
  const int i = int(blockIdx.x * blockDim.x + t);
  unsigned at = t;
  s[at] = t >= unsigned(shift<kind>) && i < n ? d_x[i - shift<kind>] : identity();
#pragma unroll 1
  for (unsigned stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    s[at ^ section_size] = t >= stride ? s[at - stride] + s[at] : s[at];
    at ^= section_size;
  }
  if (i < n) d_y[i] = s[at];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) toggled<kind><<<(n + section_size - 1) / section_size, section_size>>>(d_x, d_y, n);
}
