// Right ways to share global memory between threads and blocks: --check has nothing to say about any of them.
// test: nvcc -Wno-deprecated-declarations
// test: vgpu-run --check
#include <cooperative_groups.h>

#include <cstdio>
#include <cuda/atomic>

namespace cg = cooperative_groups;
constexpr int block = 64, blocks = 4, n = block * blocks;
template <class T>
using device_atomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

__device__ int d_taken, d_count, d_lock, d_phase;
__device__ bool d_changed;

struct Args {
  int *x, *y, *flag;
  unsigned long long* status;
};

// ---- a value behind a flag ------------------------------------------------------------------------------------------

__global__ void chain_of_atomics(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  if (b > 0) {
    while (atomicAdd(&a.flag[b - 1], 0) == 0) {
    }
    __threadfence();
  }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  __threadfence();
  atomicExch(&a.flag[b], 1);
}

__global__ void chain_of_volatiles(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  volatile int* const flag = a.flag;
  if (b > 0) {
    while (flag[b - 1] == 0) {
    }
    __threadfence();
  }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  __threadfence();
  flag[b] = 1;
}

__global__ void chain_of_releases(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  if (b > 0)
    while (device_atomic<int>(a.flag[b - 1]).load(cuda::memory_order_acquire) == 0) {
    }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  device_atomic<int>(a.flag[b]).store(1, cuda::memory_order_release);
}

__global__ void chain_of_exchanges(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  if (b > 0)
    while (device_atomic<int>(a.flag[b - 1]).fetch_add(0, cuda::memory_order_acq_rel) == 0) {
    }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  device_atomic<int>(a.flag[b]).exchange(1, cuda::memory_order_acq_rel);
}

__global__ void chain_of_fences(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  if (b > 0) {
    while (device_atomic<int>(a.flag[b - 1]).load(cuda::memory_order_relaxed) == 0) {
    }
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  device_atomic<int>(a.flag[b]).store(1, cuda::memory_order_relaxed);
}

__global__ void chain_in_ptx(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  int seen = b == 0;
  while (!seen) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(a.flag + b - 1) : "memory");
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(a.flag + b), "r"(1) : "memory");
}

__global__ void chain_by_numbers(Args a) {
  __shared__ int s_number;
  if (threadIdx.x == 0) s_number = atomicAdd(&d_taken, 1);
  __syncthreads();
  const int b = s_number;
  if (threadIdx.x == 0) {
    if (b > 0) {
      while (atomicAdd(&a.flag[b - 1], 0) == 0) {
      }
      __threadfence();
    }
    a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
    __threadfence();
    atomicExch(&a.flag[b], 1);
    if (b == gridDim.x - 1) d_taken = 0;  // for the next launch
  }
}

__global__ void system_fences(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  if (b > 0) {
    while (atomicAdd_system(&a.flag[b - 1], 0) == 0) {
    }
    __threadfence_system();
  }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  __threadfence_system();
  atomicExch_system(&a.flag[b], 1);
}

// ---- whole blocks behind a flag -------------------------------------------------------------------------------------

