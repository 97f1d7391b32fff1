#include <cuda_runtime.h>

__global__ void sum_of_a_warp(const float* d_x, float* d_y) {
  __shared__ float s_sums[32];
  const int lane = threadIdx.x;
  s_sums[lane] = d_x[lane];
  for (int distance = 16; distance > 0; distance /= 2) {
    if (lane < distance) s_sums[lane] = s_sums[lane] + s_sums[lane + distance];
  }
  if (lane == 0) d_y[0] = s_sums[0];
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  sum_of_a_warp<<<1, 32>>>(d_x, d_y);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
