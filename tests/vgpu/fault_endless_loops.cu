// test: vgpu
// test: vgpu-run --max-warp-instructions 3000000
// test: runs halving zero stride
// Loops that do not end although they look as if they would: a stride that stays at 0 (the barrier in the loop is no
// deadlock), Collatz from 0, a grid-stride loop whose step is 0.
#include <cstdio>
#include <cstring>

__global__ void halving(int* x) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int d = blockDim.x / 2; d >= 0; d /= 2) {  // d > 0 was meant
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  x[threadIdx.x] = s[0];
}

__global__ void collatz(const int* start, int* steps) {
  long long n = start[threadIdx.x];
  int k = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++k;
  }
  steps[threadIdx.x] = k;
}

__global__ void strided(int* x, int n, int step) {
  for (int i = threadIdx.x; i < n; i += step) x[i] = i;
}

int main(int, char** argv) {
  const char* kind = argv[1];
  int h[64], *x, *y;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(y, 0, sizeof h);
  if (!strcmp(kind, "halving")) halving<<<1, 64>>>(x);
  if (!strcmp(kind, "zero")) collatz<<<1, 32>>>(x, y);
  if (!strcmp(kind, "stride")) strided<<<1, 32>>>(x, 64, h[0]);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
}
