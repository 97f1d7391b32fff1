// expect: pass 10_compaction | a thread an element, votes and bit counts in place of a scan, cooperative groups, and a
// split whose others wait in scratch memory until all kept elements are counted

#include <cooperative_groups.h>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

namespace {

constexpr int tile_size = 512;

struct Progress {
  unsigned long long kept_before;  // of the tile that is next: its number in the upper half, the count in the lower
  unsigned taken;
};

// Each tile waits until it is its turn: the word then says so, and how many elements are kept before it.
__device__ unsigned wait_for_turn(Progress* d_progress, unsigned tile) {
  unsigned long long seen = 0;
  do {
    seen = atomicAdd(&d_progress->kept_before, 0ull);
  } while (static_cast<unsigned>(seen >> 32) != tile);
  return static_cast<unsigned>(seen);
}

__global__ void distribute(const Element* __restrict__ d_x, Element* d_y, Element* d_others, int* d_kept,
                           Progress* d_progress, int n) {
  __shared__ unsigned s_tile, s_before;
  __shared__ unsigned s_votes[tile_size / 32];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const unsigned rank = block.thread_rank();

  if (rank == 0) s_tile = atomicAdd(&d_progress->taken, 1u);
  block.sync();
  const int i = static_cast<int>(s_tile * tile_size + rank);
  const Element element = i < n ? d_x[i] : identity();
  const bool is_kept = keep(element);
  const unsigned votes = warp.ballot(is_kept);
  if (warp.thread_rank() == 0) s_votes[warp.meta_group_rank()] = votes;
  block.sync();

  unsigned before = __popc(votes & ((1u << warp.thread_rank()) - 1));
  for (unsigned w = 0; w < warp.meta_group_rank(); ++w) before += __popc(s_votes[w]);
  if (rank == tile_size - 1) {
    const unsigned total = before + (is_kept ? 1 : 0);
    s_before = wait_for_turn(d_progress, s_tile);
    atomicAdd(&d_progress->kept_before, (1ull << 32) + total);
    if (s_tile == gridDim.x - 1) *d_kept = static_cast<int>(s_before + total);
  }
  block.sync();
  const int place = static_cast<int>(s_before + before);
  if (is_kept) {
    d_y[place] = element;
  } else if (d_others != nullptr && i < n) {
    d_others[i - place] = element;
  }
}

__global__ void append(const Element* d_others, Element* d_y, const int* d_kept, int n) {
  const int first = *d_kept;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - first; i += gridDim.x * blockDim.x) {
    d_y[first + i] = d_others[i];
  }
}

int blocks_for(int n) {
  return (n + tile_size - 1) / tile_size;
}

void distribute_all(const Element* d_x, Element* d_y, Element* d_others, int* d_kept, int n) {
  Progress* d_progress = nullptr;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_progress, sizeof(Progress)));
  SCANLAB_CUDA_CHECK(cudaMemset(d_progress, 0, sizeof(Progress)));
  distribute<<<blocks_for(n), tile_size>>>(d_x, d_y, d_others, d_kept, d_progress, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_progress));
}

}  // namespace

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  if (n == 0) {
    SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));
  } else {
    distribute_all(d_x, d_y, nullptr, d_kept, n);
  }
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  if (n == 0) return compact(d_x, d_y, d_kept, n);
  Element* d_others = nullptr;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_others, n * sizeof(Element)));
  distribute_all(d_x, d_y, d_others, d_kept, n);
  append<<<blocks_for(n), tile_size>>>(d_others, d_y, d_kept, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_others));
}
