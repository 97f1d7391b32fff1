// test: runs out_of_bounds misaligned assert trap
// A kernel that is stopped: not the launch fails, but the next call that waits, and then every call.
#include <cassert>
#include <cstring>

#include "show.hpp"

__global__ void out_of_bounds_kernel(int* x) {
  x[(size_t(1) << 40) + threadIdx.x] = 1;
}
__global__ void misaligned_kernel(int* x) {
  *(int*)((char*)x + 1) = 1;
}
__global__ void assert_kernel(int* x) {
  assert(*x == 12345);
}
__global__ void trap_kernel(int* x) {
  *x = 1;
  __trap();
}
__global__ void harmless_kernel(int* x) {
  *x = 7;
}

int main(int, char** argv) {
  const char* kind = argv[1];
  std::printf("-- %s\n", kind);
  int *d_x, *d_y, x = 0;
  cudaMalloc(&d_x, sizeof(int));
  cudaMemset(d_x, 0, sizeof(int));
  harmless_kernel<<<1, 1>>>(d_x);
  show("before", cudaDeviceSynchronize());
  if (!std::strcmp(kind, "out_of_bounds")) out_of_bounds_kernel<<<1, 32>>>(d_x);
  if (!std::strcmp(kind, "misaligned")) misaligned_kernel<<<1, 1>>>(d_x);
  if (!std::strcmp(kind, "assert")) assert_kernel<<<1, 1>>>(d_x);
  if (!std::strcmp(kind, "trap")) trap_kernel<<<1, 1>>>(d_x);
  show("launch", cudaGetLastError());
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("synchronise: %s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
  show("last error", cudaGetLastError());
  show("copy", cudaMemcpy(&x, d_x, sizeof x, cudaMemcpyDeviceToHost));
  show("allocation", cudaMalloc(&d_y, 4));
  harmless_kernel<<<1, 1>>>(d_x);
  show("another launch", cudaGetLastError());
  show("free", cudaFree(d_x));
  std::printf("x = %d\n", x);
  return 0;
}
