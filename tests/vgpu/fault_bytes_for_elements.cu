// test: vgpu
// cudaMalloc(&d, n) where n * sizeof(float) was meant: a quarter of the array is there. The copy is refused first; a
// program that does not look at its error meets the fault in the kernel.
#include <stdio.h>
#include <stdlib.h>

__global__ void scale(float* x, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f;
}

int main(void) {
  const int n = 32;
  float h[n], *d;
  for (int i = 0; i < n; i++) h[i] = i;
  cudaMalloc((void**)&d, n);
  printf("copy: %s\n", cudaGetErrorString(cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice)));
  scale<<<1, n>>>(d, n);
  printf("launch: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
  printf("end: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return EXIT_SUCCESS;
}
