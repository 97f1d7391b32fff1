#include <cuda_runtime.h>

int main() {
  float *d_x, x[128] = {1};
  cudaMalloc(&d_x, sizeof x);
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);

  // moves all elements by one place
  cudaMemcpy(d_x + 1, d_x, sizeof x - sizeof(float), cudaMemcpyDeviceToDevice);

  cudaMemcpy(x, d_x, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  return x[1] != 1;
}
