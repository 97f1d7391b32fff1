// expect: pass 05_coarsening | runs are summed up first, then scanned from what is before them; 64 threads, runs of 16

#include "scanlab.cuh"

constexpr int length = 16;
constexpr int threads = section_size / length;

template <Kind kind>
__global__ void reduce_then_scan(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s[section_size + threads], s_sums[threads];
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  const auto padded = [](int p) { return p + p / length; };
  for (int p = t; p < section_size; p += threads) {
    s[padded(p)] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  __syncthreads();
  Element sum = s[padded(t * length)];
  for (int k = 1; k < length; ++k) sum = sum + s[padded(t * length + k)];
  s_sums[t] = sum;
  for (int d = 1; d < threads; d *= 2) {
    __syncthreads();
    if (t >= d) sum = s_sums[t - d] + sum;
    __syncthreads();
    s_sums[t] = sum;
  }
  __syncthreads();
  Element running = s[padded(t * length)];
  if (t > 0) running = s_sums[t - 1] + running;
  for (int k = 0;;) {
    s[padded(t * length + k)] = running;
    if (++k == length) break;
    running = running + s[padded(t * length + k)];
  }
  __syncthreads();
  for (int p = t; p < section_size && first + p < n; p += threads) d_y[first + p] = s[padded(p)];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  const int blocks = (n + section_size - 1) / section_size;
  if (blocks) reduce_then_scan<kind><<<blocks, threads>>>(d_x, d_y, n);
}
