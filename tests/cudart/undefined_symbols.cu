// test: vgpu
// A program whose device code lacks a part: kernels that need it are refused with its name, the others run.
#include <cstdio>

extern __device__ int elsewhere(int x);

__global__ void needs_it(int* x) {
  *x = elsewhere(*x);
}
__global__ void does_not(int* x) {
  *x = 5;
}

int main() {
  int *x = nullptr, value = 0;
  cudaMalloc(&x, sizeof(int));
  cudaMemset(x, 0, sizeof(int));
  needs_it<<<1, 1>>>(x);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  does_not<<<1, 1>>>(x);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost);
  std::printf("%d\n", value);
  cudaFree(x);
  return 0;
}
