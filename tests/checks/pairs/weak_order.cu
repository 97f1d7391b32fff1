// Weak order: what volatile and relaxed accesses pass on behind flags, locks and counters, with and without fences.
#include <cuda/atomic>

#include "pairs.cuh"

using relaxed_int = cuda::atomic_ref<int, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed;

// ---- behind a flag --------------------------------------------------------------------------------------------------

// wrong: fence.missing | another one between
KERNEL(volatile_value_behind_a_volatile_flag, 2, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[0] = 42;  // here
    flag[0] = 1;    // here
  } else {
    while (flag[0] == 0) {  // here
    }
    a.y[0] = value[0];  // here
  }
}

// right
KERNEL(volatile_value_behind_a_volatile_flag_and_fences, 2, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[0] = 42;
    __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) {
    }
    __threadfence();
    a.y[0] = value[0];
  }
}

// wrong: fence.missing | put __threadfence() between line
KERNEL(volatile_value_with_the_reader_s_fence_only, 2, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[0] = 42;  // here
    flag[0] = 1;    // here
  } else {
    while (flag[0] == 0) {  // here
    }
    __threadfence();
    a.y[0] = value[0];  // here
  }
}

// advice: fence.missing | __threadfence() before line
KERNEL(volatile_value_with_the_writer_s_fence_only, 2, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[0] = 42;  // here
    __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) {
    }
    a.y[0] = value[0];  // here
  }
}

// wrong: fence.missing | another one between
KERNEL(relaxed_value_behind_a_relaxed_flag, 2, 32) {
  if (threadIdx.x) return;
  relaxed_int value(a.x[0]), flag(a.flag[0]);
  if (blockIdx.x == 0) {
    value.store(42, relaxed);  // here
    flag.store(1, relaxed);    // here
  } else {
    while (flag.load(relaxed) == 0) {  // here
    }
    a.y[0] = value.load(relaxed);  // here
  }
}

// right
KERNEL(relaxed_value_behind_a_released_flag, 2, 32) {
  if (threadIdx.x) return;
  relaxed_int value(a.x[0]), flag(a.flag[0]);
  if (blockIdx.x == 0) {
    value.store(42, relaxed);
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.y[0] = value.load(relaxed);
  }
}

// wrong: fence.missing | another one between
KERNEL(atomics_behind_atomics, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    atomicExch(&a.x[0], 42);  // here
    atomicExch(a.flag, 1);    // here
  } else {
    while (atomicAdd(a.flag, 0) == 0) {  // here
    }
    a.y[0] = atomicAdd(&a.x[0], 0);  // here
  }
}

// right
KERNEL(atomics_behind_atomics_and_fences, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    atomicExch(&a.x[0], 42);
    __threadfence();
    atomicExch(a.flag, 1);
  } else {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.y[0] = atomicAdd(&a.x[0], 0);
  }
}

// wrong: fence.missing | another one between
KERNEL(values_of_all_threads_behind_a_flag, 2, 64) {
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[threadIdx.x] = threadIdx.x + 1;  // here
    __syncthreads();
    if (threadIdx.x == 0) flag[0] = 1;  // here
  } else {
    if (threadIdx.x == 0)
      while (flag[0] == 0) {  // here
      }
    __syncthreads();
    a.y[threadIdx.x] = value[63 - threadIdx.x];  // here
  }
}

// right
KERNEL(values_of_all_threads_behind_a_fence_and_a_flag, 2, 64) {
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      flag[0] = 1;
    }
  } else {
    if (threadIdx.x == 0) {
      while (flag[0] == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    a.y[threadIdx.x] = value[63 - threadIdx.x];
  }
}

// wrong: fence.missing
KERNEL(value_behind_two_flags, 3, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[0] = 42;  // here
    flag[0] = 1;
  } else if (blockIdx.x == 1) {
    while (flag[0] == 0) {
    }
    flag[1] = 1;
  } else {
    while (flag[1] == 0) {
    }
    a.y[0] = value[0];  // here
  }
}

// right
KERNEL(value_behind_two_flags_and_fences, 3, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    value[0] = 42;
    __threadfence();
    flag[0] = 1;
  } else if (blockIdx.x == 1) {
    while (flag[0] == 0) {
    }
    __threadfence();
    flag[1] = 1;
  } else {
    while (flag[1] == 0) {
    }
    __threadfence();
    a.y[0] = value[0];
  }
}

// ---- what polls, counts or carries its flag with it -----------------------------------------------------------------

