#include <cuda_runtime.h>

int main() {
  float *d_x, *d_y, x[128] = {1};
  cudaMalloc(&d_x, sizeof x);
  cudaMalloc(&d_y, sizeof x);
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);

  cudaMemcpy(d_y, d_x, sizeof x, cudaMemcpyHostToDevice);

  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
  return x[0] != 1;
}
