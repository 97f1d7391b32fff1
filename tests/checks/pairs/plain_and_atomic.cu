// A plain read, and atomics of other threads on the same word: a race, unless what is read is only the first guess of a
// compare-and-swap.
#include <cooperative_groups.h>

#include <cuda/atomic>

#include "pairs.cuh"

namespace cg = cooperative_groups;
template <class T>
using device_atomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

// ---- a place in the output, from a counter --------------------------------------------------------------------------

// wrong: race.global | use what the atomic returns
KERNEL(place_read_plainly, 4, 32) {
  if (threadIdx.x) return;
  const int i = a.x[0];  // here
  a.x[1 + i] = blockIdx.x;
  atomicAdd(a.x, 1);  // here
}

// right
KERNEL(place_from_the_atomic, 4, 32) {
  if (threadIdx.x) return;
  const int i = atomicAdd(a.x, 1);
  a.x[1 + i] = blockIdx.x;
}

// wrong: race.shared
KERNEL(place_read_plainly_in_shared, 1, 128) {
  __shared__ int s_count, s_kept[length];
  if (threadIdx.x == 0) s_count = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    const int i = s_count;  // here
    s_kept[i] = threadIdx.x;
    atomicAdd(&s_count, 1);  // here
  }
  __syncthreads();
  if (threadIdx.x < s_count) a.x[threadIdx.x] = s_kept[threadIdx.x];
}

// right
KERNEL(place_from_the_atomic_in_shared, 1, 128) {
  __shared__ int s_count, s_kept[length];
  if (threadIdx.x == 0) s_count = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    const int i = atomicAdd(&s_count, 1);
    s_kept[i] = threadIdx.x;
  }
  __syncthreads();
  if (threadIdx.x < s_count) a.x[threadIdx.x] = s_kept[threadIdx.x];
}

// ---- a look, then an atomic -----------------------------------------------------------------------------------------

// wrong: race.global
KERNEL(maximum_after_a_look, 4, 64) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x + 1;
  if (a.x[0] < v)           // here
    atomicMax(&a.x[0], v);  // here
}

// right
KERNEL(maximum_after_a_volatile_look, 4, 64) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x + 1;
  if (*static_cast<volatile int*>(&a.x[0]) < v) atomicMax(&a.x[0], v);
}

// wrong: race.shared
KERNEL(maximum_after_a_look_in_shared, 2, 128) {
  __shared__ int s_most;
  if (threadIdx.x == 0) s_most = 0;
  __syncthreads();
  const int v = a.x[threadIdx.x] + threadIdx.x;
  if (s_most < v)           // here
    atomicMax(&s_most, v);  // here
  __syncthreads();
  if (threadIdx.x == 0) a.y[blockIdx.x] = s_most;
}

// right
KERNEL(maximum_in_shared, 2, 128) {
  __shared__ int s_most;
  if (threadIdx.x == 0) s_most = 0;
  __syncthreads();
  const int v = a.x[threadIdx.x] + threadIdx.x;
  atomicMax(&s_most, v);
  __syncthreads();
  if (threadIdx.x == 0) a.y[blockIdx.x] = s_most;
}

// wrong: race.global
KERNEL(exchange_after_a_look, 4, 32) {
  if (threadIdx.x) return;
  if (a.flag[0] == 0)                                         // here
    if (atomicExch(&a.flag[0], 1) == 0) a.x[0] = blockIdx.x;  // here
}

// right
KERNEL(exchange_without_a_look, 4, 32) {
  if (threadIdx.x) return;
  if (atomicExch(&a.flag[0], 1) == 0) a.x[0] = blockIdx.x;
}

// wrong: race.global
KERNEL(swap_of_another_value_than_was_read, 4, 32) {
  if (threadIdx.x) return;
  const int i = a.x[0];                        // here
  atomicCAS(&a.x[0], blockIdx.x ? 7 : 0, 10);  // here
  a.y[blockIdx.x] = i;
}

// ---- a value that is counted up, read and written out ---------------------------------------------------------------

// wrong: race.global
KERNEL(total_read_plainly, 4, 32) {
  if (threadIdx.x) return;
  atomicAdd(&a.x[0], 1);     // here
  a.y[blockIdx.x] = a.x[0];  // here
}

