// What goes wrong between threads that share global memory: each kernel has one race, which --check names.
// test: vgpu-run --check
// test: exit 4
// test: vgpu
#include <cstdio>

constexpr int block = 64, blocks = 4;

__global__ void neighbours_block(int* d_x) {
  const int i = blockIdx.x * block + threadIdx.x;
  if (i > 0) d_x[i] = d_x[i - 1] + 1;
}

__global__ void in_block(int* d_y) {
  d_y[threadIdx.x] = threadIdx.x;
  d_y[threadIdx.x + block] = d_y[block - 1 - threadIdx.x];
}

__global__ void plain_sum(int* d_sum) {
  if (threadIdx.x == 0) *d_sum += 1;
}

__global__ void plain_count(int* d_sum) {
  if (threadIdx.x % 2 == 0) *d_sum += 1;
}

__global__ void plain_clear(int* d_bins) {
  if (blockIdx.x == 0 && threadIdx.x < 4) d_bins[threadIdx.x] = 0;
  atomicAdd(&d_bins[threadIdx.x % 4], 1);
}

__global__ void atomics_of_the_block(int* d_sum) {
  if (threadIdx.x == 0) atomicAdd_block(d_sum, 1);
}

__global__ void one_place_for_two(int* d_y) {
  if (blockIdx.x == 0) d_y[threadIdx.x / 2] = threadIdx.x;
}

int main() {
  int *d_x, *d_y;
  cudaMalloc(&d_x, 1024 * sizeof(int));
  cudaMalloc(&d_y, 1024 * sizeof(int));
  const auto clear = [&] {
    cudaMemset(d_x, 0, 1024 * sizeof(int));
    cudaMemset(d_y, 0, 1024 * sizeof(int));
  };
  clear(), neighbours_block<<<blocks, block>>>(d_x);
  clear(), in_block<<<1, block>>>(d_y);
  clear(), plain_sum<<<blocks, block>>>(d_y);
  clear(), plain_count<<<blocks, block>>>(d_y);
  clear(), plain_clear<<<blocks, block>>>(d_y);
  clear(), atomics_of_the_block<<<blocks, block>>>(d_y);
  clear(), one_place_for_two<<<1, block>>>(d_y);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
