// Computes both scans of the whole array, of any length, in one launch, and nearly as fast as a copy takes.
// New since 08: a tile says at once what it sums up to, and what is before a tile is found by a look back over many.
// Run: grader/scanlab check 11 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/11_look_back.md

#include <algorithm>
#include <cuda/atomic>

#include "scanlab.cuh"
#include "tile_stream.cuh"

using scanlab::Barrier;
using scanlab::Turn;
using Pack = scanlab::Pack<Element>;

constexpr int warp_size = 32;
constexpr int warps = 8;                 // that sum up a tile, and as many that scan it
constexpr int runs = warps * warp_size;  // of a tile, each of neighbours, which a thread takes one after the other
constexpr int packs = 9;                 // of a run: odd, so that neighbouring threads' runs begin in different banks
constexpr int tile_size = runs * packs * Pack::size;
constexpr unsigned all_lanes = 0xffffffff;  // the mask of a shuffle: a bit for each lane that takes part in it

enum Role { sum_warps = 0, scan_warps = warps, look_back_warp = 2 * warps, move_warp, block_warps };
constexpr int block_size = block_warps * warp_size;

constexpr int element_words = sizeof(Element) / sizeof(unsigned);

// What the lane `distance` places before this one has as its `element`; where there is none, the lane's own.
__device__ Element shuffle_up(Element element, int distance) {
  unsigned words[element_words];  // a shuffle moves one word of 32 bits, an Element may have more
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = __shfl_up_sync(all_lanes, word, distance);
  memcpy(&element, words, sizeof(element));
  return element;
}

// What the warp's last lane has as its `element`.
__device__ Element of_last_lane(Element element) {
  unsigned words[element_words];
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = __shfl_sync(all_lanes, word, warp_size - 1);
  memcpy(&element, words, sizeof(element));
  return element;
}

// Inclusive scan of one row, an element in each lane of a warp, as in lab 08.
__device__ Element scan_row(Element element) {
  const int lane = threadIdx.x % warp_size;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const Element earlier = shuffle_up(element, distance);
    if (lane >= distance) element = earlier + element;
  }
  return element;
}

// What a tile publishes: first its aggregate, the sum of its own elements, later its inclusive prefix, the sum
// of everything up to its end. Each word of the sum travels together with a tag in one 64-bit word, the tag in the
// upper half. Memory never tears such a word apart, so no fence has to stand between a sum and a flag. A status fills a
// sector of 32 bytes: many blocks poll many statuses, and sectors of their own are spread over the whole L2 cache.
struct alignas(32) Status {
  unsigned long long words[element_words];
};

// What a status says when it is read.
struct Sum {
  Element element;
  bool is_known;   // published in this call; until then, a status holds what an earlier call left there
  bool is_prefix;  // of everything up to the tile's end, not only of the tile
};

// What the blocks of one launch exchange.
struct Board {
  int* d_taken;      // how many tiles have been taken by a block, 0 at first
  Status* d_status;  // of each tile
  unsigned call;     // differs from call to call, so that the statuses need not be cleared; never 0
};

// Writes a tile's status: its aggregate, or its inclusive prefix. For one thread.
__device__ void publish(Board board, int tile, Element sum, bool is_prefix) {
  // >>> your code
  unsigned words[element_words];
  memcpy(words, &sum, sizeof(sum));
  const unsigned tag = 2 * board.call + is_prefix;
  for (int k = 0; k < element_words; ++k) {
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> word(board.d_status[tile].words[k]);
    word.store(static_cast<unsigned long long>(tag) << 32 | words[k], cuda::memory_order_relaxed);
  }
  // <<< your code
}

// Reads a tile's status, and does not wait for it.
__device__ Sum read(Board board, int tile) {
  Sum sum{identity(), false, false};
  // >>> your code
  unsigned words[element_words], tag = 0;
  bool is_whole = true;
  for (int k = 0; k < element_words; ++k) {
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> word(board.d_status[tile].words[k]);
    const unsigned long long both = word.load(cuda::memory_order_relaxed);
    words[k] = static_cast<unsigned>(both);
    if (k > 0) is_whole = is_whole && tag == both >> 32;  // or one word is the aggregate's, another the prefix's
    tag = both >> 32;
  }
  sum.is_known = is_whole && tag / 2 == board.call;
  sum.is_prefix = sum.is_known && tag % 2 == 1;
  if (sum.is_known) memcpy(&sum.element, words, sizeof(words));
  // <<< your code
  return sum;
}

