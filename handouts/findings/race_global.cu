#include <cuda_runtime.h>

__global__ void add_the_block_before(const float* d_x, float* d_y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  d_y[i] = d_x[i];
  if (blockIdx.x > 0) d_y[i] = d_y[blockIdx.x * blockDim.x - 1] + d_y[i];
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  add_the_block_before<<<2, 64>>>(d_x, d_y);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
