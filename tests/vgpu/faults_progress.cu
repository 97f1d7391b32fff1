// test: vgpu
// test: vgpu-run --max-warp-instructions 20000000
// test: schedules in_order
// test: runs branch named spin loop mask recursion block_order lock assert trap
// Kernels that never end, or that stop themselves, one classic bug a run. The report names what waits, and where.
#include <cassert>
#include <cstdio>
#include <cstring>

// Half of the block waits at a barrier that the other half, spinning for its result, never reaches.
__global__ void barrier_in_branch(int* x) {
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    __syncthreads();
    if (threadIdx.x == 0) ready = 1;
  } else {
    while (!ready) {
    }
  }
  x[threadIdx.x] = 1;
}

// A named barrier that expects 64 threads, and five come.
__global__ void barrier_of_a_few(int* x) {
  if (threadIdx.x < 5) asm volatile("bar.sync 1, 64;");
  x[threadIdx.x] = 1;
}

// The next block's flag: no thread sets it.
__global__ void spin(volatile int* flag, int* x) {
  while (flag[blockIdx.x + 1] == 0) {
  }
  x[blockIdx.x] = 1;
}

__global__ void endless(int* x) {
  int k = 0;
  for (int i = 0; i < 10; i += x[threadIdx.x]) ++k;  // x holds zeros
  x[threadIdx.x] = k;
}

// Lanes 16 to 31 are named, but wait for the others elsewhere.
__global__ void wrong_mask(int* x) {
  int v = x[threadIdx.x];
  if (threadIdx.x < 16) v = __shfl_down_sync(0xffffffff, v, 1);
  __syncthreads();
  x[threadIdx.x] = v;
}

__device__ __noinline__ int depth(int n, int* x) {
  int local[64];
  for (int k = 0; k < 64; ++k) local[k] = x[k] + n;
  return depth(n + 1, local) + local[n % 64];
}
__global__ void recursion(int* x) {
  x[0] = depth(x[0], x);
}

// Block 0 waits for the last block, which cannot start before another ends.
__global__ void waits_for_the_last(int* count) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < gridDim.x) {
    }
  }
}

// The lock is not released on one of the paths.
__global__ void lock(int* mutex, int* x) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(mutex, 0, 1) != 0) {
    }
    ++*x;
    if (*x == 2) return;
    __threadfence();
    atomicExch(mutex, 0);
  }
}

__global__ void checks(const int* x) {
  assert(x[threadIdx.x] == 0 && "all zero");
}

__global__ void traps(const int* x) {
  if (x[threadIdx.x] == 0) __trap();
}

int main(int, char** argv) {
  const char* kind = argv[1];
  int *x, *y;
  cudaMalloc(&x, 100000 * sizeof(int));
  cudaMalloc(&y, 100000 * sizeof(int));
  cudaMemset(x, 0, 100000 * sizeof(int));
  cudaMemset(y, 0, 100000 * sizeof(int));
  if (!strcmp(kind, "branch")) barrier_in_branch<<<1, 64>>>(x);
  if (!strcmp(kind, "spin")) spin<<<2, 32>>>(y, x);
  if (!strcmp(kind, "loop")) endless<<<1, 32>>>(x);
  if (!strcmp(kind, "mask")) wrong_mask<<<1, 32>>>(x);
  if (!strcmp(kind, "recursion")) recursion<<<1, 1>>>(x);
  if (!strcmp(kind, "block_order")) waits_for_the_last<<<50000, 1024>>>(y);
  if (!strcmp(kind, "lock")) lock<<<1, 96>>>(y, x);
  if (!strcmp(kind, "named")) barrier_of_a_few<<<1, 64>>>(x);
  if (!strcmp(kind, "assert")) {
    cudaMemset(x + 3, 1, sizeof(int));
    checks<<<1, 32>>>(x);
  }
  if (!strcmp(kind, "trap")) traps<<<1, 32>>>(x);
  printf("%s: %s\n", kind, cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
