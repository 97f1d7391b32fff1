#include <cuda_runtime.h>

__global__ void copy(const float* d_x, float* d_y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  d_y[i] = d_x[i];
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  copy<<<2, 128>>>(d_x, d_y, 200);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
