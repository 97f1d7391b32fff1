// A stencil of seven points: planes in shared memory with their halo, marching through z with the neighbours above and
// below in registers; several steps, two arrays in turn. Then a one-dimensional stencil of template radius.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BX 8
#define BY 6
#define IDX(x, y, z) (((z)*ny + (y)) * nx + (x))

__global__ void seven_points(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
  __shared__ float plane[BY + 2][BX + 2];
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  const bool inside = x < nx && y < ny;
  float below = 0, here = inside ? in[IDX(x, y, 0)] : 0;
  for (int z = 0; z < nz; z++) {
    const float above = inside && z + 1 < nz ? __ldg(&in[IDX(x, y, z + 1)]) : 0;
    plane[ty][tx] = here;
    if (threadIdx.x == 0) plane[ty][0] = x > 0 && y < ny ? in[IDX(x - 1, y, z)] : 0;
    if (threadIdx.x == BX - 1) plane[ty][BX + 1] = x + 1 < nx && y < ny ? in[IDX(x + 1, y, z)] : 0;
    if (threadIdx.y == 0) plane[0][tx] = y > 0 && x < nx ? in[IDX(x, y - 1, z)] : 0;
    if (threadIdx.y == BY - 1) plane[BY + 1][tx] = y + 1 < ny && x < nx ? in[IDX(x, y + 1, z)] : 0;
    __syncthreads();
    if (inside)
      out[IDX(x, y, z)] = 0.5f * here + 0.0625f * (plane[ty][tx - 1] + plane[ty][tx + 1]) +
                          0.125f * (plane[ty - 1][tx] + plane[ty + 1][tx]) + 0.03125f * (below + above);
    __syncthreads();
    below = here;
    here = above;
  }
}

static float at(const float* a, int x, int y, int z, int nx, int ny, int nz) {
  return x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz ? 0 : a[IDX(x, y, z)];
}

static void test(int nx, int ny, int nz) {
  const int n = nx * ny * nz;
  const size_t bytes = n * sizeof(float);
  float *a = (float*)malloc(bytes), *b = (float*)malloc(bytes), *r = (float*)malloc(bytes), *d[2];
  // Multiples of 2^15 below 2^21: three steps of weights down to 2^-5 stay exact in 24 bits.
  for (int i = 0; i < n; i++) a[i] = (float)((i * 37 % 64) << 15);
  cudaMalloc((void**)&d[0], bytes);
  cudaMalloc((void**)&d[1], bytes);
  cudaMemcpy(d[0], a, bytes, cudaMemcpyHostToDevice);
  for (int step = 0; step < 3; step++) {
    seven_points<<<dim3((nx + BX - 1) / BX, (ny + BY - 1) / BY), dim3(BX, BY)>>>(d[step % 2], d[(step + 1) % 2], nx, ny,
                                                                                 nz);
    for (int z = 0; z < nz; z++)
      for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++)
#define A(dx, dy, dz) at(a, x + dx, y + dy, z + dz, nx, ny, nz)
          b[IDX(x, y, z)] = 0.5f * A(0, 0, 0) + 0.0625f * (A(-1, 0, 0) + A(1, 0, 0)) +
                            0.125f * (A(0, -1, 0) + A(0, 1, 0)) + 0.03125f * (A(0, 0, -1) + A(0, 0, 1));
    memcpy(a, b, bytes);
  }
  cudaMemcpy(r, d[1], bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += r[i] != a[i];
  printf("%d x %d x %d: %d wrong\n", nx, ny, nz, wrong);
  cudaFree(d[0]);
  cudaFree(d[1]);
  free(a);
  free(b);
  free(r);
}

template <int R>
__global__ void ring(const int* in, int* out, int n) {
  extern __shared__ int s[];
  const int first = blockIdx.x * blockDim.x;
  for (int k = threadIdx.x; k < blockDim.x + 2 * R; k += blockDim.x) s[k] = in[(first + k - R + n) % n];
  __syncthreads();
  int sum = 0;
#pragma unroll
  for (int d = -R; d <= R; d++) sum += (d + R + 1) * s[threadIdx.x + R + d];
  if (first + threadIdx.x < n) out[first + threadIdx.x] = sum;
}

template <int R>
static void test_ring(int n, int threads) {
  int h[1000], r[1000], *in, *out, wrong = 0;
  for (int i = 0; i < n; i++) h[i] = i * i % 19;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, h, n * sizeof(int), cudaMemcpyHostToDevice);
  ring<R><<<(n + threads - 1) / threads, threads, (threads + 2 * R) * sizeof(int)>>>(in, out, n);
  cudaMemcpy(r, out, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int d = -R; d <= R; d++) sum += (d + R + 1) * h[(i + d + n) % n];
    wrong += r[i] != sum;
  }
  printf("ring of %d, radius %d: %d wrong\n", n, R, wrong);
  cudaFree(in);
  cudaFree(out);
}

int main(void) {
  test(1, 1, 1);
  test(8, 6, 5);
  test(17, 13, 4);
  test(5, 29, 2);
  test_ring<0>(10, 32);
  test_ring<3>(999, 128);
  test_ring<40>(300, 33);
  return cudaDeviceSynchronize();
}
