// Two launches that the device refuses, and no call asks for an error: what --check reports at the end.
// test: vgpu-run --check
// test: exit 4
// test: vgpu
#include <cstdio>

__global__ void count(int* d_y) {
  d_y[threadIdx.x] = threadIdx.x;
}

int main() {
  int *d_y, h_y;
  cudaMalloc(&d_y, 2048 * sizeof(int));
  cudaMemset(d_y, 0, 2048 * sizeof(int));
  count<<<1, 2048>>>(d_y);
  count<<<0, 32>>>(d_y);
  printf("synchronising tells nothing of it: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaMemcpy(&h_y, d_y + 1, sizeof(int), cudaMemcpyDeviceToHost);
  printf("y[1] = %d\n", h_y);
  cudaFree(d_y);
}
