// Decoupled look-back: a status word of 64 bits a tile (state above, value below), by one thread with volatile
// accesses, by a whole warp with atomics, and with cuda::atomic_ref.
#include <cstdint>
#include <cstdio>
#include <cuda/atomic>
#include <numeric>

#include "arrays.hpp"

constexpr int block_threads = 128, items = 4, tile_size = block_threads * items;
enum : std::uint32_t { invalid = 0, aggregate = 1, prefix = 2 };
using Status = unsigned long long;
__host__ __device__ inline Status pack(std::uint32_t state, std::uint32_t value) {
  return Status(state) << 32 | value;
}

struct VolatileStatus {
  Status* words;
  __device__ void store(int tile, Status s) {
    __threadfence();
    ((volatile Status*)words)[tile] = s;
  }
  __device__ Status load(int tile) {
    const Status s = ((volatile Status*)words)[tile];
    __threadfence();
    return s;
  }
};

struct AtomicStatus {
  Status* words;
  __device__ void store(int tile, Status s) { atomicExch(&words[tile], s); }
  __device__ Status load(int tile) { return atomicAdd(&words[tile], 0ull); }
};

struct RefStatus {
  Status* words;
  using Ref = cuda::atomic_ref<Status, cuda::thread_scope_device>;
  __device__ void store(int tile, Status s) { Ref(words[tile]).store(s, cuda::memory_order_release); }
  __device__ Status load(int tile) { return Ref(words[tile]).load(cuda::memory_order_acquire); }
};

template <class S>
__device__ std::uint32_t look_back_by_thread(S status, int tile) {
  std::uint32_t sum = 0;
  for (int k = tile - 1; k >= 0; --k) {
    Status s;
    do s = status.load(k);
    while (s >> 32 == invalid);
    sum += std::uint32_t(s);
    if (s >> 32 == prefix) break;
  }
  return sum;
}

template <class S>
__device__ std::uint32_t look_back_by_warp(S status, int tile) {
  const int lane = threadIdx.x;
  std::uint32_t sum = 0;
  for (int last = tile - 1;; last -= 32) {
    const int k = last - lane;
    Status s = pack(prefix, 0);
    if (k >= 0) do {
        s = status.load(k);
      } while (s >> 32 == invalid);
    const unsigned known = __ballot_sync(~0u, s >> 32 == prefix);
    const int stop = known ? __ffs(known) - 1 : 31;
    std::uint32_t part = lane <= stop ? std::uint32_t(s) : 0;
    for (int d = 16; d > 0; d /= 2) part += __shfl_down_sync(~0u, part, d);
    sum += __shfl_sync(~0u, part, 0);
    if (known) return sum;
  }
}

template <class S, bool by_warp>
__global__ void __launch_bounds__(block_threads)
    scan_kernel(const std::uint32_t* in, std::uint32_t* out, S status, unsigned* next_tile, int n) {
  __shared__ std::uint32_t s_sums[block_threads], s_before;
  __shared__ int s_tile;
  if (threadIdx.x == 0) s_tile = atomicAdd(next_tile, 1u);
  __syncthreads();
  const int tile = s_tile, first = tile * tile_size + threadIdx.x * items;
  std::uint32_t v[items];
  std::uint32_t sum = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) v[k] = sum += first + k < n ? in[first + k] : 0;
  s_sums[threadIdx.x] = sum;
  __syncthreads();
  for (int d = 1; d < block_threads; d *= 2) {
    const std::uint32_t left = threadIdx.x >= d ? s_sums[threadIdx.x - d] : 0;
    __syncthreads();
    s_sums[threadIdx.x] += left;
    __syncthreads();
  }
  const std::uint32_t total = s_sums[block_threads - 1];
  if (threadIdx.x == 0) status.store(tile, pack(tile ? aggregate : prefix, total));
  if (threadIdx.x < (by_warp ? 32 : 1) && tile > 0) {
    const std::uint32_t before = by_warp ? look_back_by_warp(status, tile) : look_back_by_thread(status, tile);
    if (threadIdx.x == 0) {
      status.store(tile, pack(prefix, before + total));
      s_before = before;
    }
  }
  __syncthreads();
  const std::uint32_t offset = (tile ? s_before : 0) + s_sums[threadIdx.x] - sum;
#pragma unroll
  for (int k = 0; k < items; ++k)
    if (first + k < n) out[first + k] = v[k] + offset;
}

template <class S, bool by_warp>
void test(const char* name, int n) {
  std::vector<std::uint32_t> in(n), expected(n);
  for (int i = 0; i < n; ++i) in[i] = i * 2654435761u;
  std::partial_sum(in.begin(), in.end(), expected.begin());
  const int tiles = (n + tile_size - 1) / tile_size;
  const Array<std::uint32_t> out(n);
  const Array<Status> status(tiles, 0);
  const Array<unsigned> next(1, 0);
  scan_kernel<S, by_warp><<<tiles, block_threads>>>(Array(in), out, S{status}, next, n);
  bool all_known = true;
  for (Status s : status.read()) all_known &= s >> 32 == prefix;
  printf("%s: %s, every tile knows its prefix: %s\n", name, out.read() == expected ? "right" : "wrong",
         all_known ? "yes" : "no");
}

int main() {
  const int n = 40000;
  test<VolatileStatus, false>("one thread, volatile", n);
  test<VolatileStatus, true>("one warp, volatile", n);
  test<AtomicStatus, false>("one thread, atomics", n);
  test<AtomicStatus, true>("one warp, atomics", n);
  test<RefStatus, false>("one thread, atomic_ref", n);
  test<RefStatus, true>("one warp, atomic_ref", n);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
