// Loops over barriers in which a warp stands still, as far as its own registers show: another one counts, and says
// after thousands of rounds that it is enough. By shared memory, by barriers that reduce, by numbered barriers.
#include <cstdio>

__global__ void by_flag(int* out, int limit) {
  __shared__ int done;
  if (threadIdx.x == 0) done = 0;
  __syncthreads();
  int count = 0;
  while (true) {
    if (threadIdx.x == blockDim.x - 1 && ++count == limit) done = 1;
    __syncthreads();
    const bool stop = done;
    __syncthreads();
    if (stop) break;
  }
  out[threadIdx.x] = count;
}

__global__ void by_reduction(int* out, int limit) {
  int count = 0, rounds = 0;
  do {
    if (threadIdx.x == 0) ++count;
    if (threadIdx.x < 32) ++rounds;
  } while (!__syncthreads_or(count == limit));
  out[threadIdx.x] = rounds;
}

// Warp 1 is let through as often as warp 0 arrives; only warp 0 knows how often.
__global__ void by_number(int* out, int limit) {
  __shared__ volatile int more;
  if (threadIdx.x == 0) more = 1;
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 1; k <= limit; ++k) {
      if (k == limit) more = 0;
      asm volatile("bar.sync 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    }
    out[threadIdx.x] = limit;
  } else {
    int again;
    do {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      again = more;
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } while (again);
    out[threadIdx.x] = -1;
  }
}

// The counting warp lies between two that stand still, and it works for long between barriers.
__global__ void slowly(int* out, int limit) {
  int value = threadIdx.x / 32 == 1, rounds = 0;
  while (!__syncthreads_or(rounds == limit)) {
    if (threadIdx.x / 32 == 1) {
      for (int k = 0; k < 300; ++k) value = value * 1664525 + 1013904223;
      ++rounds;
    }
  }
  out[threadIdx.x] = value;
}

int main() {
  int h[96], *d;
  cudaMalloc(&d, sizeof h);
  const auto fetch = [&] {
    const cudaError_t error = cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) printf("%s ", cudaGetErrorName(error));
  };
  by_flag<<<1, 96>>>(d, 5000);
  fetch();
  printf("flag: %d %d\n", h[0], h[95]);
  by_reduction<<<1, 96>>>(d, 5000);
  fetch();
  printf("reduction: %d %d\n", h[0], h[95]);
  by_number<<<1, 64>>>(d, 5000);
  fetch();
  printf("number: %d %d\n", h[0], h[63]);
  slowly<<<1, 96>>>(d, 100);
  fetch();
  unsigned value = 1;
  for (int k = 0; k < 300 * 100; ++k) value = value * 1664525u + 1013904223u;
  printf("slowly: %d %d\n", h[0], h[40] == int(value));
}
