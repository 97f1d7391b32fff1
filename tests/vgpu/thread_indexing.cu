// How threads are numbered: blocks and grids of every shape, partial warps, lanes and warps by linear index,
// grid-stride loops in one and two dimensions, indices that need 64 bits, the largest shapes that are allowed.
#include <cstdio>

#include "arrays.hpp"

__global__ void number(int* out) {
  const int linear = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned lane, active = __activemask();
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  // A partial warp has as many lanes as there are threads left.
  const int left = threads - linear / 32 * 32;
  const unsigned expected = left >= 32 ? 0xffffffffu : (1u << left) - 1;
  const int first = __shfl_sync(active, linear, 0);
  const bool right = lane == linear % 32 && active == expected && first == linear - linear % 32;
  out[block * threads + linear] = right ? linear + 1 : -1;
}

__global__ void stride_1d(int* hits, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) hits[i]++;
}
__global__ void stride_2d(int* hits, int width, int height) {
  for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += blockDim.y * gridDim.y)
    for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += blockDim.x * gridDim.x)
      atomicAdd(&hits[y * width + x], 1);
}
__global__ void backwards(int* hits, int n) {
  for (int i = n - 1 - int(blockIdx.x * blockDim.x + threadIdx.x); i >= 0; i -= blockDim.x * gridDim.x) hits[i] += 1;
}

__global__ void far(unsigned long long* out) {
  // 32-bit products of these wrap.
  const unsigned long long wide = (unsigned long long)blockIdx.x * 1000003ull * blockDim.x + threadIdx.x;
  const unsigned narrow = blockIdx.x * 1000003u * blockDim.x + threadIdx.x;
  if (threadIdx.x == 31 && (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1)) {
    out[blockIdx.x ? 2 : 0] = wide;
    out[blockIdx.x ? 3 : 1] = narrow;
  }
}
__global__ void corner(int* out) {
  if (blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1 && threadIdx.z == blockDim.z - 1)
    atomicAdd(out, blockIdx.y + blockIdx.z + threadIdx.z);
}

int main() {
  const dim3 shapes[][2] = {{{1, 1, 1}, {1, 1, 1}},  {{2, 1, 1}, {33, 1, 1}},   {{1, 3, 2}, {7, 5, 3}},
                            {{2, 2, 1}, {1, 1, 64}}, {{1, 1, 1}, {1, 1024, 1}}, {{3, 1, 2}, {16, 3, 2}},
                            {{1, 1, 5}, {31, 1, 1}}, {{1, 2, 1}, {32, 32, 1}},  {{2, 3, 4}, {2, 2, 2}}};
  for (const auto& [grid, block] : shapes) {
    const int threads = block.x * block.y * block.z, n = grid.x * grid.y * grid.z * threads;
    const Array<int> d(n, 0);
    int wrong = 0;
    number<<<grid, block>>>(d);
    const auto h = d.read();
    for (int i = 0; i < n; ++i) wrong += h[i] != i % threads + 1;
    printf("(%u, %u, %u) x (%u, %u, %u): %d wrong\n", grid.x, grid.y, grid.z, block.x, block.y, block.z, wrong);
  }
  const int n = 1001, width = 37, height = 23;
  const Array<int> d(n, 0);
  const auto count = [&](int limit) {
    const auto h = d.read();
    d.set(0);
    int ones = 0, others = 0;
    for (int i = 0; i < n; ++i) (i < limit && h[i] == 1 ? ones : others) += i < limit ? 1 : h[i];
    return ones - 10000 * others;
  };
  stride_1d<<<1, 1>>>(d, n);
  printf("%d", count(n));
  stride_1d<<<3, 77>>>(d, n);
  printf(" %d", count(n));
  stride_1d<<<40, 64>>>(d, n);
  printf(" %d", count(n));
  backwards<<<2, 50>>>(d, n);
  printf(" %d", count(n));
  stride_2d<<<dim3(2, 3), dim3(5, 4)>>>(d, width, height);
  printf(" %d of %d\n", count(width * height), width * height);

  const Array<unsigned long long> d_wide(4);
  far<<<300, 64>>>(d_wide);
  const auto wide = d_wide.read();
  printf("%llu %llu %llu %llu\n", wide[0], wide[1], wide[2], wide[3]);
  const Array<int> sum(1, 0);
  corner<<<dim3(1, 65535, 2), dim3(1, 1, 2)>>>(sum);
  printf("last %d\n%s\n", sum.read()[0], cudaGetErrorName(cudaDeviceSynchronize()));
}
