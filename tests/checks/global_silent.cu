// Right ways to share global memory between threads and blocks: --check has nothing to say about any of them.
// test: nvcc -Wno-deprecated-declarations
// test: vgpu-run --check
#include <cooperative_groups.h>

#include <cuda/atomic>

#include "pairs/pairs.cuh"

namespace cg = cooperative_groups;
constexpr int block = 64, blocks = 4, n = block * blocks;
template <class T>
using device_atomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

__device__ int d_taken, d_count, d_lock, d_phase;
__device__ bool d_changed;

// ---- a value behind a flag ------------------------------------------------------------------------------------------

KERNEL(chain_of_atomics, blocks, block) {
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

KERNEL(chain_of_volatiles, blocks, block) {
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

KERNEL(chain_of_releases, blocks, block) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  if (b > 0)
    while (device_atomic<int>(a.flag[b - 1]).load(cuda::memory_order_acquire) == 0) {
    }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  device_atomic<int>(a.flag[b]).store(1, cuda::memory_order_release);
}

KERNEL(chain_of_exchanges, blocks, block) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  if (b > 0)
    while (device_atomic<int>(a.flag[b - 1]).fetch_add(0, cuda::memory_order_acq_rel) == 0) {
    }
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  device_atomic<int>(a.flag[b]).exchange(1, cuda::memory_order_acq_rel);
}

KERNEL(chain_of_fences, blocks, block) {
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

KERNEL(chain_in_ptx, blocks, block) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  int seen = b == 0;
  while (!seen) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(a.flag + b - 1) : "memory");
  a.x[b] = (b > 0 ? a.x[b - 1] : 0) + 1;
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(a.flag + b), "r"(1) : "memory");
}

KERNEL(chain_by_numbers, blocks, block) {
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

KERNEL(system_fences, blocks, block) {
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

KERNEL(all_write_one_fences, blocks, block) {
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

KERNEL(all_write_all_fence, blocks, block) {
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

KERNEL(warp_writes_lane_fences, blocks, block) {
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

KERNEL(last_block_sums, blocks, block) {
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

KERNEL(last_block_all_fence, blocks, block) {
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

KERNEL_BY(grid_sync, launch_together, blocks, block) {
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

KERNEL(own_grid_barrier, blocks, block) {
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

KERNEL(packed_status, blocks, block) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  volatile unsigned long long* const status = a.words;
  unsigned long long before = 1ull << 32;
  if (b > 0)
    while ((before = status[b - 1]) >> 32 == 0) {
    }
  status[b] = before + 1;
}

KERNEL(packed_in_a_vector, blocks, block) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  int value = 0, is_there = 1;
  if (b > 0) do
      asm volatile("ld.volatile.global.v2.s32 {%0, %1}, [%2];" : "=r"(value), "=r"(is_there) : "l"(a.words + b - 1));
    while (!is_there);
  asm volatile("st.volatile.global.v2.s32 [%0], {%1, %2};" ::"l"(a.words + b), "r"(value + 1), "r"(1));
}

KERNEL(value_by_atomics, blocks, block) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  int before = 1;
  if (b > 0)
    while ((before = atomicAdd(&a.x[b - 1], 0)) == 0) {
    }
  atomicExch(&a.x[b], before + 1);
}

KERNEL(windows_of_statuses, blocks, block) {
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

KERNEL(spin_lock, blocks, block) {
  if (threadIdx.x) return;
  while (atomicCAS(&d_lock, 0, 1) != 0) {
  }
  __threadfence();
  a.x[0] += 1;
  a.x[1] = a.x[0];
  __threadfence();
  atomicExch(&d_lock, 0);
}

KERNEL(ticket_lock, blocks, block) {
  if (threadIdx.x) return;
  const int ticket = atomicAdd(&a.flag[0], 1);
  while (*static_cast<volatile int*>(&a.flag[1]) != ticket) {
  }
  __threadfence();
  a.x[0] += 1;
  __threadfence();
  *static_cast<volatile int*>(&a.flag[1]) = ticket + 1;
}

KERNEL(histogram, blocks, block) {
  atomicAdd(&a.y[(blockIdx.x * 7 + threadIdx.x * 3) % 16], 1);
}

KERNEL(same_value, blocks, block) {
  if (a.x[threadIdx.x] == 0) d_changed = true;
}

KERNEL(maximum_by_a_loop, blocks, block) {
  int old = a.y[0], assumed;
  do {
    assumed = old;
    old = atomicCAS(&a.y[0], assumed, max(assumed, static_cast<int>(blockIdx.x)));
  } while (old != assumed);
}

KERNEL(polled_by_all, blocks, block) {
  const int b = blockIdx.x;
  volatile int* const flag = a.flag;
  if (b == 0 && threadIdx.x == 0) flag[0] = 1;
  while (flag[0] == 0) {
  }
  flag[1] = b;  // of the block that comes last
}

KERNEL(appended, blocks, block) {
  const int i = atomicAdd(&d_count, 1);
  a.y[i % n] = i;
}

// ---- threads of one block -------------------------------------------------------------------------------------------

KERNEL(steps_in_memory, blocks, block) {
  int* const x = a.x + blockIdx.x * block;
  const int t = threadIdx.x;
  for (int stride = 1; stride < block; stride *= 2) {
    const int left = t >= stride ? x[t - stride] : 0;
    __syncthreads();
    x[t] += left;
    __syncthreads();
  }
}

KERNEL(lanes_exchange, blocks, block) {
  int* const x = a.x + blockIdx.x * block;
  const int t = threadIdx.x;
  x[t] = t;
  __syncwarp();
  const int other = x[t ^ 1];
  __syncwarp();
  x[t] = other;
}

KERNEL(fields, blocks, block) {
  int2* const pairs = reinterpret_cast<int2*>(a.x);
  const int i = blockIdx.x * block + threadIdx.x;
  pairs[i].x = i;
  pairs[i].y = pairs[i].x + 1;
}

KERNEL(bytes_side_by_side, blocks, block) {
  reinterpret_cast<char*>(a.x)[blockIdx.x + gridDim.x * threadIdx.x] = threadIdx.x;
}

KERNEL(columns, blocks, block) {
  a.y[threadIdx.x * blocks + blockIdx.x] = a.x[blockIdx.x * block + threadIdx.x];
}

KERNEL(one_thread_for_its_block, blocks, block) {
  const int b = blockIdx.x;
  if (threadIdx.x == 33) a.x[b] = b;
  __syncthreads();
  a.y[b * block + threadIdx.x] = a.x[b];
}
