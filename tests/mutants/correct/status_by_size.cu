// expect: pass 11_look_back | the board is a class template: value and tag in one word of 64 bits where they fit, else
// flags with fences; the nearest tile is in lane 0, and values move through each warp's own shared memory

#include <cstdint>

#include "scanlab.cuh"

namespace detail {

enum class Tag : unsigned { invalid, partial, inclusive };

template <class T, bool FitsInAWord = sizeof(T) <= 4>
class TileBoard;

// One relaxed access moves both tag and value, so nothing has to be ordered.
template <class T>
class TileBoard<T, true> {
 public:
  static std::size_t bytes(int tiles) { return tiles * sizeof(std::uint64_t); }
  __host__ explicit TileBoard(void* memory, int) : words_(static_cast<std::uint64_t*>(memory)) {}

  __device__ void set(int tile, Tag tag, T value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof(bits));
    *const_cast<volatile std::uint64_t*>(words_ + tile) = std::uint64_t{bits} << 32 | static_cast<unsigned>(tag);
  }
  __device__ Tag get(int tile, T& value) const {
    const std::uint64_t word = *const_cast<const volatile std::uint64_t*>(words_ + tile);
    const unsigned bits = static_cast<unsigned>(word >> 32);
    memcpy(&value, &bits, sizeof(bits));
    return static_cast<Tag>(static_cast<unsigned>(word));
  }

 private:
  std::uint64_t* words_;
};

// Partial and inclusive sums have places of their own, as a reader may be late.
template <class T>
class TileBoard<T, false> {
 public:
  static std::size_t bytes(int tiles) { return tiles * (2 * sizeof(T) + sizeof(Tag)); }
  __host__ explicit TileBoard(void* memory, int tiles)
      : values_{static_cast<T*>(memory), static_cast<T*>(memory) + tiles},
        tags_(reinterpret_cast<Tag*>(static_cast<T*>(memory) + 2 * tiles)) {}

  __device__ void set(int tile, Tag tag, T value) {
    values_[tag == Tag::inclusive][tile] = value;
    __threadfence();
    *const_cast<volatile Tag*>(tags_ + tile) = tag;
  }
  __device__ Tag get(int tile, T& value) const {
    const Tag tag = *const_cast<const volatile Tag*>(tags_ + tile);
    __threadfence();
    if (tag != Tag::invalid) value = values_[tag == Tag::inclusive][tile];
    return tag;
  }

 private:
  T* values_[2];
  Tag* tags_;
};

}  // namespace detail

using Board = detail::TileBoard<Element>;
using detail::Tag;

constexpr int kThreads = 256, kWarps = kThreads / 32, kVectors = 4;  // of a thread
constexpr int kPerVector = 16 / sizeof(Element), kItems = kVectors * kPerVector, kTile = kThreads * kItems;

template <class Shuffle>
__device__ Element by_words(Element element, Shuffle shuffle) {
  unsigned words[sizeof(Element) / 4];
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = shuffle(word);
  memcpy(&element, words, sizeof(element));
  return element;
}

__device__ Element from_lane(Element element, int lane) {
  return by_words(element, [=](unsigned word) { return __shfl_sync(~0u, word, lane); });
}

__device__ Element scan_warp(Element element) {
  for (int d = 1; d < 32; d *= 2) {
    const Element earlier = by_words(element, [=](unsigned word) { return __shfl_up_sync(~0u, word, d); });
    if (threadIdx.x % 32 >= d) element = earlier + element;
  }
  return element;
}

// What is before `tile`, for a whole warp. Lane 0 looks at the nearest tile, so sums come together from the right.
__device__ Element look_back(const Board& board, int tile) {
  const int lane = threadIdx.x % 32;
  Element before = identity();
  for (int nearest = tile - 1;; nearest -= 32) {
    Element value = identity();
    Tag tag = nearest - lane < 0 ? Tag::inclusive : Tag::invalid;
    do {
      if (tag == Tag::invalid) tag = board.get(nearest - lane, value);
    } while (__any_sync(~0u, tag == Tag::invalid));
    const unsigned inclusive = __ballot_sync(~0u, tag == Tag::inclusive);
    const int last = inclusive != 0 ? __ffs(inclusive) - 1 : 31;
    if (lane > last) value = identity();
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const Element further = by_words(value, [=](unsigned word) { return __shfl_down_sync(~0u, word, d); });
      if (lane + d < 32) value = further + value;
    }
    before = from_lane(value, 0) + before;
    if (inclusive != 0) return before;
  }
}

