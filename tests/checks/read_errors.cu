// Launches that the device refuses, in programs that notice: --check finds no mistake in them.
// test: vgpu-run --check
// test: vgpu
#include <cstdio>

__global__ void count(int* d_y) {
  d_y[threadIdx.x] = threadIdx.x;
}

int main() {
  int* d_y;
  cudaMalloc(&d_y, 2048 * sizeof(int));
  count<<<1, 2048>>>(d_y);
  printf("asked for: %s\n", cudaGetErrorName(cudaGetLastError()));
  count<<<1, 2048>>>(d_y);
  count<<<1, 1024>>>(d_y);
  printf("looked at later: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
  void* arguments[] = {&d_y};
  printf("returned: %s\n", cudaGetErrorName(cudaLaunchKernel(count, 1, 4096, arguments, 0, nullptr)));
  cudaFree(d_y);
}