// The sum of everything before `tile`. For all lanes of a warp, which look at 32 tiles at a time, the nearest first.
// The block knows the prefix of a tile that it had before, `known_tile` (-1: of none), and need not look further back.
__device__ Element look_back(Board board, int tile, int known_tile, Element known_prefix) {
  Element before = identity();
  // >>> your code
  const int lane = threadIdx.x % warp_size;
  for (int end = tile;; end -= warp_size) {        // the window of 32 tiles that ends before tile `end`
    const int looked_at = end - warp_size + lane;  // later tiles in later lanes
    Sum sum{identity(), false, false};
    unsigned prefixes;
    int first;  // of the lanes whose sums are needed: that of the nearest prefix, which covers all that is before it
    while (true) {
      // An aggregate that is known will do: no lane waits for it to become a prefix.
      if (!sum.is_known) sum = looked_at > known_tile ? read(board, looked_at) : Sum{known_prefix, true, true};
      prefixes = __ballot_sync(all_lanes, sum.is_prefix);
      const unsigned known = __ballot_sync(all_lanes, sum.is_known);
      first = prefixes != 0 ? 31 - __clz(prefixes) : 0;
      if (known >> first == all_lanes >> first) break;
    }
    before = of_last_lane(scan_row(lane >= first ? sum.element : identity())) + before;
    if (prefixes != 0) break;
  }
  // <<< your code
  return before;
}

// A tile's place in shared memory, and what the warps exchange about it.
struct Stage {
  Pack elements[runs * packs];
  Element run_before[runs];    // of each run: the sum of its warp's earlier runs
  Element warp_before[warps];  // of each warp: the sum of earlier warps' runs
  Element aggregate, before;   // of the tile; of everything before it
  int tile;                    // its number; one that no tile has: there are no more
  Barrier loaded, summed, published, placed, scanned;
};

// The work that is to be done, and where.
struct Work {
  const Element* d_x;
  Element* d_y;
  int n, tiles, stages;
  Board board;

  __device__ int count(int tile) const { return min(tile_size, n - tile * tile_size); }
};

// One warp: takes tiles, loads them, and stores them when they have been scanned. Not by blockIdx.x: blocks start in
// any order. A block with an earlier tile is working on it or on one before it, so waiting for its status ends.
__device__ void move_tiles(Stage* s_stages, Work work) {
  const int lane = threadIdx.x % warp_size;
  const bool one_each = work.tiles == gridDim.x;  // otherwise a block asks until none is left, once more for each stage
  const int last_taken = one_each ? work.tiles - 1 : work.tiles + gridDim.x * work.stages - 1;
  int taken = 0;  // by this block
  const auto take = [&] {
    int tile = 0;
    if (taken++ > 0 && one_each) return work.tiles;
    if (lane == 0 && work.tiles > 1) {
      tile = atomicAdd(work.board.d_taken, 1);
      if (tile == last_taken) *work.board.d_taken = 0;  // for the next call
    }
    return tile;
  };
  const auto load = [&](Stage& stage, int tile) {
    tile = __shfl_sync(all_lanes, tile, 0);
    if (lane == 0) stage.tile = tile;
    __syncwarp();  // makes the number visible to the warp's other lanes, which read it next
    if (tile < work.tiles) {
      scanlab::load_tile(stage.elements[0].elements, work.d_x + static_cast<size_t>(tile) * tile_size, work.count(tile),
                         tile_size, identity(), stage.loaded);
    } else if (lane == 0) {
      (void)stage.loaded.arrive();
    }
  };
  for (int k = 0; k < work.stages; ++k) load(s_stages[k], take());
  for (Turn turn{work.stages};; turn.next()) {
    Stage& stage = s_stages[turn.stage];
    const int tile = __shfl_sync(all_lanes, stage.tile, 0);
    if (tile >= work.tiles) break;
    stage.scanned.wait_parity(turn.parity);
    const int next = take();  // is under way while the tile is stored
    scanlab::store_tile(work.d_y + static_cast<size_t>(tile) * tile_size, stage.elements[0].elements, work.count(tile));
    load(stage, next);
  }
}

// The first `warps` warps: sum up each run, scan the sums, and publish the tile's aggregate.
__device__ void sum_tiles(Stage* s_stages, Work work) {
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  for (Turn turn{work.stages};; turn.next()) {
    Stage& stage = s_stages[turn.stage];
    stage.loaded.wait_parity(turn.parity);
    if (stage.tile >= work.tiles) break;
    Element sum = identity();
    for (int k = 0; k < packs; ++k) {
      for (const Element& element : stage.elements[t * packs + k].elements) sum = sum + element;
    }
    const Element scanned = scan_row(sum);
    const Element earlier = shuffle_up(scanned, 1);
    stage.run_before[t] = lane > 0 ? earlier : identity();
    if (lane == warp_size - 1) stage.warp_before[warp] = scanned;
    __syncwarp();
    if (lane == 0) (void)stage.summed.arrive();
    if (warp > 0) continue;

    stage.summed.wait_parity(turn.parity);
    const Element total = scan_row(lane < warps ? stage.warp_before[lane] : identity());
    const Element before = shuffle_up(total, 1);
    if (lane < warps) stage.warp_before[lane] = lane > 0 ? before : identity();
    if (lane == warp_size - 1) {
      publish(work.board, stage.tile, total, false);
      stage.aggregate = total;
    }
    __syncwarp();
    if (lane == 0) (void)stage.published.arrive();
  }
}

