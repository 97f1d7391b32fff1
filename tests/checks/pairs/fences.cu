// Locks and flags: their scope, their fences on both sides, and barriers that are missing.
#include <cuda/atomic>

#include "pairs.cuh"

template <class T>
using device_atomic = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T>
using block_atomic = cuda::atomic_ref<T, cuda::thread_scope_block>;

// ---- a lock, without a fence after it is taken ----------------------------------------------------------------------

__device__ void take(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
}
__device__ void give(int* lock) {
  __threadfence();
  atomicExch(lock, 0);
}

// wrong: fence.missing | __threadfence() before line
KERNEL(write_in_a_lock_without_a_fence, 4, 32) {
  if (threadIdx.x) return;
  take(a.flag);
  a.x[0] = blockIdx.x;  // here
  give(a.flag);
}

// right
KERNEL(write_in_a_lock, 4, 32) {
  if (threadIdx.x) return;
  take(a.flag);
  __threadfence();
  a.x[0] = blockIdx.x;
  give(a.flag);
}

// right
KERNEL(write_in_a_lock_of_libcuxx, 4, 32) {
  if (threadIdx.x) return;
  device_atomic<int> lock(a.flag[0]);
  while (lock.exchange(1, cuda::memory_order_acquire) != 0) __nanosleep(20);
  a.x[0] = blockIdx.x;
  lock.store(0, cuda::memory_order_release);
}

// wrong: fence.missing | __threadfence() before line
KERNEL(write_in_a_lock_by_exchange_without_a_fence, 4, 32) {
  if (threadIdx.x) return;
  while (atomicExch(a.flag, 1) != 0) __nanosleep(20);
  a.x[0] = blockIdx.x + 1;  // here
  give(a.flag);
}

// right
KERNEL(write_in_a_lock_of_inline_ptx, 4, 32) {
  if (threadIdx.x) return;
  int taken;
  do
    asm volatile("atom.acquire.gpu.global.exch.b32 %0, [%1], 1;"
                 : "=r"(taken)
                 : "l"(__cvta_generic_to_global(a.flag))
                 : "memory");
  while (taken);
  a.x[0] = blockIdx.x + 1;
  asm volatile("st.release.gpu.global.b32 [%0], 0;" ::"l"(__cvta_generic_to_global(a.flag)) : "memory");
}

// wrong: fence.missing | __threadfence() before line
KERNEL(read_in_a_lock_without_a_fence, 4, 32) {
  if (threadIdx.x) return;
  take(a.flag);
  a.x[0] += 1;  // here
  give(a.flag);
}

// right
KERNEL(read_in_a_lock, 4, 32) {
  if (threadIdx.x) return;
  take(a.flag);
  __threadfence();
  a.x[0] += 1;
  give(a.flag);
}

// ---- flags with the scope of a block --------------------------------------------------------------------------------

// wrong: fence.missing | thread_scope_device
KERNEL(flag_counted_in_the_block, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[0] = 7;  // here
    __threadfence();
    atomicAdd_block(a.flag, 1);  // here
  } else {
    while (atomicAdd_block(a.flag, 0) == 0) {  // here
    }
    __threadfence();
    a.y[blockIdx.x] = a.x[0];  // here
  }
}

// right
KERNEL(flag_counted_in_the_device, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[0] = 7;
    __threadfence();
    atomicAdd(a.flag, 1);
  } else {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.y[blockIdx.x] = a.x[0];
  }
}

// wrong: fence.missing | thread_scope_device
KERNEL(flag_of_libcuxx_in_the_block, 2, 32) {
  if (threadIdx.x) return;
  block_atomic<int> flag(a.flag[0]);
  if (blockIdx.x == 0) {
    a.x[0] = 7;
    flag.store(1, cuda::memory_order_release);  // here
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {  // here
    }
    a.y[blockIdx.x] = a.x[0];
  }
}

// right
KERNEL(flag_of_libcuxx_in_the_device, 2, 32) {
  if (threadIdx.x) return;
  device_atomic<int> flag(a.flag[0]);
  if (blockIdx.x == 0) {
    a.x[0] = 7;
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.y[blockIdx.x] = a.x[0];
  }
}

// wrong: race.global | without _block
KERNEL(counter_of_the_block, 2, 32) {
  atomicAdd_block(&a.x[0], 1);  // here
}

// right
KERNEL(counter_of_each_block, 2, 32) {
  atomicAdd_block(&a.x[blockIdx.x], 1);
}

// ---- flags in shared memory -----------------------------------------------------------------------------------------

// wrong: fence.missing | __threadfence_block()
KERNEL(flag_in_shared_without_a_fence, 1, 64) {
  __shared__ int s_value;
  __shared__ volatile int s_flag;
  if (threadIdx.x == 0) s_flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    s_value = a.y[0];  // here
    s_flag = 1;
  } else if (threadIdx.x == 32) {
    while (s_flag == 0) {
    }
    a.x[0] = s_value;  // here
  }
}

