// expect: pass 10_compaction | __match_any_sync finds the lanes with the same flag, redux.sync sums up counts, and
// coalesced groups reserve by one atomic; one shared counter is all that the warps of the first kernel share

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

#define WARPS 8
#define THREADS (WARPS * 32)

struct Tile {
  int index;
  int base[2];                // where the block's kept elements and the others begin
  int of_warp[2][WARPS + 1];  // how many a warp has, then how many those before it have
};

__global__ void count(const Element* x, int* d_kept, int n) {
  __shared__ int s_kept, s_warps_done;
  if (threadIdx.x == 0) s_kept = s_warps_done = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (!keep(x[i])) continue;
    const auto kept = cg::coalesced_threads();  // the lanes that are here now: one of them adds for all
    if (kept.thread_rank() == 0) atomicAdd(&s_kept, (int)kept.size());
  }
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    __threadfence_block();
    // The last warp to come finds all the others' counts there.
    if (atomicAdd(&s_warps_done, 1) == WARPS - 1) {
      __threadfence_block();
      atomicAdd(d_kept, atomicAdd(&s_kept, 0));
    }
  }
}

template <bool split>
__global__ void distribute(const Element* x, Element* y, int* d_kept, int* chain, int n) {
  __shared__ Tile tile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned earlier = (1u << lane) - 1;
  if (threadIdx.x == 0) tile.index = atomicAdd(chain, 1);
  __syncthreads();
  const int first = (tile.index * WARPS + warp) * 4 * 32 + lane;

  Element e[4] = {identity(), identity(), identity(), identity()};
  int rank[4], counts[2] = {0, 0};
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int i = first + r * 32;
    if (i < n) e[r] = x[i];
    // 0: kept, 1: another one, 2: nothing
    const int flag = i >= n ? 2 : keep(e[r]) ? 0 : 1;
    const unsigned same = __match_any_sync(~0u, flag);
    rank[r] = flag == 2 ? -1 : counts[flag] + __popc(same & earlier);
    for (int f = 0; f < 2; ++f) counts[f] += __reduce_add_sync(~0u, flag == f);
  }
  if (lane < 2) tile.of_warp[lane][warp] = lane == 0 ? counts[0] : counts[1];
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int f = 0; f < 2; ++f) {
      int sum = 0;
      for (int w = 0; w <= WARPS; ++w) {
        const int own = w < WARPS ? tile.of_warp[f][w] : 0;
        tile.of_warp[f][w] = sum;
        sum += own;
      }
    }
    // The word of tile t: how many are kept before it, in ones' complement, as all words are 0 at first.
    volatile int* const volatile_chain = chain;
    int before = 0;
    if (tile.index > 0) {
      while ((before = volatile_chain[tile.index]) == 0) __nanosleep(64);
      before = ~before;
    }
    volatile_chain[tile.index + 1] = ~(before + tile.of_warp[0][WARPS]);
    if (!split && tile.index == gridDim.x - 1) *d_kept = before + tile.of_warp[0][WARPS];
    tile.base[0] = before;
    tile.base[1] = split ? *d_kept + tile.index * WARPS * 4 * 32 - before : 0;
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (rank[r] < 0) return;
    const int f = keep(e[r]) ? 0 : 1;
    if (split || f == 0) y[tile.base[f] + tile.of_warp[f][warp] + rank[r]] = e[r];
  }
}

template <bool is_split>
static void run(const Element* x, Element* y, int* d_kept, int n) {
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(d_kept, 0, sizeof(int)));
  const int tiles = (n + section_size - 1) / section_size;
  if (tiles == 0) return;
  int* chain;  // how many tiles are taken, a word for each but the first, and one more
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain, (tiles + 1) * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(chain, 0, (tiles + 1) * sizeof(int)));
  if (is_split) count<<<min(tiles, 32), THREADS>>>(x, d_kept, n);
  distribute<is_split><<<tiles, THREADS>>>(x, y, d_kept, chain, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(chain));
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  run<false>(d_x, d_y, d_kept, n);
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  run<true>(d_x, d_y, d_kept, n);
}
