// mbarrier as inline PTX: what cuda::barrier hides. Counts, phases and their parity, arrivals that must not complete a
// phase, objects that are used again, arrivals of copies.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void init(uint64_t* object, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(object)), "r"(count) : "memory");
}
__device__ uint64_t arrive(uint64_t* object) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(shared_address(object)) : "memory");
  return state;
}
__device__ bool test(uint64_t* object, uint64_t state) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(shared_address(object)), "l"(state)
               : "memory");
  return done;
}
__device__ bool test_parity(uint64_t* object, uint32_t parity) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "l"(object), "r"(parity)  // a generic address
               : "memory");
  return done;
}

/// One thread alone sees every step.
__global__ void steps(uint32_t* out) {
  __shared__ uint64_t object;
  int k = 0;
  init(&object, 5);
  out[k++] = test_parity(&object, 0);  // phase 0 has begun,
  out[k++] = test_parity(&object, 1);  // and the one before it counts as complete
  uint64_t state;
  uint32_t pending;
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 3;"
               : "=l"(state)
               : "r"(shared_address(&object))
               : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
  out[k++] = pending;  // before that arrival
  asm volatile("mbarrier.arrive.noComplete.b64 %0, [%1], 1;" : "=l"(state) : "l"(&object) : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
  out[k++] = pending;
  out[k++] = test(&object, state);
  arrive(&object);  // the fifth
  out[k++] = test(&object, state);
  out[k++] = test_parity(&object, 0);
  out[k++] = test_parity(&object, 1);
  // Two of the five leave for good: the next phase still counts their arrivals, those after it do not.
  asm volatile("mbarrier.arrive_drop.noComplete.shared.b64 %0, [%1], 2;"
               : "=l"(state)
               : "r"(shared_address(&object))
               : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
  out[k++] = pending;
  for (int n = 0; n < 3; ++n) state = arrive(&object);
  out[k++] = test(&object, state);
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 1;"
               : "=l"(state)
               : "r"(shared_address(&object))
               : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
  out[k++] = pending;
  arrive(&object);
  out[k++] = test(&object, state);
  arrive(&object);
  out[k++] = test(&object, state);
  // The memory is used for another object.
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared_address(&object)) : "memory");
  init(&object, 1);
  state = arrive(&object);
  out[k++] = test(&object, state);
  state = arrive(&object);
  out[k++] = test_parity(&object, 1);
  out[k++] = test_parity(&object, 0);
}

/// Many phases: warps take turns in writing, all read. A thread waits for phase after phase by their parity.
__global__ void phases(int* out, int rounds) {
  __shared__ uint64_t written, read;
  __shared__ int s_value[32];
  if (threadIdx.x == 0) {
    init(&written, 32);
    init(&read, blockDim.x);
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round % warps == warp) {
      s_value[threadIdx.x % 32] = round * 100 + threadIdx.x % 32;
      arrive(&written);
    }
    while (!test_parity(&written, round & 1)) {
    }
    sum = sum * 3 + s_value[(threadIdx.x + round) % 32];
    const uint64_t state = arrive(&read);
    while (!test(&read, state)) {
    }
  }
  out[threadIdx.x] = sum;
}

/// Copies arrive by themselves: with .noinc the count has to include them.
__global__ void copies(const int* in, int* out) {
  __shared__ uint64_t included, besides;
  __shared__ int s_a[64], s_b[64];
  if (threadIdx.x == 0) {
    init(&included, 64);
    init(&besides, 64);
  }
  __syncthreads();
  const int t = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&s_a[t])), "l"(in + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&included)) : "memory");
  // Only the first half of the copy's bytes: the rest becomes zero.
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(&s_b[t])), "l"(in + 64 + t),
               "r"(t % 2 ? 4 : 2)
               : "memory");
  asm volatile("cp.async.mbarrier.arrive.b64 [%0];" ::"l"(&besides) : "memory");
  arrive(&besides);
  while (!test_parity(&included, 0)) {
  }
  while (!test_parity(&besides, 0)) {
  }
  out[t] = s_a[63 - t] * 1000 + s_b[63 - t];
}

int main() {
  const Array<uint32_t> out(256, 0xff);
  steps<<<1, 1>>>(out);
  for (const uint32_t x : out.read(16)) std::printf("%d ", int(x));
  std::printf("\n");

  const int threads = 96, rounds = 11;
  const Array<int> d_sums(threads);
  phases<<<1, threads>>>(d_sums, rounds);
  auto sums = d_sums.read();
  int wrong = 0;
  for (int t = 0; t < threads; ++t) {
    unsigned sum = 0;
    for (int round = 0; round < rounds; ++round) sum = sum * 3 + round * 100 + (t + round) % 32;
    wrong += sums[t] != int(sum);
  }
  std::printf("phases: %d wrong\n", wrong);

  std::vector<int> in(128);
  for (int k = 0; k < 128; ++k) in[k] = k < 64 ? k : k * 70000;
  copies<<<1, 64>>>(Array(in), d_sums);
  sums = d_sums.read();
  wrong = 0;
  for (int t = 0; t < 64; ++t) {
    const int from = 63 - t, b = from % 2 ? in[64 + from] : in[64 + from] & 0xffff;
    wrong += sums[t] != from * 1000 + b;
  }
  std::printf("copies: %d wrong\n", wrong);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
