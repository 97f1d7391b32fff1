#include <cuda_runtime.h>

__global__ void square(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
}

int main() {
  const int n = 1000;
  float *x, sum = 0;
  cudaMallocManaged(&x, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = 2;

  square<<<(n + 255) / 256, 256>>>(x, n);
  for (int i = 0; i < n; ++i) sum += x[i];

  cudaFree(x);
  return sum == 0;
}
