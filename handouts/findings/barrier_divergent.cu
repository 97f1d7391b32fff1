#include <cuda_runtime.h>

__global__ void quarter_of_the_block(const float* d_x, float* d_y) {
  __shared__ float s_x[64];
  const int t = threadIdx.x;
  s_x[t] = d_x[t];
  if (t < 16) {
    __syncthreads();
    d_y[t] = s_x[t] + s_x[63 - t];
  } else {
    d_y[t] = s_x[t];
    __syncthreads();
  }
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  quarter_of_the_block<<<1, 64>>>(d_x, d_y);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
