// Asynchronous copies (cp.async): what they read may not be written until their threads have waited for them.
#include <cuda_pipeline.h>

#include <cuda/barrier>

#include "pairs.cuh"

// ---- the thread that copies, and writes -----------------------------------------------------------------------------

// wrong: race.global | its thread has to wait for it
KERNEL(own_source_written_before_the_wait, 1, 32) {
  __shared__ int s_x[32];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));  // here
  __pipeline_commit();
  a.x[threadIdx.x] = 7;  // here
  __pipeline_wait_prior(0);
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// right
KERNEL(own_source_written_behind_the_wait, 1, 32) {
  __shared__ int s_x[32];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  a.x[threadIdx.x] = 7;
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// wrong: race.global | element 1 of
KERNEL(newest_copy_not_waited_for, 1, 32) {
  __shared__ int s_x[2];
  if (threadIdx.x) return;
  __pipeline_memcpy_async(&s_x[0], &a.x[0], sizeof(int));
  __pipeline_commit();
  __pipeline_memcpy_async(&s_x[1], &a.x[1], sizeof(int));  // here
  __pipeline_commit();
  __pipeline_wait_prior(1);
  a.x[0] = 7;
  a.x[1] = 8;  // here
  __pipeline_wait_prior(0);
  a.y[0] = s_x[0] + s_x[1];
}

// right
KERNEL(older_copy_waited_for, 1, 32) {
  __shared__ int s_x[2];
  if (threadIdx.x) return;
  __pipeline_memcpy_async(&s_x[0], &a.x[0], sizeof(int));
  __pipeline_commit();
  __pipeline_memcpy_async(&s_x[1], &a.x[1], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(1);
  a.x[0] = 7;
  __pipeline_wait_prior(0);
  a.x[1] = 8;
  a.y[0] = s_x[0] + s_x[1];
}

// right
KERNEL(other_places_written_meanwhile, 1, 32) {
  __shared__ int s_x[32];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));
  __pipeline_commit();
  a.x[32 + threadIdx.x] = 7;
  a.y[threadIdx.x] = a.x[threadIdx.x];
  __pipeline_wait_prior(0);
  a.y[threadIdx.x] += s_x[threadIdx.x];
}

// wrong: race.global | atomic
KERNEL(source_of_an_atomic, 1, 32) {
  __shared__ int s_x[32];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));  // here
  __pipeline_commit();
  atomicAdd(&a.x[threadIdx.x], 1);  // here
  __pipeline_wait_prior(0);
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// wrong: race.global
KERNEL(never_waited_for, 1, 32) {
  __shared__ int s_x[32];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));  // here
  a.x[threadIdx.x] = 7;                                                        // here
}

// ---- another thread of the block ------------------------------------------------------------------------------------

// wrong: race.global | its thread has to wait for it
KERNEL(barrier_without_a_wait, 1, 64) {
  __shared__ int s_x[64];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));  // here
  __pipeline_commit();
  __syncthreads();
  a.x[63 - threadIdx.x] = 7;  // here
  __pipeline_wait_prior(0);
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// wrong: race.global
KERNEL(wait_without_a_barrier, 1, 64) {
  __shared__ int s_x[64];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));  // here
  __pipeline_commit();
  __pipeline_wait_prior(0);
  a.x[63 - threadIdx.x] = 7;  // here
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// right
KERNEL(wait_then_barrier, 1, 64) {
  __shared__ int s_x[64];
  __pipeline_memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  a.x[63 - threadIdx.x] = 7;
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// The thread that writes is behind the beginning of the copy in each order, and behind its end in some.
// wrong: race.global
KERNEL(flag_set_before_the_wait, 1, 64) {
  __shared__ int s_x[1];
  if (threadIdx.x == 0) {
    __pipeline_memcpy_async(&s_x[0], &a.x[0], sizeof(int));  // here
    __pipeline_commit();
    __threadfence();
    atomicExch(a.flag, 1);
    __pipeline_wait_prior(0);
    a.y[0] = s_x[0];
  } else if (threadIdx.x == 32) {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.x[0] = 7;  // here
  }
}

// right
KERNEL(flag_set_behind_the_wait, 1, 64) {
  __shared__ int s_x[1];
  if (threadIdx.x == 0) {
    __pipeline_memcpy_async(&s_x[0], &a.x[0], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __threadfence();
    atomicExch(a.flag, 1);
    a.y[0] = s_x[0];
  } else if (threadIdx.x == 32) {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.x[0] = 7;
  }
}

// right
KERNEL(barrier_object_waits_for_the_copies, 1, 64) {
  __shared__ int s_x[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], cuda::aligned_size_t<4>(4), barrier);
  barrier.arrive_and_wait();
  a.x[63 - threadIdx.x] = 7;
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// wrong: race.global
KERNEL(written_before_the_barrier_object, 1, 64) {
  __shared__ int s_x[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], cuda::aligned_size_t<4>(4), barrier);
  a.x[threadIdx.x] = 7;  // here
  barrier.arrive_and_wait();
  a.y[threadIdx.x] = s_x[threadIdx.x];
}

// ---- another block --------------------------------------------------------------------------------------------------

// wrong: race.global
KERNEL(other_block_writes_behind_a_flag_set_early, 2, 32) {
  __shared__ int s_x[1];
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    __pipeline_memcpy_async(&s_x[0], &a.x[0], sizeof(int));  // here
    __pipeline_commit();
    __threadfence();
    atomicExch(a.flag, 1);
    __pipeline_wait_prior(0);
    a.y[0] = s_x[0];
  } else {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.x[0] = 7;  // here
  }
}

