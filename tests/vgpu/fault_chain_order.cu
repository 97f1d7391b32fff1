// test: vgpu
// test: schedules reversed
// A chained scan that numbers its tiles by blockIdx.x. It works while blocks start in order; where they do not, all
// places of the device are taken by blocks that wait for one that has no place. With a number from a counter it ends.
#include <cstdio>

__global__ void __launch_bounds__(1024) chained(volatile int* sums, volatile int* ready, int* counter) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = counter ? atomicAdd(counter, 1) : blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    int before = 0;
    if (tile > 0) {
      while (ready[tile - 1] == 0) {
      }
      __threadfence();
      before = sums[tile - 1];
    }
    sums[tile] = before + tile;
    __threadfence();
    ready[tile] = 1;
  }
}

int main() {
  const int blocks = 3000;
  int *sums, *ready, *counter, last;
  cudaMalloc(&sums, blocks * sizeof(int));
  cudaMalloc(&ready, blocks * sizeof(int));
  cudaMalloc(&counter, sizeof(int));
  cudaMemset(counter, 0, sizeof(int));
  cudaMemset(ready, 0, blocks * sizeof(int));
  chained<<<blocks, 1024>>>(sums, ready, counter);
  cudaMemcpy(&last, sums + blocks - 1, sizeof last, cudaMemcpyDeviceToHost);
  printf("counter: %d\n", last);
  cudaMemset(ready, 0, blocks * sizeof(int));
  chained<<<blocks, 1024>>>(sums, ready, nullptr);
  printf("blockIdx.x: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
