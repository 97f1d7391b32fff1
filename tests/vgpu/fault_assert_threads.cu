// test: runs first none late
// Assertions: one that some threads miss, one that all keep, one after a barrier in a function called from the kernel.
#include <cassert>
#include <cstdio>
#include <cstring>

__device__ int checked_divide(int a, int b) {
  assert(b != 0);
  return a / b;
}

__global__ void divide(const int* a, const int* b, int* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = checked_divide(a[i], b[i]);
}

__global__ void late(int* data) {
  __shared__ int s[64];
  s[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
    assert(s[0] < 60);
    __syncthreads();
  }
  data[threadIdx.x] = s[0];
}

int main(int, char** argv) {
  int h[64], *a, *b, *c;
  for (int i = 0; i < 64; ++i) h[i] = i + 1;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMalloc(&c, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  if (!strcmp(argv[1], "first")) h[40] = 0;
  cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice);
  for (int& v : h) v = 1;
  if (!strcmp(argv[1], "late"))
    late<<<1, 64>>>((cudaMemcpy(c, h, sizeof h, cudaMemcpyHostToDevice), c));
  else
    divide<<<2, 32>>>(a, b, c);
  const cudaError_t error = cudaDeviceSynchronize();
  printf("%s: %s, %s\n", argv[1], cudaGetErrorName(error), cudaGetErrorString(error));
  printf("malloc: %s\n", cudaGetErrorName(cudaMalloc(&a, 4)));
}