// right
KERNEL(flags_that_are_polled_behind_flags, 3, 32) {
  if (threadIdx.x) return;
  volatile int* flag = a.flag;
  if (blockIdx.x == 0) {
    flag[0] = 1;
  } else if (blockIdx.x == 1) {
    while (flag[0] == 0) {
    }
    flag[1] = 1;
  } else {
    while (flag[1] == 0) {
    }
    while (flag[0] == 0) {
    }
    a.y[0] = 1;
  }
}

// right
KERNEL(values_with_their_flags_in_one_word, 4, 32) {
  if (threadIdx.x) return;
  unsigned long long before = 0;
  if (blockIdx.x > 0) do
      before = atomicAdd(&a.words[blockIdx.x - 1], 0ull);
    while (before >> 32 == 0);
  atomicExch(&a.words[blockIdx.x], 1ull << 32 | (unsigned(before) + blockIdx.x));
}

// right
KERNEL(statistics_and_a_relaxed_flag, 4, 32) {
  if (threadIdx.x) return;
  volatile int* stop = a.flag;
  const int ticket = atomicAdd(&a.flag[1], 1);
  atomicMax(&a.x[0], ticket);
  atomicAdd(&a.x[1], 1);
  if (ticket == 2) stop[0] = 1;
  while (stop[0] == 0) {
  }
  atomicAdd(&a.x[2], 1);
  atomicMax(&a.x[3], ticket);
}

// right
KERNEL(best_so_far_of_tickets, 8, 32) {
  if (threadIdx.x) return;
  volatile int* best = a.x;
  for (int k = atomicAdd(a.flag, 1); k < 64; k = atomicAdd(a.flag, 1)) {
    const int mine = k * 37 % 64;
    if (best[0] < mine) atomicMax(&a.x[0], mine);
  }
}

// right
KERNEL(stop_once_it_is_found, 8, 32) {
  if (threadIdx.x) return;
  volatile int* found = a.x;
  for (int k = atomicAdd(a.flag, 1); k < 64 && !found[0]; k = atomicAdd(a.flag, 1))
    if (k == 20) found[0] = 1;
}

// ---- the last block -------------------------------------------------------------------------------------------------

// wrong: fence.missing
KERNEL(last_block_reads_volatile_sums, 4, 32) {
  if (threadIdx.x) return;
  volatile int* sums = a.x;
  sums[blockIdx.x] = blockIdx.x + 1;                  // here
  if (atomicAdd(a.flag, 1) != gridDim.x - 1) return;  // here
  int total = 0;
  for (int k = 0; k < gridDim.x; ++k) total += sums[k];  // here
  a.y[0] = total;
}

// right
KERNEL(last_block_reads_volatile_sums_behind_fences, 4, 32) {
  if (threadIdx.x) return;
  volatile int* sums = a.x;
  sums[blockIdx.x] = blockIdx.x + 1;
  __threadfence();
  if (atomicAdd(a.flag, 1) != gridDim.x - 1) return;
  __threadfence();
  int total = 0;
  for (int k = 0; k < gridDim.x; ++k) total += sums[k];
  a.y[0] = total;
}

// ---- all blocks wait for each other --------------------------------------------------------------------------------

// wrong: fence.missing
KERNEL(barrier_of_all_blocks, 4, 64) {
  volatile int* value = a.x;
  value[blockIdx.x * 64 + threadIdx.x] = threadIdx.x + 1;  // here
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(a.flag, 1);
    while (atomicAdd(a.flag, 0) < 4) {
    }
  }
  __syncthreads();
  a.y[blockIdx.x * 64 + threadIdx.x] = value[(blockIdx.x + 1) % 4 * 64 + threadIdx.x];  // here
}

// right
KERNEL(barrier_of_all_blocks_with_fences, 4, 64) {
  volatile int* value = a.x;
  value[blockIdx.x * 64 + threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(a.flag, 1);
    while (atomicAdd(a.flag, 0) < 4) {
    }
    __threadfence();
  }
  __syncthreads();
  a.y[blockIdx.x * 64 + threadIdx.x] = value[(blockIdx.x + 1) % 4 * 64 + threadIdx.x];
}

// ---- locks ----------------------------------------------------------------------------------------------------------

__device__ void take(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
}

// wrong: fence.missing | another one between
KERNEL(volatile_counter_in_a_lock, 4, 32) {
  if (threadIdx.x) return;
  volatile int* count = a.x;
  take(a.flag);
  count[0] = count[0] + 1;  // here
  atomicExch(a.flag, 0);    // here
}