// right
KERNEL(total_read_by_the_last, 4, 32) {
  if (threadIdx.x) return;
  atomicAdd(&a.x[0], 1);
  __threadfence();
  if (atomicAdd(&a.x[1], 1) != gridDim.x - 1) return;
  __threadfence();
  a.y[0] = *static_cast<volatile int*>(&a.x[0]);
}

// right
KERNEL_BY(total_read_after_the_grid, launch_together, 4, 32) {
  atomicAdd(&a.x[0], 1);
  cg::this_grid().sync();
  if (threadIdx.x == 0) a.y[blockIdx.x] = a.x[0];
}

// ---- a flag that is polled ------------------------------------------------------------------------------------------

// wrong: race.global | volatile or atomic
KERNEL(flag_polled_plainly, 4, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[0] = 1;
    __threadfence();
    atomicExch(&a.flag[0], 1);  // here
  } else {
    for (int k = 0; k < 100000; ++k) {
      if (a.flag[0]) break;  // here
      __nanosleep(20);
    }
    __threadfence();
    a.y[blockIdx.x] = 1;
  }
}

// right
KERNEL(flag_polled_as_volatile, 4, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[0] = 1;
    __threadfence();
    atomicExch(&a.flag[0], 1);
  } else {
    while (*static_cast<volatile int*>(&a.flag[0]) == 0) {
    }
    __threadfence();
    a.y[blockIdx.x] = a.x[0];
  }
}

// right
KERNEL(flag_polled_by_inline_ptx, 4, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[0] = 1;
    asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(__cvta_generic_to_global(a.flag)) : "memory");
  } else {
    int seen;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
                   : "=r"(seen)
                   : "l"(__cvta_generic_to_global(a.flag))
                   : "memory");
    } while (!seen);
    a.y[blockIdx.x] = a.x[0];
  }
}

// ---- loops around a compare-and-swap --------------------------------------------------------------------------------

template <class T, class Bits, class Op>
__device__ void update(T* at, Op op) {
  static_assert(sizeof(T) == sizeof(Bits), "");
  Bits* const bits = reinterpret_cast<Bits*>(at);
  Bits old = *bits, assumed;
  do {
    assumed = old;
    T value;
    memcpy(&value, &assumed, sizeof value);
    value = op(value);
    Bits wanted;
    memcpy(&wanted, &value, sizeof value);
    old = atomicCAS(bits, assumed, wanted);
  } while (old != assumed);
}

// right
KERNEL(loop_do_while, 4, 64) {
  int old = a.x[0], assumed;
  do {
    assumed = old;
    old = atomicCAS(&a.x[0], assumed, assumed + 3);
  } while (old != assumed);
}

// right
KERNEL(loop_for, 4, 64) {
  for (int old = a.x[0], seen; (seen = atomicCAS(&a.x[0], old, old ^ 5)) != old; old = seen) {
  }
}

// right
KERNEL(loop_that_reads_again, 4, 64) {
  int old;
  do old = a.x[0];
  while (atomicCAS(&a.x[0], old, old + 1) != old);
}

// right
KERNEL(loop_of_a_float_maximum, 4, 64) {
  const float v = blockIdx.x * 64.0f + threadIdx.x;
  update<float, int>(&a.f[0], [=](float old) { return fmaxf(old, v); });
}

// right
KERNEL(loop_of_a_double_minimum, 4, 64) {
  const double v = -1.0 - blockIdx.x - threadIdx.x;
  update<double, unsigned long long>(&a.d[0], [=](double old) { return fmin(old, v); });
}

// right
KERNEL(loops_of_products_in_many_places, 4, 64) {
  update<float, unsigned>(&a.f[threadIdx.x], [=](float old) { return old * 2 + 1; });
  update<double, unsigned long long>(&a.d[threadIdx.x % 7], [=](double old) { return old * 3 + 1; });
}

// right
KERNEL(loop_in_shared, 2, 128) {
  __shared__ float s_product;
  if (threadIdx.x == 0) s_product = 1;
  __syncthreads();
  update<float, int>(&s_product, [=](float old) { return old + threadIdx.x; });
  __syncthreads();
  if (threadIdx.x == 0) a.f[blockIdx.x] = s_product;
}

