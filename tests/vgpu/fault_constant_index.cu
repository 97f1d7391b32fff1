// test: vgpu
// test: runs above below parameter
// Indices beyond constant memory: past the last coefficient, before the first, and past an array inside of a parameter.
#include <cstdio>
#include <cstring>

__constant__ float coefficients[5];

__global__ void filter(const float* x, float* y, int radius) {
  float sum = 0;
  for (int k = -radius; k <= radius; ++k) sum += coefficients[radius + k] * x[threadIdx.x];
  y[threadIdx.x] = sum;
}
__global__ void before(float* y, int k) {
  y[threadIdx.x] = coefficients[k - int(threadIdx.x)];
}

struct Options {
  int values[6];
};
__global__ void choose(const Options o, int k, int* out) {
  out[threadIdx.x] = o.values[k + threadIdx.x];
}

int main(int, char** argv) {
  const char* kind = argv[1];
  float* x;
  cudaMalloc(&x, 128);
  cudaMemset(x, 0, 128);
  if (!strcmp(kind, "above")) {
    filter<<<1, 8>>>(x, x, 2);
    printf("five: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    filter<<<1, 8>>>(x, x, 3);
  }
  if (!strcmp(kind, "below")) before<<<1, 8>>>(x, 4);
  if (!strcmp(kind, "parameter")) choose<<<1, 8>>>(Options{}, 1000, (int*)x);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
