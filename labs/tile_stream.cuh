// What lab 11 is given: tiles of an array that stream through a block's shared memory, so that the memory never waits.
//
// A plain kernel loads, computes and stores, one after the other; while it computes, its memory traffic rests. Here the
// warps of a block have roles, as at an assembly line: one warp moves tiles between global and shared memory, others
// work on them, and several tiles are on their way at once, each in its own stage. A stage has a Barrier for each thing
// that one role has to wait for; a role's loop goes round the stages and takes its Turn at each.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <cstring>
#include <cuda/barrier>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __has_include(<cuda/ptx>)
#include <cuda/ptx>
#define SCANLAB_BULK_STORES
#endif

namespace scanlab {

// Completes after as many arrivals as it was initialised with, and then begins again: it has phases. A thread that
// waits names the phase by its parity. What the arriving threads wrote before is visible to those that waited.
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Whose turn it is: goes round `stages` stages; `parity` is that of the phase in which their barriers are.
struct Turn {
  int stages;
  int stage = 0;
  bool parity = false;

  __device__ void next() {
    if (++stage < stages) return;
    stage = 0;
    parity = !parity;
  }
};

// 16 bytes of neighbouring elements: what a thread loads from or stores to shared memory at once.
template <typename T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T elements[size];
};

template <typename T>
__device__ bool can_move_packs(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(Pack<T>) == 0;
}

// One warp copies `count` elements from global to shared memory, behind them sets the rest of the `size` elements to
// `filler`, and arrives at `loaded` once; that completes when everything is there. Does not wait: this is the copy
// engine of the GPU from compute capability 9 on (bulk copies), asynchronous copies of 16 bytes a lane on 8.x. Where
// d_from is not a multiple of 16 bytes, elements are copied one by one.
template <typename T>
__device__ void load_tile(T* s_to, const T* d_from, int count, int size, T filler, Barrier& loaded) {
  const auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  const int lane = warp.thread_rank();
  const int in_packs = can_move_packs(d_from) ? count / Pack<T>::size * Pack<T>::size : 0;
  if (in_packs > 0) {
    cuda::memcpy_async(warp, s_to, d_from, cuda::aligned_size_t<16>(in_packs * sizeof(T)), loaded);
  }
  for (int i = in_packs + lane; i < count; i += 32) s_to[i] = d_from[i];
  for (int i = count + lane; i < size; i += 32) s_to[i] = filler;
  __syncwarp();  // the lanes' elements are in shared memory before lane 0 says so
  if (lane == 0) (void)loaded.arrive();
}

// One warp copies `count` elements from shared to global memory. When it returns, s_from may be written again. The
// threads that wrote s_from must have called `hand_over_writes()` before they arrived at what this warp waited for.
template <typename T>
__device__ void store_tile(T* d_to, const T* s_from, int count) {
  const int lane = threadIdx.x % 32;
  int in_packs = can_move_packs(d_to) ? count / Pack<T>::size * Pack<T>::size : 0;
  const int begin_of_rest = in_packs;
#ifdef SCANLAB_BULK_STORES
  if (in_packs > 0 && lane == 0) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, d_to, s_from, in_packs * sizeof(T));
    cuda::ptx::cp_async_bulk_commit_group();
    cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>{});
  }
#else
  for (int i = lane * Pack<T>::size; i < in_packs; i += 32 * Pack<T>::size) {
    *reinterpret_cast<Pack<T>*>(d_to + i) = *reinterpret_cast<const Pack<T>*>(s_from + i);
  }
#endif
  for (int i = begin_of_rest + lane; i < count; i += 32) d_to[i] = s_from[i];
  __syncwarp();  // all lanes have read what they store
}

// Makes what this thread wrote to shared memory visible to the copy engine, which is not a thread and sees no barriers.
__device__ inline void hand_over_writes() {
#ifdef SCANLAB_BULK_STORES
  cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
#endif
}

}  // namespace scanlab
