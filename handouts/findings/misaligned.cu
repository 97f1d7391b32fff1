#include <cuda_runtime.h>

__global__ void two_at_once(const float* d_x, float* d_y) {
  const float2 pair = *reinterpret_cast<const float2*>(d_x + 2 * threadIdx.x + 1);
  d_y[threadIdx.x] = pair.x + pair.y;
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  two_at_once<<<1, 32>>>(d_x, d_y);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
