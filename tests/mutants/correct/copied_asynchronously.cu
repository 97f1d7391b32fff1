// expect: pass 02_kogge_stone | the load is __pipeline_memcpy_async; barriers that count and vote where a plain one
// does

#include <cuda_pipeline.h>

#include "scanlab.cuh"

template <Kind kind>
__global__ void section(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s[section_size];
  const int t = threadIdx.x, i = blockIdx.x * section_size + t;
  const bool has_one = t >= shift<kind> && i < n;
  if (has_one) {
    __pipeline_memcpy_async(&s[t], &d_x[i - shift<kind>], sizeof(Element));
  } else {
    s[t] = identity();
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  int stride = 1;
  do {
    __syncthreads();
    const Element own = s[t], sum = t < stride ? own : s[t - stride] + own;
    __syncthreads();
    s[t] = sum;
  } while ((stride *= 2) < section_size);
  if (i < n) d_y[i] = s[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  section<kind><<<(n - 1) / section_size + 1, section_size>>>(d_x, d_y, n);
}
