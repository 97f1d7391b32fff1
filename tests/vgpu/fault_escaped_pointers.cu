// test: vgpu
// Addresses that leave the place where they mean something. Local memory: the same address is another thread's own
// memory there, as on a GPU, and no fault. Shared memory: a later launch that has none is stopped.
#include <cstdio>

__device__ __noinline__ int look(const int* a, int k) {
  return a[k];
}

__global__ void lend(int** slot, int* out, int k) {
  int mine[8];
  for (int i = 0; i < 8; ++i) mine[i] = 100 * threadIdx.x + i;
  if (threadIdx.x == 0) *slot = mine;
  __syncthreads();
  out[threadIdx.x] = look(*(int* volatile*)slot, k) - look(mine, k);
}

__global__ void keep(int** slot) {
  __shared__ int s[16];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *slot = s;
}
__global__ void use(int** slot, int* out) {
  *out = **slot;
}

int main() {
  int **slot, *out, h[32], different = 0;
  cudaMalloc(&slot, sizeof *slot);
  cudaMalloc(&out, sizeof h);
  lend<<<1, 32>>>(slot, out, 3);
  printf("local: %s", cudaGetErrorName(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)));
  for (int v : h) different += v != 0;
  printf(", %d differ\n", different);
  keep<<<1, 16>>>(slot);
  use<<<1, 1>>>(slot, out);
  printf("shared: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