// One warp: finds what is before each tile for the warps that scan it, and publishes the tile's inclusive prefix.
__device__ void place_tiles(Stage* s_stages, Work work) {
  const int lane = threadIdx.x % warp_size;
  int known_tile = -1;
  Element known_prefix = identity();
  for (Turn turn{work.stages};; turn.next()) {
    Stage& stage = s_stages[turn.stage];
    stage.loaded.wait_parity(turn.parity);
    if (stage.tile >= work.tiles) break;
    stage.published.wait_parity(turn.parity);
    const Element before = look_back(work.board, stage.tile, known_tile, known_prefix);
    // >>> your code
    known_tile = stage.tile;
    known_prefix = before + stage.aggregate;
    if (lane == 0) publish(work.board, known_tile, known_prefix, true);
    // <<< your code
    __syncwarp();  // all lanes have read what they need before lane 0 hands the stage on
    if (lane == 0) {
      stage.before = before;
      (void)stage.placed.arrive();
    }
  }
}

// `warps` warps: scan each run, with what is before it.
template <Kind kind>
__device__ void scan_tiles(Stage* s_stages, Work work) {
  const int t = threadIdx.x - scan_warps * warp_size, warp = t / warp_size;
  for (Turn turn{work.stages};; turn.next()) {
    Stage& stage = s_stages[turn.stage];
    stage.loaded.wait_parity(turn.parity);
    if (stage.tile >= work.tiles) break;
    stage.placed.wait_parity(turn.parity);
    Element sum = stage.before + stage.warp_before[warp] + stage.run_before[t];
    for (int k = 0; k < packs; ++k) {
      Pack pack = stage.elements[t * packs + k];
      for (Element& element : pack.elements) {
        const Element before = sum;
        sum = sum + element;
        element = kind == Kind::inclusive ? sum : before;
      }
      stage.elements[t * packs + k] = pack;
    }
    scanlab::hand_over_writes();
    __syncwarp();
    if (t % warp_size == 0) (void)stage.scanned.arrive();
  }
}

// As many blocks as the device holds at a time, each of which takes tile after tile until none is left.
template <Kind kind>
__global__ void __launch_bounds__(block_size, 1) scan_kernel(Work work) {
  extern __shared__ __align__(128) unsigned char s_bytes[];
  Stage* const s_stages = reinterpret_cast<Stage*>(s_bytes);
  if (threadIdx.x == 0) {
    for (int k = 0; k < work.stages; ++k) {
      Stage& stage = s_stages[k];
      init(&stage.loaded, 1);  // arrivals: the mover's, which counts for all that it loads
      init(&stage.summed, warps);
      init(&stage.published, 1);
      init(&stage.placed, 1);
      init(&stage.scanned, warps);
    }
  }
  __syncthreads();  // makes the barriers visible to the threads that use them
  switch (threadIdx.x / warp_size) {
    case look_back_warp:
      return place_tiles(s_stages, work);
    case move_warp:
      return move_tiles(s_stages, work);
    default:
      return threadIdx.x < scan_warps * warp_size ? sum_tiles(s_stages, work) : scan_tiles<kind>(s_stages, work);
  }
}

// The scratch memory, which is kept from call to call. It is made again when a longer array comes, and when the calls'
// numbers are used up, as half of a tag is all they have.
Board board_for(int tiles) {
  constexpr unsigned most_calls = (1u << 31) - 1;
  static Board board{};
  static int room = 0;
  if (tiles > room || board.call == most_calls) {
    SCANLAB_CUDA_CHECK(cudaFree(board.d_status));
    SCANLAB_CUDA_CHECK(cudaFree(board.d_taken));
    SCANLAB_CUDA_CHECK(cudaMalloc(&board.d_status, tiles * sizeof(Status)));
    SCANLAB_CUDA_CHECK(cudaMalloc(&board.d_taken, sizeof(int)));
    SCANLAB_CUDA_CHECK(cudaMemset(board.d_status, 0, tiles * sizeof(Status)));
    SCANLAB_CUDA_CHECK(cudaMemset(board.d_taken, 0, sizeof(int)));
    room = tiles;
    board.call = 0;
  }
  ++board.call;
  return board;
}

// What the device holds, asked once: the questions take longer than the scan of a short array.
struct Device {
  int multiprocessors, stages;
};

template <Kind kind>
Device prepared_device() {
  constexpr int most_stages = 6;  // 216 KB of tiles
  Device device;
  int number, shared_bytes;
  SCANLAB_CUDA_CHECK(cudaGetDevice(&number));
  SCANLAB_CUDA_CHECK(cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, number));
  SCANLAB_CUDA_CHECK(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, number));
  device.stages = std::min<int>(most_stages, shared_bytes / sizeof(Stage));
  SCANLAB_CUDA_CHECK(cudaFuncSetAttribute(scan_kernel<kind>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          device.stages * sizeof(Stage)));
  return device;
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  static const Device device = prepared_device<kind>();
  const int tiles = (n - 1) / tile_size + 1;  // n / tile_size, rounded up
  const int blocks = std::min(tiles, device.multiprocessors);
  const int stages = std::min(device.stages, (tiles - 1) / blocks + 1);
  scan_kernel<kind><<<blocks, block_size, stages * sizeof(Stage)>>>({d_x, d_y, n, tiles, stages, board_for(tiles)});
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
