#include <cuda_runtime.h>

__global__ void copy(const float* d_x, float* d_y) {
  d_y[threadIdx.x] = d_x[threadIdx.x];
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  copy<<<1, 2048>>>(d_x, d_y);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
