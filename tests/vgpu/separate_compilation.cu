// test: with parts/separate_compilation_library.cu
// A program of two files with relocatable device code: functions, variables, constants and templates of one file used
// in the other, and names that both have for themselves.
#include <cstdio>

#include "parts/separate_compilation.cuh"

namespace {
__device__ int calls = 1000;  // the other file has its own
__device__ __noinline__ int helper(int x) {
  return x + 1;
}
__global__ void mark(int* at) {
  *at = 11;
}
}  // namespace

// Two functions of the other file and one of this file, called through the other file's table of pointers.
__device__ int negate_here(int x) {
  return -x;
}

__global__ void use_functions(int* y) {
  const int i = static_cast<int>(threadIdx.x);
  y[i] = library_square(helper(i)) + clamped<int>(i, 3, 5);
  atomicAdd(&calls, 1);
  atomicAdd(&library_calls, 1);
}

__global__ void use_table(int* y) {
  y[threadIdx.x] = library_table[threadIdx.x % 3](static_cast<int>(threadIdx.x));
}

__global__ void use_constants(float* y) {
  y[threadIdx.x] = library_weights[threadIdx.x] * 2;
}

__global__ void use_shared(int* y) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = library_read_shared(static_cast<int>(blockDim.x - 1 - threadIdx.x));
}

__global__ void read_own_calls(int* y) {
  *y = calls;
}

__global__ void count_managed() {
  atomicAdd(&library_managed, 2);
}

int main() {
  constexpr int n = 32;
  int* y = nullptr;
  float* weights = nullptr;
  cudaMallocManaged(&y, n * sizeof(int));
  cudaMallocManaged(&weights, 4 * sizeof(float));

  int wrong = 0;
  use_functions<<<1, n>>>(y);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) wrong += y[i] != (i + 1) * (i + 1) + (i < 3 ? 3 : i > 5 ? 5 : i);
  printf("functions of the other file: %d wrong\n", wrong);

  int library_count = 0;
  cudaMemcpyFromSymbol(&library_count, library_calls, sizeof library_count);
  read_own_calls<<<1, 1>>>(y);
  cudaDeviceSynchronize();
  printf("a variable of the other file: %d, one of the same name as another: %d\n", library_count, y[0]);

  wrong = 0;
  use_table<<<1, n>>>(y);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) wrong += y[i] != (i % 3 == 0 ? i * i : i % 3 == 1 ? i + 100 : -i);
  printf("function pointers across files: %d wrong\n", wrong);

  use_constants<<<1, 4>>>(weights);
  cudaDeviceSynchronize();
  printf("constants: %g %g %g %g\n", weights[0], weights[1], weights[2], weights[3]);
  const float others[4] = {8, 9, 10, 11};
  cudaMemcpyToSymbol(library_weights, others, sizeof others);
  use_constants<<<1, 4>>>(weights);
  cudaDeviceSynchronize();
  printf("after cudaMemcpyToSymbol: %g %g %g %g\n", weights[0], weights[1], weights[2], weights[3]);

  wrong = 0;
  use_shared<<<1, n, n * sizeof(int)>>>(y);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) wrong += y[i] != n - 1 - i;
  printf("one dynamic shared array for both files: %d wrong\n", wrong);

  library_managed = 40;
  count_managed<<<1, 1>>>();
  cudaDeviceSynchronize();
  printf("a managed variable of the other file: %d\n", library_managed);

  mark<<<1, 1>>>(y);
  cudaDeviceSynchronize();
  const int here = y[0];
  library_mark(y);
  printf("kernels of one name: %d here, %d there\n", here, y[0]);
  library_print();
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  cudaFree(y);
  cudaFree(weights);
  return 0;
}
