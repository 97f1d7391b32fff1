// What goes wrong when blocks pass values on: each kernel has one mistake, which --check names.
// test: vgpu-run --check
// test: exit 4
// test: vgpu
#include <cstdio>
#include <cuda/atomic>

constexpr int block = 64, blocks = 4;

__device__ int d_count;

// Waits until block b - 1 has set its flag.
__device__ void wait_for(int* d_flag, int b) {
  while (b > 0 && atomicAdd(&d_flag[b - 1], 0) == 0) {
  }
}

__global__ void no_fence(int* d_value, int* d_flag) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  wait_for(d_flag, b);
  const int before = b > 0 ? d_value[b - 1] : 0;
  d_value[b] = before + 1;
  atomicExch(&d_flag[b], 1);
}

__global__ void fence_of_the_block(int* d_value, int* d_flag) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  wait_for(d_flag, b);
  const int before = b > 0 ? d_value[b - 1] : 0;
  d_value[b] = before + 1;
  __threadfence_block();
  atomicExch(&d_flag[b], 1);
}

__global__ void volatile_flag(int* d_value, volatile int* d_flag) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  while (b > 0 && d_flag[b - 1] == 0) {
  }
  const int before = b > 0 ? d_value[b - 1] : 0;
  d_value[b] = before + 1;
  d_flag[b] = 1;
}

__global__ void relaxed_flag(int* d_value, int* d_flag) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  if (b > 0)
    while (cuda::atomic_ref<int, cuda::thread_scope_device>(d_flag[b - 1]).load(cuda::memory_order_acquire) == 0) {
    }
  const int before = b > 0 ? d_value[b - 1] : 0;
  d_value[b] = before + 1;
  cuda::atomic_ref<int, cuda::thread_scope_device>(d_flag[b]).store(1, cuda::memory_order_relaxed);
}

__global__ void fence_before_the_barrier(int* d_value, int* d_flag) {
  const int b = blockIdx.x, t = threadIdx.x;
  d_value[b * block + t] = t;
  if (t == 0) __threadfence();
  __syncthreads();
  if (t == 0) atomicExch(&d_flag[b], 1);
  if (t == 0 && b > 0) {
    wait_for(d_flag, b);
    __threadfence();
  }
  __syncthreads();
  if (b > 0 && d_value[(b - 1) * block + t] != t) std::printf("wrong\n");
}

__global__ void last_block_without_fence(const int* d_x, int* d_sums, int* d_y) {
  __shared__ bool s_is_last;
  const int t = threadIdx.x;
  if (t == 0) {
    d_sums[blockIdx.x] = d_x[blockIdx.x];
    s_is_last = atomicAdd(&d_count, 1) == blocks - 1;
  }
  __syncthreads();
  if (s_is_last && t < blocks) d_y[t] = d_sums[t];
}

__global__ void flag_first(int* d_value, int* d_flag) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  wait_for(d_flag, b);
  __threadfence();
  if (b == 0) atomicExch(&d_flag[b], 1);
  if (b == 0) d_value[b] = 7;
  if (b == 1) d_value[1] = d_value[0];
  if (b > 0) atomicExch(&d_flag[b], 1);
}

__global__ void no_barrier_behind_the_wait(int* d_value, int* d_flag, int* d_y) {
  const int b = blockIdx.x, t = threadIdx.x;
  if (t == 0) {
    wait_for(d_flag, b);
    __threadfence();
    d_value[b] = b;
    __threadfence();
    atomicExch(&d_flag[b], 1);
  }
  if (b > 0) d_y[b * block + t] = d_value[b - 1];
}

int main() {
  int *d_x, *d_y, *d_flag;
  cudaMalloc(&d_x, 1024 * sizeof(int));
  cudaMalloc(&d_y, 1024 * sizeof(int));
  cudaMalloc(&d_flag, 1024 * sizeof(int));
  const auto clear = [&] {
    cudaMemset(d_x, 0, 1024 * sizeof(int));
    cudaMemset(d_y, 0, 1024 * sizeof(int));
    cudaMemset(d_flag, 0, 1024 * sizeof(int));
  };
  clear(), no_fence<<<blocks, block>>>(d_x, d_flag);
  clear(), fence_of_the_block<<<blocks, block>>>(d_x, d_flag);
  clear(), volatile_flag<<<blocks, block>>>(d_x, d_flag);
  clear(), relaxed_flag<<<blocks, block>>>(d_x, d_flag);
  clear(), fence_before_the_barrier<<<blocks, block>>>(d_x, d_flag);
  clear(), last_block_without_fence<<<blocks, block>>>(d_x, d_flag, d_y);
  clear(), flag_first<<<2, block>>>(d_x, d_flag);
  clear(), no_barrier_behind_the_wait<<<blocks, block>>>(d_x, d_flag, d_y);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
