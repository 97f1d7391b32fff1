// expect: pass 05_coarsening | runs of 4 in an array of structs with operators, 256 threads, sums in a second struct

#include "scanlab.cuh"

constexpr int length = 4, threads = section_size / length;

struct Run {
  Element of[length];
  __device__ void scan() {
    of[1] = of[0] + of[1];
    of[2] = of[1] + of[2];
    of[3] = of[2] + of[3];
  }
  __device__ void operator+=(const Element& before) {
    for (Element& element : of) element = before + element;
  }
  __device__ const Element& sum() const { return of[length - 1]; }
};

template <Kind kind>
__global__ void by_fours(const Element* d_x, Element* d_y, int n) {
  __shared__ Run s_runs[threads];
  __shared__ Element s_sums[threads];
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  for (int p = t; p < section_size; p += threads) {
    s_runs[p / length].of[p % length] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  __syncthreads();
  Run mine = s_runs[t];
  mine.scan();
  s_sums[t] = mine.sum();
  for (int d = 1; d < threads; d *= 2) {
    __syncthreads();
    if (const int p = (t + 1) * 2 * d - 1; p < threads) s_sums[p] = s_sums[p - d] + s_sums[p];
  }
  for (int d = threads / 4; d > 0; d /= 2) {
    __syncthreads();
    if (const int p = (t + 1) * 2 * d - 1; p + d < threads) s_sums[p + d] = s_sums[p] + s_sums[p + d];
  }
  __syncthreads();
  if (t > 0) mine += s_sums[t - 1];
  s_runs[t] = mine;
  __syncthreads();
  for (int p = t; p < section_size; p += threads) {
    if (first + p < n) d_y[first + p] = s_runs[p / length].of[p % length];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) by_fours<kind><<<(n + section_size - 1) / section_size, threads>>>(d_x, d_y, n);
}
