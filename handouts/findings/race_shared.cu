#include <cuda_runtime.h>

__global__ void kogge_stone(const float* d_x, float* d_y) {
  __shared__ float s_xy[128];
  const int t = threadIdx.x;
  s_xy[t] = d_x[t];
  for (int stride = 1; stride < 128; stride *= 2) {
    __syncthreads();
    float sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;
    s_xy[t] = sum;
  }
  d_y[t] = s_xy[t];
}

int main() {
  float *d_x, *d_y, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  kogge_stone<<<1, 128>>>(d_x, d_y);
  cudaMemcpy(x, d_y, sizeof x, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  cudaFree(d_y);
}
