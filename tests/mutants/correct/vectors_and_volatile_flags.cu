// expect: pass 11_look_back | tiles of 2048 with runs in registers; flags are volatile, and a value lies beside each of
// them

#include "scanlab.cuh"

constexpr int threads = 256, run = 8, tile_size = threads * run;
constexpr int in_vector = sizeof(uint4) / sizeof(Element);

struct Board {
  unsigned* ticket;
  unsigned* flag;  // of each tile: 1 with its aggregate, 2 with its inclusive prefix
  Element *aggregate, *prefix;
};

template <class Shuffle>
__device__ Element by_words(Element element, Shuffle shuffle) {
  unsigned word[sizeof(Element) / 4];
  memcpy(word, &element, sizeof element);
  for (unsigned& part : word) part = shuffle(part);
  memcpy(&element, word, sizeof element);
  return element;
}

__device__ void publish(Element* where, unsigned* flag, Element value, unsigned state) {
  *where = value;
  __threadfence();
  *static_cast<volatile unsigned*>(flag) = state;
}

// By all lanes of a warp; lane 0 gets the sum of all tiles before this one.
__device__ Element look_back(const Board& board, int tile) {
  const int lane = threadIdx.x % 32;
  Element before = identity();
  for (int nearest = tile - 1;; nearest -= 32) {
    const int mine = nearest - lane;
    unsigned state = 2;
    if (mine >= 0) {
      do {
        state = *static_cast<volatile unsigned*>(&board.flag[mine]);
      } while (state == 0);
    }
    __syncwarp();
    __threadfence();
    const unsigned complete = __ballot_sync(~0u, state == 2);
    const int last = complete != 0 ? __ffs(complete) - 1 : 31;
    Element sum = identity();
    if (mine >= 0 && lane <= last) sum = state == 2 ? board.prefix[mine] : board.aggregate[mine];
    for (int d = 1; d < 32; d *= 2) {
      const Element earlier = by_words(sum, [=](unsigned word) { return __shfl_down_sync(~0u, word, d); });
      if (lane + d < 32) sum = earlier + sum;
    }
    before = sum + before;
    if (complete != 0) return before;
  }
}

template <Kind kind>
__global__ void __launch_bounds__(threads) tiles(const Element* d_x, Element* d_y, Board board, int n) {
  __shared__ alignas(16) Element s[tile_size];
  __shared__ Element s_warp[threads / 32], s_before;
  __shared__ int s_tile;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t == 0) s_tile = atomicAdd(board.ticket, 1);
  __syncthreads();
  const int tile = s_tile, first = tile * tile_size;
  const bool is_whole = first + tile_size <= n;
  if (is_whole) {
    const uint4* const from = reinterpret_cast<const uint4*>(d_x + first);
    for (int v = t; v < tile_size / in_vector; v += threads) reinterpret_cast<uint4*>(s)[v] = from[v];
  } else {
    for (int p = t; p < tile_size; p += threads) s[p] = first + p < n ? d_x[first + p] : identity();
  }
  __syncthreads();
  Element x[run];
  for (int k = 0; k < run; ++k) x[k] = s[t * run + k];
  Element sum = x[0];
  for (int k = 1; k < run; ++k) sum = sum + x[k];
  Element upto = sum;  // of the warp's runs up to this one
  for (int d = 1; d < 32; d *= 2) {
    const Element left = by_words(upto, [=](unsigned word) { return __shfl_up_sync(~0u, word, d); });
    if (lane >= d) upto = left + upto;
  }
  if (lane == 31) s_warp[warp] = upto;
  const Element left = by_words(upto, [=](unsigned word) { return __shfl_up_sync(~0u, word, 1); });
  __syncthreads();
  Element of_warps = identity();
  for (int w = 0; w < warp; ++w) of_warps = of_warps + s_warp[w];
  if (warp == 0) {
    Element aggregate = s_warp[0];
    for (int w = 1; w < threads / 32; ++w) aggregate = aggregate + s_warp[w];
    if (lane == 0 && tile > 0) publish(&board.aggregate[tile], &board.flag[tile], aggregate, 1);
    const Element before = look_back(board, tile);
    if (lane == 0) {
      publish(&board.prefix[tile], &board.flag[tile], before + aggregate, 2);
      s_before = before;
    }
  }
  __syncthreads();
  Element running = s_before + of_warps;
  if (lane > 0) running = running + left;
  for (int k = 0; k < run; ++k) {
    if (kind == Kind::exclusive) s[t * run + k] = running;
    running = running + x[k];
    if (kind == Kind::inclusive) s[t * run + k] = running;
  }
  __syncthreads();
  if (is_whole) {
    uint4* const to = reinterpret_cast<uint4*>(d_y + first);
    for (int v = t; v < tile_size / in_vector; v += threads) to[v] = reinterpret_cast<const uint4*>(s)[v];
  } else {
    for (int p = t; p < tile_size && first + p < n; p += threads) d_y[first + p] = s[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int count = (n - 1) / tile_size + 1;
  Board board;
  SCANLAB_CUDA_CHECK(cudaMalloc(&board.ticket, (count + 1) * sizeof(unsigned)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&board.aggregate, 2 * count * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMemset(board.ticket, 0, (count + 1) * sizeof(unsigned)));
  board.flag = board.ticket + 1;
  board.prefix = board.aggregate + count;
  tiles<kind><<<count, threads>>>(d_x, d_y, board, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(board.ticket));
  SCANLAB_CUDA_CHECK(cudaFree(board.aggregate));
}