// right
KERNEL(loops_in_shared_in_many_places, 2, 128) {
  __shared__ double s_bins[8];
  __shared__ int s_least;
  if (threadIdx.x < 8) s_bins[threadIdx.x] = 0;
  if (threadIdx.x == 8) s_least = 1000;
  __syncthreads();
  update<double, unsigned long long>(&s_bins[threadIdx.x % 8], [=](double old) { return old + 1; });
  update<int, int>(&s_least, [=](int old) { return min(old, static_cast<int>(threadIdx.x)); });
  __syncthreads();
  if (threadIdx.x < 8) a.d[blockIdx.x * 8 + threadIdx.x] = s_bins[threadIdx.x] + s_least;
}

// right
KERNEL(loop_of_a_short, 4, 64) {
  unsigned short* const at = reinterpret_cast<unsigned short*>(a.x) + blockIdx.x % 2;
  unsigned short old = *at, assumed;
  do {
    assumed = old;
    old = atomicCAS(at, assumed, static_cast<unsigned short>(assumed + 1));
  } while (old != assumed);
}

// right
KERNEL(loop_of_libcuxx, 4, 64) {
  device_atomic<int> x(a.x[0]);
  int old = x.load(cuda::memory_order_relaxed);
  while (!x.compare_exchange_weak(old, old + 1, cuda::memory_order_relaxed)) {
  }
}

// right
KERNEL(loop_of_inline_ptx, 4, 64) {
  int old = a.x[0], assumed;
  do {
    assumed = old;
    asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(__cvta_generic_to_global(a.x)), "r"(assumed), "r"(assumed + 2)
                 : "memory");
  } while (old != assumed);
}

// right
KERNEL(loop_that_may_not_begin, 4, 64) {
  const int mine = blockIdx.x * 64 + threadIdx.x;
  int old = a.x[0];
  while (old < mine) {
    const int before = atomicCAS(&a.x[0], old, mine);
    if (before == old) break;
    old = before;
  }
}

// right
KERNEL(loop_in_shared_that_may_not_begin, 2, 128) {
  __shared__ int s_most;
  if (threadIdx.x == 0) s_most = 50;
  __syncthreads();
  int old = s_most;
  while (old < static_cast<int>(threadIdx.x)) {
    const int before = atomicCAS(&s_most, old, threadIdx.x);
    if (before == old) break;
    old = before;
  }
  __syncthreads();
  if (threadIdx.x == 0) a.x[0] = s_most;
}

// wrong: race.global
KERNEL(loop_whose_first_value_is_also_written_out, 4, 32) {
  if (threadIdx.x) return;
  const int before = a.x[0];  // here
  atomicAdd(&a.x[0], 1);      // here
  int old = before + 1, assumed;
  do {
    assumed = old;
    old = atomicCAS(&a.x[0], assumed, assumed + 3);
  } while (old != assumed);
  a.y[blockIdx.x] = before;
}

// wrong: race.global
KERNEL(lock_polled_plainly, 4, 32) {
  if (threadIdx.x) return;
  bool is_mine = false;
  for (int k = 0; k < 100000 && !is_mine; ++k) {
    __nanosleep(20);
    is_mine = a.flag[0] == 0 && atomicExch(&a.flag[0], 1) == 0;  // here
  }
  __threadfence();
  a.x[0] += 1;
  __threadfence();
  atomicExch(&a.flag[0], 0);
}

// right
KERNEL(lock_polled_as_volatile, 4, 32) {
  if (threadIdx.x) return;
  volatile int* const lock = a.flag;
  while (*lock != 0 || atomicCAS(a.flag, 0, 1) != 0) {
  }
  __threadfence();
  a.x[0] += 1;
  __threadfence();
  atomicExch(a.flag, 0);
}

// ---- an atomic that changes nothing ---------------------------------------------------------------------------------

// right
KERNEL(read_beside_an_addition_of_0, 4, 32) {
  if (threadIdx.x) return;
  a.y[blockIdx.x] = blockIdx.x % 2 ? atomicAdd(&a.x[0], 0) : a.x[0];
}