// right
KERNEL(volatile_counter_in_a_lock_with_fences, 4, 32) {
  if (threadIdx.x) return;
  volatile int* count = a.x;
  take(a.flag);
  __threadfence();
  count[0] = count[0] + 1;
  __threadfence();
  atomicExch(a.flag, 0);
}

// wrong: fence.missing | __threadfence() before line
KERNEL(volatile_write_in_a_lock_without_an_acquire, 4, 32) {
  if (threadIdx.x) return;
  volatile int* last = a.x;
  take(a.flag);
  last[0] = blockIdx.x + 1;  // here
  __threadfence();
  atomicExch(a.flag, 0);
}

// wrong: fence.missing | another one between
KERNEL(counter_in_a_lock_of_many_blocks_and_warps, 3, 64) {
  if (threadIdx.x % 32) return;
  take(a.flag);
  a.x[0] += 1;            // here
  atomicExch(a.flag, 0);  // here
}

// right
KERNEL(counter_in_a_lock_of_many_blocks_and_warps_with_fences, 3, 64) {
  if (threadIdx.x % 32) return;
  take(a.flag);
  __threadfence();
  a.x[0] += 1;
  __threadfence();
  atomicExch(a.flag, 0);
}

// wrong: fence.missing | __threadfence_block() before line
KERNEL(counter_in_a_lock_of_one_block, 1, 256) {
  if (threadIdx.x % 32) return;
  take(a.flag);
  a.x[0] += 1;            // here
  atomicExch(a.flag, 0);  // here
}

// right
KERNEL(counter_in_a_lock_of_one_block_with_fences, 1, 256) {
  if (threadIdx.x % 32) return;
  take(a.flag);
  __threadfence_block();
  a.x[0] += 1;
  __threadfence_block();
  atomicExch(a.flag, 0);
}

// wrong: fence.missing | __threadfence_block() before line
KERNEL(shared_counter_in_a_lock_in_shared, 1, 256) {
  __shared__ int s_lock, s_count;
  if (threadIdx.x == 0) s_lock = s_count = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    take(&s_lock);
    s_count += 1;            // here
    atomicExch(&s_lock, 0);  // here
  }
  __syncthreads();
  if (threadIdx.x == 0) a.y[0] = s_count;
}

// right
KERNEL(shared_counter_in_a_lock_in_shared_with_fences, 1, 256) {
  __shared__ int s_lock, s_count;
  if (threadIdx.x == 0) s_lock = s_count = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    take(&s_lock);
    __threadfence_block();
    s_count += 1;
    __threadfence_block();
    atomicExch(&s_lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) a.y[0] = s_count;
}

// wrong: fence.missing | __threadfence_block() before line
KERNEL(counter_in_a_lock_in_shared, 1, 256) {
  __shared__ int s_lock;
  if (threadIdx.x == 0) s_lock = 0;
  __syncthreads();
  if (threadIdx.x % 32) return;
  take(&s_lock);
  a.x[0] += 1;             // here
  atomicExch(&s_lock, 0);  // here
}

// right
KERNEL(counter_in_a_lock_in_shared_with_fences, 1, 256) {
  __shared__ int s_lock;
  if (threadIdx.x == 0) s_lock = 0;
  __syncthreads();
  if (threadIdx.x % 32) return;
  take(&s_lock);
  __threadfence_block();
  a.x[0] += 1;
  __threadfence_block();
  atomicExch(&s_lock, 0);
}

// wrong: fence.missing | __threadfence_block() before line
KERNEL(shared_counter_in_a_lock_in_global, 1, 256) {
  __shared__ int s_count;
  if (threadIdx.x == 0) s_count = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    take(a.flag);
    s_count += 1;           // here
    atomicExch(a.flag, 0);  // here
  }
  __syncthreads();
  if (threadIdx.x == 0) a.y[0] = s_count;
}

// wrong: race.global
KERNEL(counter_of_one_block_without_a_lock, 1, 256) {
  if (threadIdx.x % 32) return;
  a.x[0] += 1;  // here
}

// wrong: race.shared | one atomic
KERNEL(shared_counter_beside_a_lock, 1, 256) {
  __shared__ int s_lock, s_count;
  if (threadIdx.x == 0) s_lock = s_count = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    s_count += 1;  // here
    take(&s_lock);
    atomicExch(&s_lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) a.y[0] = s_count;
}
