#include <cuda_runtime.h>

__global__ void count_positive(const float* d_x, int* d_count) {
  if (d_x[threadIdx.x] > 0) atomicAdd(d_count, 1);
}

int main() {
  float *d_x, x[128];
  for (int i = 0; i < 128; ++i) x[i] = 1;
  cudaMalloc(&d_x, 128 * sizeof(float));
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  int* d_count;
  cudaMalloc(&d_count, sizeof(int));
  count_positive<<<1, 128>>>(d_x, d_count);
  int count;
  cudaMemcpy(&count, d_count, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(d_x);
}
