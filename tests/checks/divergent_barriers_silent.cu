// Barriers that all threads of a warp reach at one line, or that are meant for a part of the block: nothing to be said.
// test: vgpu-run --check
// test: vgpu
#include <cooperative_groups.h>

#include <cstdio>

constexpr int block = 128;

__global__ void branch_of_the_block(int* d_y, int n) {
  if (n > 0) __syncthreads();
  d_y[threadIdx.x] = n;
  for (int k = 0; k < n; ++k) __syncthreads();
}

// Warps with roles: each stands at a line of its own.
__global__ void roles(int* d_y) {
  __shared__ int s_sum;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) s_sum = 5;
    __syncthreads();
  } else {
    __syncthreads();
    d_y[threadIdx.x] += s_sum;
  }
}

__global__ void idle_threads_leave(int* d_y) {
  if (threadIdx.x >= 96) return;
  __syncthreads();
  d_y[threadIdx.x] += 1;
}

__device__ void wait_for_all() {
  __syncthreads();
}

__global__ void one_line_two_calls(int* d_y) {
  wait_for_all();
  d_y[threadIdx.x] += __syncthreads_count(threadIdx.x < 10);
  cooperative_groups::this_thread_block().sync();
  wait_for_all();
}

int main() {
  int *d_y, h_y[block];
  cudaMalloc(&d_y, sizeof h_y);
  branch_of_the_block<<<1, block>>>(d_y, 3);
  roles<<<1, block>>>(d_y);
  idle_threads_leave<<<1, block>>>(d_y);
  one_line_two_calls<<<1, block>>>(d_y);
  cudaMemcpy(h_y, d_y, sizeof h_y, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", h_y[0], h_y[95], h_y[127]);
  cudaFree(d_y);
}
