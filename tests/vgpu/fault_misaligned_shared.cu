// test: runs shared atomic store
// Several types carved from one buffer in the wrong order: the doubles begin at an odd multiple of 4.
#include <cstdio>
#include <cstring>

extern __shared__ char buffer[];

__global__ void carve(int n, double* out) {
  int* indices = (int*)buffer;
  double* values = (double*)(indices + n);  // n is odd
  indices[threadIdx.x] = threadIdx.x;
  __syncthreads();
  values[threadIdx.x] = indices[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[n - 1 - threadIdx.x];
}

__global__ void count(char* header) {
  atomicAdd((unsigned long long*)(header + 12), 1ull);
}

__global__ void store(char* packet) {
  *(short*)(packet + threadIdx.x * 3) = 1;  // records of three bytes
}

int main(int, char** argv) {
  double* out;
  cudaMalloc(&out, 64 * sizeof(double));
  cudaMemset(out, 0, 64 * sizeof(double));
  if (!strcmp(argv[1], "shared")) {
    carve<<<1, 2, 1024>>>(2, out);
    printf("two: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    carve<<<1, 3, 1024>>>(3, out);
  }
  if (!strcmp(argv[1], "atomic")) count<<<1, 32>>>((char*)out);
  if (!strcmp(argv[1], "store")) store<<<1, 32>>>((char*)out);
  printf("%s: %s\n", argv[1], cudaGetErrorName(cudaDeviceSynchronize()));
}
