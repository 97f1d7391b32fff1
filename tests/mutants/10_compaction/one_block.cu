// expect: fail busiest_block cost.busiest_block | right, but one block takes tile after tile and carries the number on

#include "scanlab.cuh"

constexpr int tile = 1024;

__device__ int scan_row(int count) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const int earlier = __shfl_up_sync(0xffffffff, count, distance);
    if (threadIdx.x % 32 >= distance) count += earlier;
  }
  return count;
}

// Moves the kept elements, or the others, to d_y[begin] and on; returns how many elements these and those before are.
__device__ int move(const Element* d_x, Element* d_y, int begin, bool others, int n) {
  __shared__ int s_sums[32];
  const int t = threadIdx.x;
  for (int first = 0; first < n; first += tile) {
    const int i = first + t;
    const Element x = i < n ? d_x[i] : identity();
    const bool flag = i < n && keep(x) != others;
    const int count = scan_row(flag);
    if (t % 32 == 31) s_sums[t / 32] = count;
    __syncthreads();
    if (t < 32) s_sums[t] = scan_row(s_sums[t]);
    __syncthreads();
    const int place = begin + count - 1 + (t < 32 ? 0 : s_sums[t / 32 - 1]);
    if (flag) d_y[place] = x;
    begin += s_sums[31];
    __syncthreads();
  }
  return begin;
}

__global__ void move_kernel(const Element* d_x, Element* d_y, int* d_kept, int n, bool moves_others) {
  const int kept = move(d_x, d_y, 0, false, n);
  if (threadIdx.x == 0) *d_kept = kept;
  if (moves_others) move(d_x, d_y, kept, true, n);
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  move_kernel<<<1, tile>>>(d_x, d_y, d_kept, n, false);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  move_kernel<<<1, tile>>>(d_x, d_y, d_kept, n, true);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
