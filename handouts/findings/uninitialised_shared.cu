#include <cuda_runtime.h>

__global__ void sum_of_pairs(const float* d_x, float* d_y, int n) {
  __shared__ float s_x[128];
  const int t = threadIdx.x;
  if (t < n) s_x[t] = d_x[t];
  __syncthreads();
  if (t < 64) d_y[t] = s_x[2 * t] + s_x[2 * t + 1];
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  sum_of_pairs<<<1, 128>>>(d_x, d_y, 99);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