// right
KERNEL(flag_in_shared, 1, 64) {
  __shared__ int s_value;
  __shared__ volatile int s_flag;
  if (threadIdx.x == 0) s_flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    s_value = a.y[0];
    __threadfence_block();
    s_flag = 1;
  } else if (threadIdx.x == 32) {
    while (s_flag == 0) {
    }
    __threadfence_block();
    a.x[0] = s_value;
  }
}

// wrong: fence.missing | __threadfence_block()
KERNEL(atomic_flag_in_shared_without_a_fence, 1, 64) {
  __shared__ int s_value, s_flag;
  if (threadIdx.x == 0) s_flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    s_value = a.y[0];  // here
    atomicExch(&s_flag, 1);
  } else if (threadIdx.x == 32) {
    while (atomicAdd(&s_flag, 0) == 0) {
    }
    a.x[0] = s_value;  // here
  }
}

// right
KERNEL(flag_in_shared_of_libcuxx, 1, 64) {
  __shared__ int s_value, s_flag;
  if (threadIdx.x == 0) s_flag = 0;
  __syncthreads();
  block_atomic<int> flag(s_flag);
  if (threadIdx.x == 0) {
    s_value = a.y[0];
    flag.store(1, cuda::memory_order_release);
  } else if (threadIdx.x == 32) {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.x[0] = s_value;
  }
}

// ---- a count, and all threads read it -------------------------------------------------------------------------------

// wrong: race.global | __syncthreads()
KERNEL(ticket_read_by_all_without_a_barrier, 2, 64) {
  int* const count = &a.x[blockIdx.x];
  if (threadIdx.x == 0) atomicAdd(count, 1);            // here
  a.y[blockIdx.x * blockDim.x + threadIdx.x] = *count;  // here
}

// right
KERNEL(ticket_read_by_all, 2, 64) {
  int* const count = &a.x[blockIdx.x];
  if (threadIdx.x == 0) atomicAdd(count, 1);
  __syncthreads();
  a.y[blockIdx.x * blockDim.x + threadIdx.x] = *count;
}

// wrong: race.shared | __syncthreads()
KERNEL(shared_count_read_by_all_without_a_barrier, 1, 32) {
  __shared__ int s_count;
  if (threadIdx.x == 0) s_count = 0;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&s_count, 3);  // here
  a.y[threadIdx.x] = s_count;                    // here
}

// right
KERNEL(shared_count_read_by_all, 1, 32) {
  __shared__ int s_count;
  if (threadIdx.x == 0) s_count = 0;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&s_count, 3);
  __syncthreads();
  a.y[threadIdx.x] = s_count;
}

// ---- the same value, from several warps -----------------------------------------------------------------------------

// right
KERNEL(same_value_by_several_warps_in_shared, 2, 128) {
  __shared__ int s_found;
  if (threadIdx.x == 0) s_found = 0;
  __syncthreads();
  s_found = 1;
  __syncthreads();
  a.y[threadIdx.x] = s_found;
}

// wrong: race.shared
KERNEL(other_values_by_several_warps_in_shared, 2, 128) {
  __shared__ int s_found;
  if (threadIdx.x == 0) s_found = 0;
  __syncthreads();
  s_found = threadIdx.x / 32;  // here
  __syncthreads();
  a.y[threadIdx.x] = s_found;
}

// right
KERNEL(same_value_by_several_warps, 1, 128) {
  a.x[0] = 1;
}

// wrong: race.global
KERNEL(other_values_by_several_warps, 1, 128) {
  a.x[0] = 1 + threadIdx.x / 32;  // here
}

// right
KERNEL(same_value_by_some_threads, 2, 128) {
  if (threadIdx.x % 3 == 0) a.x[0] = 1;
}

// right
KERNEL(same_values_in_a_table, 2, 128) {
  a.x[threadIdx.x % 16] = threadIdx.x % 16 + 1;
  __shared__ double s_table[8];
  s_table[threadIdx.x % 8] = threadIdx.x % 8 + 1;
  __syncthreads();
  a.d[threadIdx.x] = s_table[threadIdx.x % 8];
}

// right
KERNEL(same_value_read_back, 1, 512) {
  a.x[0] = 7;
  a.y[threadIdx.x] = a.x[0] + a.x[threadIdx.x % 2];
}

// right
KERNEL(same_value_read_back_in_shared, 1, 512) {
  __shared__ int s_x;
  s_x = 7;
  a.y[threadIdx.x] = *static_cast<volatile int*>(&s_x);
}

// right
KERNEL(same_value_by_many_blocks, 16, 256) {
  if (a.y[threadIdx.x] == 0) a.flag[0] = 1;
}

// wrong: race.global
KERNEL(value_read_by_warps_that_have_not_written_it, 1, 512) {
  if (threadIdx.x % 64 < 32) a.x[0] = 7;  // here
  a.y[threadIdx.x] = a.x[0];              // here
}

// wrong: race.global
KERNEL(other_values_in_a_table, 1, 128) {
  a.x[threadIdx.x % 16] = threadIdx.x % 32 + 1;  // here
}
