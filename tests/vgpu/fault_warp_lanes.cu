// test: vgpu
// test: runs branch tile half gone unnamed vote
// Warp operations that wait for lanes which do not come: a full mask within a branch, a tile's collective in one half
// of it, different masks in two halves, a mask that names lanes which have returned, and a vote in a loop that lanes
// leave one by one while another warp waits at a barrier for what they would do next. And a mask that leaves out the
// caller.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>
#include <cstring>
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

__global__ void branch(int* x) {
  if (x[threadIdx.x] % 2)
    x[threadIdx.x] = __reduce_add_sync(0xffffffff, x[threadIdx.x]);
  else
    x[threadIdx.x] = 0;
  __syncwarp();
  x[threadIdx.x] += __shfl_sync(0xffffffff, x[threadIdx.x], 0);
}

__global__ void tile(int* x) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  if (tile.thread_rank() < 8) x[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
  __syncthreads();
}

__global__ void halves(int* x) {
  if (threadIdx.x < 16)
    x[threadIdx.x] = __shfl_xor_sync(0x0000ffff, x[threadIdx.x], 1);
  else
    x[threadIdx.x] = __shfl_xor_sync(0xffff8000, x[threadIdx.x], 1);  // lane 15 belongs to the other half
  __syncthreads();
}

// On a GPU lanes that have returned are not waited for; what they would have given is undefined.
__global__ void gone(int* x, int n) {
  if (threadIdx.x >= n) return;
  const unsigned named = __ballot_sync(0xffffffff, x[threadIdx.x] > 0);
  x[threadIdx.x] = __popc(named);
}

__global__ void unnamed(int* x, unsigned mask) {
  x[threadIdx.x] += __shfl_up_sync(0xffffffff, x[threadIdx.x], 1);
  x[threadIdx.x] += __shfl_up_sync(mask, x[threadIdx.x], 1);
}

__device__ unsigned vote(bool yes) {
  return __ballot_sync(0xffffffff, yes);
}

__global__ void leaves(int* x) {
  __shared__ cuda::barrier<cuda::thread_scope_block> done;
  if (threadIdx.x == 0) init(&done, blockDim.x);
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 1; vote(x[threadIdx.x] > k) != 0; ++k) {
      if (x[threadIdx.x] < k) break;
    }
    __syncwarp();
  }
  done.arrive_and_wait();
}

int main(int, char** argv) {
  const char* kind = argv[1];
  int h[32], *x;
  for (int i = 0; i < 32; ++i) h[i] = i + 1;
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  if (!strcmp(kind, "branch")) branch<<<1, 32>>>(x);
  if (!strcmp(kind, "tile")) tile<<<1, 32>>>(x);
  if (!strcmp(kind, "half")) halves<<<1, 32>>>(x);
  if (!strcmp(kind, "gone")) gone<<<1, 32>>>(x, 20);
  if (!strcmp(kind, "unnamed")) unnamed<<<1, 32>>>(x, 0x0000ffff);
  if (!strcmp(kind, "vote")) leaves<<<1, 64>>>(x);
  printf("%s: %s", kind, cudaGetErrorName(cudaDeviceSynchronize()));
  if (!strcmp(kind, "gone")) {
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    printf(", %d %d", h[0], h[20]);
  }
  printf("\n");
}
