// test: vgpu
// cudaDeviceReset clears a sticky error: allocations are gone, and variables have their first values again.
#include "show.hpp"

__device__ int counter = 5;
__global__ void count() {
  ++counter;
}
__global__ void out_of_bounds_kernel(int* x) {
  x[4] = 1;
}

int main() {
  int *d_x, value = 0;
  cudaMalloc(&d_x, 4 * sizeof(int));
  count<<<1, 1>>>();
  cudaMemcpyFromSymbol(&value, counter, sizeof value);
  std::printf("counter = %d\n", value);
  out_of_bounds_kernel<<<1, 1>>>(d_x);
  count<<<1, 1>>>();
  show("launch", cudaGetLastError());
  show("copy", cudaMemcpy(&value, d_x, sizeof value, cudaMemcpyDeviceToHost));
  show("reset", cudaDeviceReset());
  show("last error", cudaGetLastError());
  show("free what the reset freed", cudaFree(d_x));
  count<<<1, 1>>>();
  show("copy from symbol", cudaMemcpyFromSymbol(&value, counter, sizeof value));
  std::printf("counter = %d\n", value);
  return 0;
}
