// expect: pass 10_compaction | decoupled look-back with one word a tile (a tag and a count); the others go to the back
// in reverse, and a second kernel turns them round in place

#include "scanlab.cuh"

namespace {

constexpr int threads = 128;
constexpr int items = 4;
constexpr int tile_items = threads * items;

/// Two bits of tag above 30 bits of count: what is read is always of one piece, so polling needs no fence.
struct Status {
  enum Tag : unsigned { nothing = 0, aggregate = 1u << 30, prefix = 2u << 30, mask = 3u << 30 };
  unsigned word;
  __device__ static void set(unsigned* d_word, Tag tag, unsigned count) { atomicExch(d_word, tag | count); }
  __device__ static Status get(const unsigned* d_word) { return {*static_cast<const volatile unsigned*>(d_word)}; }
  __device__ bool is(Tag tag) const { return (word & mask) == tag; }
  __device__ unsigned count() const { return word & ~mask; }
};

/// For a whole warp. Lane 0 looks at the nearest tile.
__device__ unsigned look_back(const unsigned* d_words, int tile) {
  const int lane = threadIdx.x % 32;
  unsigned before = 0;
  for (int nearest = tile - 1; nearest >= 0; nearest -= 32) {
    Status status{Status::prefix};
    do {
      if (nearest - lane >= 0) status = Status::get(&d_words[nearest - lane]);
    } while (__any_sync(0xffffffff, status.is(Status::nothing)));
    const unsigned prefixes = __ballot_sync(0xffffffff, status.is(Status::prefix));
    const int last = prefixes != 0 ? __ffs(prefixes) - 1 : 31;
    unsigned sum = lane <= last ? status.count() : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    before += __shfl_sync(0xffffffff, sum, 0);
    if (prefixes != 0) break;
  }
  return before;
}

template <bool with_others>
__global__ void distribute(const Element* d_x, Element* d_y, int* d_kept, unsigned* d_words, int n) {
  __shared__ int s_tile;
  __shared__ unsigned s_before, s_warp[threads / 32 + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) s_tile = atomicAdd(&d_words[gridDim.x], 1);
  __syncthreads();
  const int tile = s_tile, first = tile * tile_items + warp * 32 * items + lane;

  Element x[items];
  unsigned place[items], kept = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const int i = first + 32 * k;
    x[k] = i < n ? d_x[i] : identity();
    const unsigned votes = __ballot_sync(0xffffffff, keep(x[k]));
    place[k] = kept + __popc(votes & ((1u << lane) - 1));
    kept += __popc(votes);
  }
  if (lane == 0) s_warp[warp + 1] = kept;
  if (threadIdx.x == 0) s_warp[0] = 0;
  __syncthreads();
  if (warp == 0) {
    unsigned total = 0;
    for (int w = 1; w <= threads / 32; ++w) total += s_warp[w];
    if (lane == 0) Status::set(&d_words[tile], tile == 0 ? Status::prefix : Status::aggregate, total);
    const unsigned before = look_back(d_words, tile);
    if (lane == 0) {
      if (tile > 0) Status::set(&d_words[tile], Status::prefix, before + total);
      if (tile == gridDim.x - 1) *d_kept = before + total;
      s_before = before;
    }
  }
  __syncthreads();
  unsigned before = s_before;
  for (int w = 0; w <= warp; ++w) before += s_warp[w];
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const int i = first + 32 * k;
    if (keep(x[k])) {
      d_y[before + place[k]] = x[k];
    } else if (with_others && i < n) {
      d_y[n - 1 - (i - (before + place[k]))] = x[k];
    }
  }
}

/// Each thread swaps pairs that no other thread touches.
__global__ void turn_round(Element* d_y, const int* d_kept, int n) {
  Element* const others = d_y + *d_kept;
  const int count = n - *d_kept;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count / 2; i += gridDim.x * blockDim.x) {
    const Element front = others[i];
    others[i] = others[count - 1 - i];
    others[count - 1 - i] = front;
  }
}

template <bool with_others>
void run(const Element* d_x, Element* d_y, int* d_kept, int n) {
  if (n == 0) {
    SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));
    return;
  }
  const int tiles = (n - 1) / tile_items + 1;
  unsigned* d_words;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_words, (tiles + 1) * sizeof(unsigned)));
  SCANLAB_CUDA_CHECK(cudaMemset(d_words, 0, (tiles + 1) * sizeof(unsigned)));
  distribute<with_others><<<tiles, threads>>>(d_x, d_y, d_kept, d_words, n);
  if (with_others) turn_round<<<64, 256>>>(d_y, d_kept, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_words));
}

}  // namespace

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  run<false>(d_x, d_y, d_kept, n);
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  run<true>(d_x, d_y, d_kept, n);
}
