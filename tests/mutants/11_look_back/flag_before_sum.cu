// expect: fail inclusive race.global | the flag is raised before the sum is written
// expect on gpu: pass/fail inclusive | the sum happens to be there when somebody looks

#include <cooperative_groups.h>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

constexpr int block_size = 128;

struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(Element);
  Element elements[size];
};

constexpr int packs = 2;
constexpr int tile_size = packs * block_size * Pack::size;

enum Flag { nothing, has_aggregate, has_prefix };

struct Board {
  Element *d_aggregates, *d_prefixes;
  int *d_flags, *d_taken;
};

__device__ void raise(const Board& board, int tile, Flag flag) {
  __threadfence();
  atomicMax(&board.d_flags[tile], flag);
}

__device__ int wait_for(const Board& board, int tile) {
  int flag;
  do flag = *static_cast<volatile int*>(&board.d_flags[tile]);
  while (flag == nothing);
  __threadfence();
  return flag;
}

__device__ Element look_back(const Board& board, int tile) {
  Element before = identity();
  while (--tile >= 0) {
    if (wait_for(board, tile) == has_prefix) return board.d_prefixes[tile] + before;
    before = board.d_aggregates[tile] + before;
  }
  return before;
}
__device__ Element scan_block(const cg::thread_block& block, Element element, Element* s_sums, Element& total) {
  const auto warp = cg::tiled_partition<32>(block);
  Element scanned = element;
  for (unsigned distance = 1; distance < warp.size(); distance *= 2) {
    const Element earlier = warp.shfl_up(scanned, distance);
    if (warp.thread_rank() >= distance) scanned = earlier + scanned;
  }
  const Element earlier = warp.shfl_up(scanned, 1);
  if (warp.thread_rank() == warp.size() - 1) s_sums[warp.meta_group_rank()] = scanned;
  block.sync();
  Element before = identity();
  total = identity();
  for (unsigned k = 0; k < warp.meta_group_size(); ++k) {
    if (k == warp.meta_group_rank()) before = total;
    total = total + s_sums[k];
  }
  block.sync();
  return warp.thread_rank() == 0 ? before : before + earlier;
}

__global__ void tile_kernel(const Element* d_x, Element* d_y, Board board, int n, bool is_inclusive) {
  const cg::thread_block block = cg::this_thread_block();
  __shared__ Element s_sums[block_size / 32], s_before;
  __shared__ int s_tile;
  if (block.thread_rank() == 0) s_tile = atomicAdd(board.d_taken, 1);
  block.sync();
  const int tile = s_tile;

  Pack pack[packs];
  Element before_pack[packs], aggregate = identity();
  for (int p = 0; p < packs; ++p) {
    const int i = tile * tile_size + (p * block_size + threadIdx.x) * Pack::size;
    if (i + Pack::size <= n) {
      pack[p] = *reinterpret_cast<const Pack*>(d_x + i);
    } else {
      for (int k = 0; k < Pack::size; ++k) pack[p].elements[k] = i + k < n ? d_x[i + k] : identity();
    }
    Element sum = identity(), total;
    for (int k = 0; k < Pack::size; ++k) sum = sum + pack[p].elements[k];
    before_pack[p] = aggregate + scan_block(block, sum, s_sums, total);
    aggregate = aggregate + total;
  }

  if (block.thread_rank() == 0) {
    raise(board, tile, has_aggregate);
    board.d_aggregates[tile] = aggregate;
    const Element before = look_back(board, tile);
    board.d_prefixes[tile] = before + aggregate;
    raise(board, tile, has_prefix);
    s_before = before;
  }
  block.sync();

  for (int p = 0; p < packs; ++p) {
    const int i = tile * tile_size + (p * block_size + threadIdx.x) * Pack::size;
    Element sum = s_before + before_pack[p];
    for (int k = 0; k < Pack::size; ++k) {
      const Element before = sum;
      sum = sum + pack[p].elements[k];
      pack[p].elements[k] = is_inclusive ? sum : before;
    }
    if (i + Pack::size <= n) {
      *reinterpret_cast<Pack*>(d_y + i) = pack[p];
    } else {
      for (int k = 0; k < Pack::size && i + k < n; ++k) d_y[i + k] = pack[p].elements[k];
    }
  }
}

void scan(const Element* d_x, Element* d_y, int n, bool is_inclusive) {
  if (n == 0) return;
  const int tiles = (n + tile_size - 1) / tile_size;
  Board board;
  SCANLAB_CUDA_CHECK(cudaMalloc(&board.d_aggregates, 2 * tiles * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&board.d_flags, (tiles + 1) * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMemset(board.d_flags, 0, (tiles + 1) * sizeof(int)));
  board.d_prefixes = board.d_aggregates + tiles;
  board.d_taken = board.d_flags + tiles;
  tile_kernel<<<tiles, block_size>>>(d_x, d_y, board, n, is_inclusive);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(board.d_flags));
  SCANLAB_CUDA_CHECK(cudaFree(board.d_aggregates));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, true);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, false);
}