// A warp's elements, from neighbours in neighbouring lanes to neighbours in one thread, and back.
union WarpShelf {
  int4 vectors[kVectors * 32];
  Element elements[kItems * 32];
};

template <Kind kind>
__global__ void __launch_bounds__(kThreads)
    scan_tiles(const Element* d_x, Element* d_y, Board board, int* d_next, int n) {
  __shared__ WarpShelf s_shelves[kWarps];
  __shared__ Element s_sums[kWarps], s_before;
  __shared__ int s_tile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) s_tile = atomicAdd(d_next, 1);
  __syncthreads();
  const int tile = s_tile, begin = tile * kTile + warp * 32 * kItems, count = n - begin;
  WarpShelf& shelf = s_shelves[warp];
  if (count >= 32 * kItems) {
    for (int v = 0; v < kVectors; ++v) {
      shelf.vectors[v * 32 + lane] = reinterpret_cast<const int4*>(d_x + begin)[v * 32 + lane];
    }
  } else {
    // What is beyond the end stays as it is on the shelf; sums of it only reach what is beyond the end as well.
    for (int p = lane; p < count; p += 32) shelf.elements[p] = d_x[begin + p];
  }
  __syncwarp();
  Element items[kItems], sum;
  for (int k = 0; k < kItems; ++k) items[k] = shelf.elements[lane * kItems + k];
  sum = items[0];
  for (int k = 1; k < kItems; ++k) sum = sum + items[k];

  const Element scanned = scan_warp(sum);
  if (lane == 31) s_sums[warp] = scanned;
  __syncthreads();
  if (warp == 0) {
    const Element sums = scan_warp(lane < kWarps ? s_sums[lane] : identity());
    if (lane < kWarps) s_sums[lane] = sums;
    const Element aggregate = from_lane(sums, kWarps - 1);
    if (lane == 0) board.set(tile, tile == 0 ? Tag::inclusive : Tag::partial, aggregate);
    if (tile > 0) {
      const Element before = look_back(board, tile);
      if (lane == 0) board.set(tile, Tag::inclusive, before + aggregate);
      if (lane == 0) s_before = before;
    } else if (lane == 0) {
      s_before = identity();
    }
  }
  __syncthreads();
  Element running = s_before;
  if (warp > 0) running = running + s_sums[warp - 1];
  const Element earlier = from_lane(scanned, lane == 0 ? 0 : lane - 1);
  if (lane > 0) running = running + earlier;
  for (int k = 0; k < kItems; ++k) {
    const Element before = running;
    running = running + items[k];
    shelf.elements[lane * kItems + k] = kind == Kind::inclusive ? running : before;
  }
  __syncwarp();
  if (count >= 32 * kItems) {
    for (int v = 0; v < kVectors; ++v) {
      reinterpret_cast<int4*>(d_y + begin)[v * 32 + lane] = shelf.vectors[v * 32 + lane];
    }
  } else {
    for (int p = lane; p < count; p += 32) d_y[begin + p] = shelf.elements[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int tiles = (n - 1) / kTile + 1;
  void* memory;
  const std::size_t bytes = Board::bytes(tiles) + sizeof(int);
  SCANLAB_CUDA_CHECK(cudaMalloc(&memory, bytes));
  SCANLAB_CUDA_CHECK(cudaMemset(memory, 0, bytes));
  int* const d_next = reinterpret_cast<int*>(static_cast<char*>(memory) + Board::bytes(tiles));
  scan_tiles<kind><<<tiles, kThreads>>>(d_x, d_y, Board(memory, tiles), d_next, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(memory));
}