__global__ void all_write_one_fences(Args a) {
  const int b = blockIdx.x, t = threadIdx.x;
  a.x[b * block + t] = t;
  __syncthreads();
  if (t == 0) {
    __threadfence();
    atomicExch(&a.flag[b], 1);
    while (b > 0 && atomicAdd(&a.flag[b - 1], 0) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  a.y[b * block + t] = b > 0 ? a.x[(b - 1) * block + block - 1 - t] : 0;
}

__global__ void all_write_all_fence(Args a) {
  const int b = blockIdx.x, t = threadIdx.x;
  a.x[b * block + t] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) {
    atomicExch(&a.flag[b], 1);
    while (b > 0 && atomicAdd(&a.flag[b - 1], 0) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  a.y[b * block + t] = b > 0 ? a.x[(b - 1) * block + block - 1 - t] : 0;
}

__global__ void warp_writes_lane_fences(Args a) {
  const int b = blockIdx.x, t = threadIdx.x;
  if (t >= 32) return;
  a.x[b * 32 + t] = t;
  __syncwarp();
  if (t == 0) {
    __threadfence();
    atomicExch(&a.flag[b], 1);
    while (b > 0 && atomicAdd(&a.flag[b - 1], 0) == 0) {
    }
    __threadfence();
  }
  __syncwarp();
  a.y[b * 32 + t] = b > 0 ? a.x[(b - 1) * 32 + 31 - t] : 0;
}

__global__ void last_block_sums(Args a) {
  __shared__ bool s_is_last;
  const int t = threadIdx.x;
  if (t == 0) {
    a.x[blockIdx.x] = blockIdx.x;
    __threadfence();
    s_is_last = atomicInc(reinterpret_cast<unsigned*>(&d_count), gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (s_is_last && t < gridDim.x) a.y[t] = a.x[t];
}

__global__ void last_block_all_fence(Args a) {
  __shared__ bool s_is_last;
  const int t = threadIdx.x;
  a.x[blockIdx.x * block + t] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) s_is_last = atomicAdd(&d_count, 1) == gridDim.x - 1;
  __syncthreads();
  if (!s_is_last) return;
  __threadfence();
  for (int b = 0; b < gridDim.x; ++b) a.y[t] += a.x[b * block + t];
  if (t == 0) d_count = 0;
}

__global__ void grid_sync(Args a) {
  const cg::grid_group grid = cg::this_grid();
  const int i = blockIdx.x * block + threadIdx.x;
  a.x[i] = i;
  grid.sync();
  const int other = a.x[n - 1 - i];
  grid.sync();
  a.x[i] = other;
  grid.sync();
  a.y[i] = a.x[(i + 1) % n];
}

__global__ void own_grid_barrier(Args a) {
  const int i = blockIdx.x * block + threadIdx.x;
  a.x[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&d_phase, 1);
    while (*static_cast<volatile int*>(&d_phase) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  a.y[i] = a.x[n - 1 - i];
}

// ---- statuses that need no fence ------------------------------------------------------------------------------------

__global__ void packed_status(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  volatile unsigned long long* const status = a.status;
  unsigned long long before = 1ull << 32;
  if (b > 0)
    while ((before = status[b - 1]) >> 32 == 0) {
    }
  status[b] = before + 1;
}

__global__ void packed_in_a_vector(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  int value = 0, is_there = 1;
  if (b > 0) do
      asm volatile("ld.volatile.global.v2.s32 {%0, %1}, [%2];" : "=r"(value), "=r"(is_there) : "l"(a.status + b - 1));
    while (!is_there);
  asm volatile("st.volatile.global.v2.s32 [%0], {%1, %2};" ::"l"(a.status + b), "r"(value + 1), "r"(1));
}

__global__ void value_by_atomics(Args a) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  int before = 1;
  if (b > 0)
    while ((before = atomicAdd(&a.x[b - 1], 0)) == 0) {
    }
  atomicExch(&a.x[b], before + 1);
}

__global__ void windows_of_statuses(Args a) {
  const int b = blockIdx.x, lane = threadIdx.x;
  if (lane >= 32) return;
  if (lane == 0) {
    a.x[b] = b + 1;
    __threadfence();
    *static_cast<volatile int*>(&a.flag[b]) = 1;
  }
  __syncwarp();
  const int at = b - 1 - lane;
  while (!__all_sync(0xffffffff, at < 0 || *static_cast<volatile int*>(&a.flag[at]) == 1)) {
  }
  __threadfence();
  int sum = at >= 0 ? a.x[at] : 0;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (lane == 0) a.y[b] = sum;
}

// ---- locks, counters, races that are none ---------------------------------------------------------------------------

__global__ void spin_lock(Args a) {
  if (threadIdx.x) return;
  while (atomicCAS(&d_lock, 0, 1) != 0) {
  }
  __threadfence();
  a.x[0] += 1;
  a.x[1] = a.x[0];
  __threadfence();
  atomicExch(&d_lock, 0);
}

__global__ void ticket_lock(Args a) {
  if (threadIdx.x) return;
  const int ticket = atomicAdd(&a.flag[0], 1);
  while (*static_cast<volatile int*>(&a.flag[1]) != ticket) {
  }
  __threadfence();
  a.x[0] += 1;
  __threadfence();
  *static_cast<volatile int*>(&a.flag[1]) = ticket + 1;
}

__global__ void histogram(Args a) {
  atomicAdd(&a.y[(blockIdx.x * 7 + threadIdx.x * 3) % 16], 1);
}

__global__ void same_value(Args a) {
  if (a.x[threadIdx.x] == 0) d_changed = true;
}

__global__ void maximum_by_a_loop(Args a) {
  int old = a.y[0], assumed;
  do {
    assumed = old;
    old = atomicCAS(&a.y[0], assumed, max(assumed, static_cast<int>(blockIdx.x)));
  } while (old != assumed);
}

__global__ void polled_by_all(Args a) {
  const int b = blockIdx.x;
  volatile int* const flag = a.flag;
  if (b == 0 && threadIdx.x == 0) flag[0] = 1;
  while (flag[0] == 0) {
  }
  flag[1] = b;  // of the block that comes last
}

__global__ void appended(Args a) {
  const int i = atomicAdd(&d_count, 1);
  a.y[i % n] = i;
}

// ---- threads of one block -------------------------------------------------------------------------------------------

__global__ void steps_in_memory(Args a) {
  int* const x = a.x + blockIdx.x * block;
  const int t = threadIdx.x;
  for (int stride = 1; stride < block; stride *= 2) {
    const int left = t >= stride ? x[t - stride] : 0;
    __syncthreads();
    x[t] += left;
    __syncthreads();
  }
}

__global__ void lanes_exchange(Args a) {
  int* const x = a.x + blockIdx.x * block;
  const int t = threadIdx.x;
  x[t] = t;
  __syncwarp();
  const int other = x[t ^ 1];
  __syncwarp();
  x[t] = other;
}

__global__ void fields(Args a) {
  int2* const pairs = reinterpret_cast<int2*>(a.x);
  const int i = blockIdx.x * block + threadIdx.x;
  pairs[i].x = i;
  pairs[i].y = pairs[i].x + 1;
}

__global__ void bytes_side_by_side(Args a) {
  reinterpret_cast<char*>(a.x)[blockIdx.x + gridDim.x * threadIdx.x] = threadIdx.x;
}

__global__ void columns(Args a) {
  a.y[threadIdx.x * blocks + blockIdx.x] = a.x[blockIdx.x * block + threadIdx.x];
}

__global__ void one_thread_for_its_block(Args a) {
  const int b = blockIdx.x;
  if (threadIdx.x == 33) a.x[b] = b;
  __syncthreads();
  a.y[b * block + threadIdx.x] = a.x[b];
}

int main() {
  Args a;
  cudaMalloc(&a.x, 2 * n * sizeof(int));
  cudaMalloc(&a.y, 2 * n * sizeof(int));
  cudaMalloc(&a.flag, 2 * n * sizeof(int));
  cudaMalloc(&a.status, n * sizeof(*a.status));
  const auto run = [&](void (*kernel)(Args), bool is_cooperative = false) {
    cudaMemset(a.x, 0, 2 * n * sizeof(int));
    cudaMemset(a.y, 0, 2 * n * sizeof(int));
    cudaMemset(a.flag, 0, 2 * n * sizeof(int));
    cudaMemset(a.status, 0, n * sizeof(*a.status));
    void* arguments[] = {&a};
    if (is_cooperative)
      cudaLaunchCooperativeKernel(kernel, blocks, block, arguments);
    else
      cudaLaunchKernel(kernel, blocks, block, arguments);
  };
  for (const auto kernel : {chain_of_atomics,
                            chain_of_volatiles,
                            chain_of_releases,
                            chain_of_exchanges,
                            chain_of_fences,
                            chain_in_ptx,
                            chain_by_numbers,
                            system_fences,
                            all_write_one_fences,
                            all_write_all_fence,
                            warp_writes_lane_fences,
                            last_block_sums,
                            last_block_all_fence,
                            own_grid_barrier,
                            packed_status,
                            packed_in_a_vector,
                            value_by_atomics,
                            windows_of_statuses,
                            spin_lock,
                            ticket_lock,
                            histogram,
                            same_value,
                            maximum_by_a_loop,
                            polled_by_all,
                            appended,
                            steps_in_memory,
                            lanes_exchange,
                            fields,
                            bytes_side_by_side,
                            columns,
                            one_thread_for_its_block})
    run(kernel);
  run(grid_sync, true);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
