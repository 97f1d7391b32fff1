// Read-only loads: __ldg() and pointers that are const and __restrict__, of memory that the launch writes or does not.
#include "pairs.cuh"

// ---- behind a flag with both fences ---------------------------------------------------------------------------------

// wrong: race.read_only | read it by a plain load
KERNEL(prefix_behind_a_flag_by_ldg, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[3] = 7;  // here
    __threadfence();
    atomicExch(a.flag, 1);
  } else {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.y[0] = __ldg(&a.x[3]);  // here
  }
}

// right
KERNEL(prefix_behind_a_flag, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.x[3] = 7;
    __threadfence();
    atomicExch(a.flag, 1);
  } else {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    a.y[0] = a.x[3];
  }
}

// wrong: race.read_only | by thread 0 of block 1
KERNEL(two_at_once_by_ldg, 2, 32) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    a.words[0] = 7;
    a.words[1] = 8;
    __threadfence();
    atomicExch(a.flag, 1);
  } else {
    while (atomicAdd(a.flag, 0) == 0) {
    }
    __threadfence();
    const uint4 both = __ldg(reinterpret_cast<const uint4*>(a.words));  // here
    a.y[0] = both.x + both.z;
  }
}

// ---- within a block -------------------------------------------------------------------------------------------------

// wrong: race.read_only
KERNEL(neighbour_behind_a_barrier_by_ldg, 1, 64) {
  a.x[threadIdx.x] = threadIdx.x;  // here
  __syncthreads();
  a.y[threadIdx.x] = __ldg(&a.x[63 - threadIdx.x]);  // here
}

// right
KERNEL(neighbour_behind_a_barrier, 1, 64) {
  a.x[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a.y[threadIdx.x] = a.x[63 - threadIdx.x];
}

// wrong: race.read_only
KERNEL(own_element_before_it_is_written_by_ldg, 1, 32) {
  a.y[threadIdx.x] = __ldg(&a.x[threadIdx.x]);  // here
  a.x[threadIdx.x] = 1;                         // here
}

// right
KERNEL(other_elements_by_ldg, 4, 64) {
  const unsigned i = blockIdx.x * 64 + threadIdx.x;
  a.x[2 * i] = __ldg(&a.x[2 * i + 1]) + __ldg(&a.y[i]);
}

// wrong: race.read_only
KERNEL(some_of_the_elements_by_ldg, 4, 64) {
  const unsigned i = blockIdx.x * 64 + threadIdx.x;
  a.x[2 * i] = __ldg(&a.x[i == 40 ? 2 * i : 2 * i + 1]);  // here
}

// wrong: race.read_only
KERNEL(counted_and_looked_at_by_ldg, 2, 64) {
  if (blockIdx.x) return;
  atomicAdd(&a.x[threadIdx.x % 7], 1);  // here
  __syncthreads();
  a.y[threadIdx.x] = __ldg(&a.x[5]);  // here
}

// wrong: race.read_only
KERNEL(ldu_of_what_is_written, 1, 32) {
  a.x[threadIdx.x] = 1;  // here
  __syncthreads();
  int value;
  asm volatile("ldu.global.b32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(a.x)));  // here
  a.y[threadIdx.x] = value;
}

// right
KERNEL(ldu_of_what_is_read, 1, 32) {
  int value;
  asm volatile("ldu.global.b32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(a.x)));
  a.y[threadIdx.x] = value;
}

// ---- pointers that are __restrict__ ---------------------------------------------------------------------------------

__global__ void add_one(const int* __restrict__ d_x, int* __restrict__ d_y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  d_y[i] = d_x[i] + 1;  // nvcc makes a read-only load of it
}

// wrong: race.read_only | element 0 of
HOST(in_place_by_restrict) {
  const Args a = make_args();
  add_one<<<8, 128>>>(a.x, a.x);
  print_error();
  free_args(a);
}

// right
HOST(from_one_array_to_another_by_restrict) {
  const Args a = make_args();
  add_one<<<8, 128>>>(a.x, a.y);
  add_one<<<8, 128>>>(a.y, a.x);  // the next launch: what the first one has written is read only in this one
  print_error();
  free_args(a);
}

// right
HOST(parts_of_an_array_by_restrict) {
  const Args a = make_args();
  add_one<<<4, 128>>>(a.x, a.x + 512);
  print_error();
  free_args(a);
}

__global__ void add_one_in_place(const int* d_x, int* d_y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  d_y[i] = d_x[i] + 1;
}

// right
HOST(in_place) {
  const Args a = make_args();
  add_one_in_place<<<8, 128>>>(a.x, a.x);
  print_error();
  free_args(a);
}

// ---- other loads ----------------------------------------------------------------------------------------------------

// right
KERNEL(around_the_first_cache, 1, 64) {
  a.x[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a.y[threadIdx.x] = __ldcg(&a.x[63 - threadIdx.x]) + __ldcs(&a.x[threadIdx.x]);
}