// wrong: race.global
KERNEL(read_beside_an_addition_of_1, 4, 32) {
  if (threadIdx.x) return;
  a.y[blockIdx.x] = blockIdx.x % 2 ? atomicAdd(&a.x[0], 1)  // here
                                   : a.x[0];                // here
}

// right
KERNEL(read_beside_or_max_and_failing_swap, 4, 32) {
  if (threadIdx.x) return;
  const int what = blockIdx.x % 4;
  a.y[blockIdx.x] = what == 0   ? atomicOr(&a.x[0], 0)
                    : what == 1 ? atomicMax(&a.x[0], -1)
                    : what == 2 ? atomicCAS(&a.x[0], 7, 8)
                                : a.x[0];
}

// wrong: race.global
KERNEL(write_beside_an_addition_of_0, 4, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x)
    a.y[blockIdx.x] = atomicAdd(&a.x[0], 0);  // here
  else
    a.x[0] = 1;  // here
}

// right
KERNEL(read_beside_an_addition_of_0_in_shared, 1, 64) {
  __shared__ int s_x;
  if (threadIdx.x == 0) s_x = 5;
  __syncthreads();
  a.y[threadIdx.x] = threadIdx.x < 32 ? atomicAdd(&s_x, 0) : s_x;
}

// wrong: race.shared
KERNEL(read_beside_an_addition_of_1_in_shared, 1, 64) {
  __shared__ int s_x;
  if (threadIdx.x == 0) s_x = 5;
  __syncthreads();
  a.y[threadIdx.x] = threadIdx.x < 32 ? atomicAdd(&s_x, 1)  // here
                                      : s_x;                // here
}

// ---- trees: a line that reads two elements and writes one -----------------------------------------------------------

// wrong: race.shared | no barrier separates them
KERNEL(tree_without_barriers, 1, 256) {
  __shared__ int s[256];
  s[threadIdx.x] = a.x[threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    const int k = 2 * d * threadIdx.x;
    if (k < 256) s[k] += s[k + d];  // here
  }
  if (threadIdx.x == 0) a.y[0] = s[0];
}

// right
KERNEL(tree_with_barriers, 1, 256) {
  __shared__ int s[256];
  s[threadIdx.x] = a.x[threadIdx.x];
  for (int d = 1; d < 256; d *= 2) {
    __syncthreads();
    const int k = 2 * d * threadIdx.x;
    if (k < 256) s[k] += s[k + d];
  }
  if (threadIdx.x == 0) a.y[0] = s[0];
}

// wrong: race.shared | by one atomic
KERNEL(update_of_one_element, 1, 256) {
  __shared__ int s[4];
  if (threadIdx.x < 4) s[threadIdx.x] = 0;
  __syncthreads();
  s[threadIdx.x / 32 % 2] += threadIdx.x + a.x[threadIdx.x];  // here
  __syncthreads();
  if (threadIdx.x < 4) a.y[threadIdx.x] = s[threadIdx.x];
}

// wrong: race.global | no barrier separates them
KERNEL(tree_in_global_memory_without_barriers, 1, 256) {
  for (int d = 1; d < 256; d *= 2) {
    const int k = 2 * d * threadIdx.x;
    if (k < 256) a.x[k] += a.x[k + d] + 1;  // here
  }
}

// ---- a place that several threads look at and set -------------------------------------------------------------------

// wrong: race.global | relaxed atomics
KERNEL(look_and_set, 1, 64) {
  for (int k = 0; k < 2; ++k) {
    const int w = (threadIdx.x + 7 * k) % 64;
    if (a.x[w] == 0) a.x[w] = 5;  // here
  }
}

// right
KERNEL(look_and_set_by_relaxed_atomics, 1, 64) {
  for (int k = 0; k < 2; ++k) {
    const int w = (threadIdx.x + 7 * k) % 64;
    cuda::atomic_ref<int, cuda::thread_scope_device> level(a.x[w]);
    if (level.load(cuda::memory_order_relaxed) == 0) level.store(5, cuda::memory_order_relaxed);
  }
}
