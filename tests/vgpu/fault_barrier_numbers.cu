// test: vgpu
// test: runs crossed short missing
// Numbered barriers used wrongly, each a hang on a GPU: two groups of warps take them in opposite order, a count that
// is never reached, a consumer that waits for one tile more than the producer makes.
#include <cstdio>
#include <cstring>

#define BAR_SYNC(id, count) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(count) : "memory")
#define BAR_ARRIVE(id, count) asm volatile("bar.arrive %0, %1;" ::"n"(id), "n"(count) : "memory")

__global__ void crossed() {
  if (threadIdx.x < 64) {
    BAR_SYNC(1, 128);
    BAR_SYNC(2, 128);
  } else {
    BAR_SYNC(2, 128);
    BAR_SYNC(1, 128);
  }
}

__global__ void short_of_one() {
  if (threadIdx.x < 96) BAR_SYNC(3, 128);
}

__global__ void missing(int tiles, int* out) {
  __shared__ int tile[32];
  if (threadIdx.x < 32) {
    for (int t = 0; t < tiles; ++t) {
      tile[threadIdx.x] = t;
      BAR_ARRIVE(1, 64);
      BAR_SYNC(2, 64);
    }
  } else {
    for (int t = 0; t <= tiles; ++t) {
      BAR_SYNC(1, 64);
      out[threadIdx.x - 32] += tile[threadIdx.x - 32];
      BAR_ARRIVE(2, 64);
    }
  }
}

int main(int, char** argv) {
  int* out;
  cudaMalloc(&out, 128);
  cudaMemset(out, 0, 128);
  if (!strcmp(argv[1], "crossed")) crossed<<<1, 128>>>();
  if (!strcmp(argv[1], "short")) short_of_one<<<1, 128>>>();
  if (!strcmp(argv[1], "missing")) missing<<<1, 64>>>(3, out);
  printf("%s: %s\n", argv[1], cudaGetErrorName(cudaDeviceSynchronize()));
}
