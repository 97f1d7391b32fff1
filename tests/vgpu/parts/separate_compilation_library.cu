// The second file of ../separate_compilation.cu.
#include <cstdio>

#include "separate_compilation.cuh"

namespace {
__device__ int calls = 7;  // the other file has its own
__device__ __noinline__ int helper(int x) {
  return x * x;
}
__device__ int add_hundred(int x) {
  return x + 100;
}
__global__ void mark(int* at) {
  *at = 22;
}
__global__ void print() {
  printf("from the library: %d calls of its own, %d clamped\n", calls, clamped<int>(9, 3, 5));
}
}  // namespace

__device__ int library_calls = 0;
__constant__ float library_weights[4] = {0.5f, 1, 1.5f, 2};
__managed__ int library_managed = 1;

__device__ int library_square(int x) {
  return helper(x);
}
__device__ int library_read_shared(int i) {
  extern __shared__ int buffer[];
  return buffer[i];
}
__device__ Operation library_table[3] = {library_square, add_hundred, negate_here};

void library_mark(int* at) {
  mark<<<1, 1>>>(at);
  cudaDeviceSynchronize();
}

void library_print() {
  print<<<1, 1>>>();
  cudaDeviceSynchronize();
}
