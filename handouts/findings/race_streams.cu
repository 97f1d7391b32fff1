#include <cuda_runtime.h>

__global__ void fill(float* d_x) {
  d_x[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

__global__ void twice(const float* d_x, float* d_y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  d_y[i] = 2 * d_x[i];
}

int main() {
  float *d_x, *d_y, y[128];
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMalloc(&d_y, 128 * sizeof(float));
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  cudaEvent_t filled;
  cudaEventCreate(&filled);

  cudaEventRecord(filled, first);
  fill<<<2, 64, 0, first>>>(d_x);
  cudaStreamWaitEvent(second, filled, 0);
  twice<<<2, 64, 0, second>>>(d_x, d_y);

  cudaMemcpy(y, d_y, sizeof y, cudaMemcpyDeviceToHost);
  cudaEventDestroy(filled);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  cudaFree(d_x);
  cudaFree(d_y);
}
