// test: vgpu
// test: runs too_few left drop_missing uninitialised too_many atomic_wait timed
// Barriers in shared memory that no thread can pass, or that are used wrongly: each is reported as what it is, at the
// learner's line.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda/atomic>
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void too_few() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x + 1);
  __syncthreads();
  barrier.arrive_and_wait();
}

__global__ void left() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  if (threadIdx.x < 40) return;
  barrier.arrive_and_wait();
}

__global__ void drop_missing() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  if (threadIdx.x >= 40) {
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
  } else {
    (void)barrier.arrive();  // arrive_and_drop() would let the others pass twice
  }
  __syncthreads();
}

__global__ void uninitialised() {
  __shared__ Barrier barrier;
  barrier.arrive_and_wait();
}

__global__ void too_many() {
  __shared__ uint64_t object;
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&object));
  asm volatile("mbarrier.init.shared.b64 [%0], 4;" ::"r"(at) : "memory");
  asm volatile("{.reg .b64 s; mbarrier.arrive.noComplete.shared.b64 s, [%0], 4;}" ::"r"(at) : "memory");
}

/// cuda::atomic waits in a loop that sleeps longer and longer; no thread ever writes.
__global__ void atomic_wait() {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
  if (threadIdx.x == 0) flag.store(0);
  __syncthreads();
  flag.wait(0);
}

/// A wait with a limit of 50 ms ends by itself, though no thread arrives.
__global__ void timed() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x + 1);
  __syncthreads();
  const uint64_t state = barrier.arrive();
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  uint64_t begin, now;
  uint32_t done;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(at), "l"(state)
                 : "memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (!done && now - begin < 50'000'000);
  if (threadIdx.x == 0) printf("the wait is over: %s\n", done ? "completed" : "timed out");
}

int main(int, char** arguments) {
  const char* which = arguments[1];
  const auto is = [&](const char* name) { return std::strcmp(which, name) == 0; };
  if (is("too_few")) too_few<<<3, 128>>>();
  if (is("left")) left<<<1, 96>>>();
  if (is("drop_missing")) drop_missing<<<1, 64>>>();
  if (is("uninitialised")) uninitialised<<<1, 32>>>();
  if (is("too_many")) too_many<<<1, 1>>>();
  if (is("atomic_wait")) atomic_wait<<<1, 64>>>();
  if (is("timed")) timed<<<2, 64>>>();
  std::printf("%s: %s\n", which, cudaGetErrorName(cudaDeviceSynchronize()));
}