// right
KERNEL(other_block_writes_behind_a_flag, 2, 32) {
  __shared__ int s_x[1];
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    __pipeline_memcpy_async(&s_x[0], &a.x[0], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.y[0] = s_x[0];
    __threadfence();
    atomicExch(a.flag, 1);
  } else {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.x[0] = 7;
  }
}

// right
KERNEL(double_buffer_over_its_own_array, 1, 64) {
  __shared__ int s_x[2][64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s_x[0][t], &a.x[t], sizeof(int));
  __pipeline_commit();
  for (int k = 0; k < 4; ++k) {
    if (k < 3) __pipeline_memcpy_async(&s_x[(k + 1) % 2][t], &a.x[64 * (k + 1) + t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    a.x[64 * k + t] = s_x[k % 2][t] + 1;
  }
}

// ---- where they write -----------------------------------------------------------------------------------------------

// wrong: race.shared
KERNEL(read_before_the_barrier_object, 1, 64) {
  __shared__ int s_x[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], cuda::aligned_size_t<4>(4), barrier);  // here
  a.y[threadIdx.x] = s_x[threadIdx.x];                                                            // here
  barrier.arrive_and_wait();
}

// right
KERNEL(one_warp_waits_and_then_all_meet, 1, 64) {
  __shared__ int s_x[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&s_x[threadIdx.x], &a.x[threadIdx.x], cuda::aligned_size_t<4>(4), barrier);
  auto token = barrier.arrive();
  if (threadIdx.x < 32) barrier.wait(std::move(token));
  __syncthreads();
  a.x[threadIdx.x] = s_x[threadIdx.x] + 1;
}

// One warp copies, the other one uses what is there; each place is used again.
// right
KERNEL(producer_and_consumer, 1, 64) {
  __shared__ int s_x[2][32];
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], 64);
    init(&empty[threadIdx.x], 64);
  }
  __syncthreads();
  const int lane = threadIdx.x % 32;
  for (int k = 0; k < 6; ++k) {
    const int stage = k % 2;
    if (threadIdx.x < 32) {
      if (k >= 2) empty[stage].arrive_and_wait();
      cuda::memcpy_async(&s_x[stage][lane], &a.x[32 * k + lane], cuda::aligned_size_t<4>(4), full[stage]);
      (void)full[stage].arrive();
    } else {
      full[stage].arrive_and_wait();
      a.y[32 * k + lane] = s_x[stage][lane] + 1;
      (void)empty[stage].arrive();
    }
  }
}

// wrong: race.shared
KERNEL(producer_does_not_wait, 1, 64) {
  __shared__ int s_x[32];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  if (threadIdx.x == 0) init(&full, 64);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  for (int k = 0; k < 3; ++k) {
    if (threadIdx.x < 32) {
      cuda::memcpy_async(&s_x[lane], &a.x[32 * k + lane], cuda::aligned_size_t<4>(4), full);  // here
      full.arrive_and_wait();
    } else {
      full.arrive_and_wait();
      a.y[32 * k + lane] = s_x[lane] + 1;  // here
    }
  }
}
