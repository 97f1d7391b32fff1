// expect: fail inclusive,exclusive uninitialised.global | memory from cudaMalloc holds no zeros: only the counter is
// set
// expect on gpu: pass/fail inclusive,exclusive | fresh memory of a process happens to hold zeros

#include "scanlab.cuh"

constexpr int warp_size = 32;
constexpr int warps = 8;
constexpr int block_size = warps * warp_size;
constexpr int rows = 4;
constexpr unsigned all_lanes = 0xffffffff;

struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(Element);
  Element elements[size];
};

constexpr int row_size = warp_size * Pack::size;
constexpr int tile_size = warps * rows * row_size;
constexpr int element_words = sizeof(Element) / sizeof(unsigned);

__device__ Element shuffle(Element element, int distance, bool is_up) {
  unsigned words[element_words];
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) {
    word = is_up ? __shfl_up_sync(all_lanes, word, distance) : __shfl_sync(all_lanes, word, distance);
  }
  memcpy(&element, words, sizeof(element));
  return element;
}

__device__ Element scan_row(Element element) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const Element earlier = shuffle(element, distance, true);
    if (threadIdx.x % warp_size >= distance) element = earlier + element;
  }
  return element;
}

using Status = unsigned long long;

__device__ void publish(Status* d_status, int tile, Element sum, unsigned tag) {
  unsigned words[element_words];
  memcpy(words, &sum, sizeof(sum));
  for (int k = 0; k < element_words; ++k) {
    atomicExch(&d_status[tile * element_words + k], static_cast<Status>(tag) << 32 | words[k]);
  }
}

__device__ unsigned read(const volatile Status* d_status, int tile, Element& sum) {
  unsigned words[element_words], tags[element_words];
  for (int k = 0; k < element_words; ++k) {
    const Status status = d_status[tile * element_words + k];
    words[k] = static_cast<unsigned>(status);
    tags[k] = static_cast<unsigned>(status >> 32);
  }
  memcpy(&sum, words, sizeof(sum));
  return tags[0] == tags[element_words - 1] ? tags[0] : 0;
}

__device__ Element look_back(Status* d_status, int tile) {
  const int lane = threadIdx.x % warp_size;
  Element before = identity();
  for (int looked_at = tile - warp_size + lane;; looked_at -= warp_size) {
    Element sum = identity();
    unsigned tag = 2;
    if (looked_at >= 0) {
      while ((tag = read(d_status, looked_at, sum)) == 0) continue;
    }
    __syncwarp();
    const unsigned prefixes = __ballot_sync(all_lanes, tag == 2);
    if (prefixes != 0 && lane < 31 - __clz(prefixes)) sum = identity();
    before = shuffle(scan_row(sum), warp_size - 1, false) + before;
    if (prefixes != 0) return before;
  }
}

template <Kind kind>
__global__ void tile_kernel(const Element* d_x, Element* d_y, Status* d_status, int* d_taken, int n) {
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  __shared__ int s_tile;
  __shared__ Element s_before, s_sums[warps];
  if (t == 0) s_tile = atomicAdd(d_taken, 1);
  __syncthreads();
  const int tile = s_tile;
  const int first = tile * tile_size + warp * rows * row_size + lane * Pack::size;

  Pack packs[rows];
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * row_size;
    if (i + Pack::size <= n) {
      packs[row] = *reinterpret_cast<const Pack*>(d_x + i);
    } else {
      for (int k = 0; k < Pack::size; ++k) packs[row].elements[k] = i + k < n ? d_x[i + k] : identity();
    }
  }

  Element before_packs[rows], sum = identity();
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    Element own = identity();
    for (const Element& element : packs[row].elements) own = own + element;
    const Element scanned = scan_row(own);
    const Element earlier = shuffle(scanned, 1, true);
    before_packs[row] = lane > 0 ? sum + earlier : sum;
    sum = sum + shuffle(scanned, warp_size - 1, false);
  }
  if (lane == 0) s_sums[warp] = sum;
  __syncthreads();

  if (warp == 0) {
    const Element scanned = scan_row(lane < warps ? s_sums[lane] : identity());
    const Element aggregate = shuffle(scanned, warp_size - 1, false);
    const Element earlier = shuffle(scanned, 1, true);
    if (lane < warps) s_sums[lane] = lane > 0 ? earlier : identity();
    if (lane == 0) publish(d_status, tile, aggregate, tile > 0 ? 1 : 2);
    const Element before = tile > 0 ? look_back(d_status, tile) : identity();
    if (lane == 0) {
      if (tile > 0) publish(d_status, tile, before + aggregate, 2);
      s_before = before;
    }
  }
  __syncthreads();

  const Element before_warp = s_before + s_sums[warp];
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * row_size;
    Element running = before_warp + before_packs[row];
    for (Element& element : packs[row].elements) {
      const Element before = running;
      running = running + element;
      element = kind == Kind::inclusive ? running : before;
    }
    if (i + Pack::size <= n) {
      *reinterpret_cast<Pack*>(d_y + i) = packs[row];
    } else {
      for (int k = 0; k < Pack::size; ++k) {
        if (i + k < n) d_y[i + k] = packs[row].elements[k];
      }
    }
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int tiles = (n - 1) / tile_size + 1;
  const std::size_t bytes = tiles * element_words * sizeof(Status) + sizeof(int);
  Status* d_status;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_status, bytes));
  int* const d_taken = reinterpret_cast<int*>(d_status + tiles * element_words);
  SCANLAB_CUDA_CHECK(cudaMemset(d_taken, 0, sizeof(int)));
  tile_kernel<kind><<<tiles, block_size>>>(d_x, d_y, d_status, d_taken, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_status));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
