// Barriers that not all threads of a warp reach at the same line: the block goes on, and --check names both lines.
// test: vgpu-run --check
// test: exit 4
// test: vgpu
#include <cstdio>

constexpr int block = 64;

__global__ void both_branches(int* d_y) {
  if (threadIdx.x % 2 == 0) {
    d_y[threadIdx.x] = 1;
    __syncthreads();
  } else {
    d_y[threadIdx.x] = 2;
    __syncthreads();
  }
}

__global__ void as_often_as_its_index(int* d_y) {
  for (int k = 0; k < int(threadIdx.x % 2); ++k) {
    d_y[threadIdx.x] += k;
    __syncthreads();
  }
  d_y[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x % 2 == 0) {
    d_y[threadIdx.x] += 1;
    __syncthreads();
  }
}

int main() {
  int *d_y, h_y[block];
  cudaMalloc(&d_y, sizeof h_y);
  both_branches<<<1, block>>>(d_y);
  as_often_as_its_index<<<1, block>>>(d_y);
  cudaMemcpy(h_y, d_y, sizeof h_y, cudaMemcpyDeviceToHost);
  printf("%d %d\n", h_y[0], h_y[1]);
  cudaFree(d_y);
}
