// Values behind flags where all accesses are strong, so that none races: the memory model lets a value come later than
// its flag all the same.
#include <cooperative_groups.h>

#include <cuda/atomic>

#include "pairs.cuh"

using Relaxed = cuda::atomic_ref<int, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed;

__device__ int load(int* p) {
  return Relaxed(*p).load(relaxed);
}
__device__ void store(int* p, int value) {
  Relaxed(*p).store(value, relaxed);
}

// ---- volatile -------------------------------------------------------------------------------------------------------

// wrong: fence.missing
KERNEL(volatile_value_and_flag, 2, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    *value = 7;  // here
    *flag = 1;   // here
  } else {
    while (*flag == 0) {  // here
    }
    a.y[0] = *value;  // here
  }
}

// right
KERNEL(volatile_value_and_flag_with_fences, 2, 32) {
  if (threadIdx.x) return;
  volatile int *value = a.x, *flag = a.flag;
  if (blockIdx.x == 0) {
    *value = 7;
    __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    __threadfence();
    a.y[0] = *value;
  }
}

// ---- relaxed --------------------------------------------------------------------------------------------------------

// wrong: fence.missing
KERNEL(relaxed_value_and_flag, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    store(a.x, 7);
    store(a.flag, 1);
  } else {
    while (load(a.flag) == 0) {
    }
    a.y[0] = load(a.x);
  }
}

// wrong: fence.missing
KERNEL(relaxed_with_a_fence_of_the_writer, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    store(a.x, 7);
    __threadfence();
    store(a.flag, 1);
  } else {
    while (load(a.flag) == 0) {
    }
    a.y[0] = load(a.x);
  }
}

// wrong: fence.missing
KERNEL(relaxed_with_a_fence_of_the_reader, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    store(a.x, 7);
    store(a.flag, 1);
  } else {
    while (load(a.flag) == 0) {
    }
    __threadfence();
    a.y[0] = load(a.x);
  }
}

// wrong: fence.missing
KERNEL(relaxed_with_fences_of_the_block, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    store(a.x, 7);
    __threadfence_block();
    store(a.flag, 1);
  } else {
    while (load(a.flag) == 0) {
    }
    __threadfence_block();
    a.y[0] = load(a.x);
  }
}

// right
KERNEL(relaxed_with_both_fences, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    store(a.x, 7);
    __threadfence();
    store(a.flag, 1);
  } else {
    while (load(a.flag) == 0) {
    }
    __threadfence();
    a.y[0] = load(a.x);
  }
}

// right
KERNEL(release_and_acquire, 2, 32) {
  if (threadIdx.x) return;
  Relaxed flag(*a.flag);
  if (blockIdx.x == 0) {
    store(a.x, 7);
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.y[0] = load(a.x);
  }
}

// wrong: fence.missing
KERNEL(atomics_for_value_and_flag, 3, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x > 0) {
    while (load(&a.flag[blockIdx.x - 1]) == 0) {
    }
  }
  const int before = blockIdx.x ? load(&a.x[blockIdx.x - 1]) : 0;
  atomicExch(&a.x[blockIdx.x], before + 1);
  atomicExch(&a.flag[blockIdx.x], 1);
}

// right
KERNEL(atomics_for_value_and_flag_with_fences, 3, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x > 0) {
    while (load(&a.flag[blockIdx.x - 1]) == 0) {
    }
    __threadfence();
  }
  const int before = blockIdx.x ? load(&a.x[blockIdx.x - 1]) : 0;
  atomicExch(&a.x[blockIdx.x], before + 1);
  __threadfence();
  atomicExch(&a.flag[blockIdx.x], 1);
}

// ---- nothing has to come before something else ----------------------------------------------------------------------

// right
KERNEL(value_and_flag_in_one_word, 3, 32) {
  if (threadIdx.x) return;
  using Word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
  unsigned long long before = 0;
  if (blockIdx.x > 0)
    while ((before = Word(a.words[blockIdx.x - 1]).load(relaxed)) == 0) {
    }
  Word(a.words[blockIdx.x]).store(1ull << 32 | (before + blockIdx.x), relaxed);
}

// right
KERNEL(two_words_with_a_flag_each, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    store(&a.x[0], 7 << 1 | 1);
    store(&a.x[1], 8 << 1 | 1);
  } else {
    int first, second;
    while (((second = load(&a.x[1])) & 1) == 0) {
    }
    while (((first = load(&a.x[0])) & 1) == 0) {
    }
    a.y[0] = (first >> 1) + (second >> 1);
  }
}

// right
KERNEL(look_back, 4, 32) {
  if (threadIdx.x) return;
  // A status: 0 nothing, 1 the block's own sum, 2 the sum of all up to it; above it the sum.
  const int own = blockIdx.x + 1;
  store(&a.x[blockIdx.x], own << 2 | (blockIdx.x ? 1 : 2));
  int before = 0;
  for (int k = static_cast<int>(blockIdx.x) - 1; k >= 0;) {
    const int status = load(&a.x[k]);
    if ((status & 3) == 0) continue;
    before += status >> 2;
    if ((status & 3) == 2) break;
    --k;
  }
  store(&a.x[blockIdx.x], (before + own) << 2 | 2);
  a.y[blockIdx.x] = before;
}

// right
KERNEL(tickets, 4, 32) {
  __shared__ int s_ticket;
  if (threadIdx.x == 0) s_ticket = atomicAdd(a.flag, 1);
  __syncthreads();
  if (threadIdx.x == 0) a.y[s_ticket] = s_ticket;
}

// right
KERNEL(histogram, 4, 32) {
  atomicAdd(&a.x[threadIdx.x % 3], 1);
  atomicAdd(&a.x[threadIdx.x % 5], 2);
}

// right
KERNEL(an_older_count_will_do, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    store(&a.x[0], 1);
    store(&a.x[1], 1);
  } else if (load(&a.x[1])) {
    a.y[0] = load(&a.x[0]) & 0;
  }
}

// right
KERNEL_BY(grid_barrier, launch_together, 2, 32) {
  if (threadIdx.x == 0) store(&a.x[blockIdx.x], 7);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) a.y[blockIdx.x] = load(&a.x[1 - blockIdx.x]);
}

// ---- a write behind the flag ----------------------------------------------------------------------------------------

// wrong: fence.missing | __threadfence() before line
KERNEL(written_behind_a_flag_without_a_fence, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[0] = 7;  // here
    __threadfence();
    store(a.flag, 1);
  } else {
    while (load(a.flag) == 0) {
    }
    a.x[0] = 8;  // here
  }
}

// right
KERNEL(written_behind_a_flag, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[0] = 7;
    __threadfence();
    store(a.flag, 1);
  } else {
    while (load(a.flag) == 0) {
    }
    __threadfence();
    a.x[0] = 8;
  }
}
