// Computes the inclusive and the exclusive scan of the whole array, of any length, in two launches.
// New since 08: no block waits for another. Each adds its total, atomically, to the offsets of all later sections.
// Run: grader/scanlab check 09 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/09_atomic_block_sums.md

#include "scanlab.cuh"

constexpr int warp_size = 32;
constexpr int warps = 4;  // of a block, each with a part of the section
constexpr int block_size = warps * warp_size;
constexpr int rows = section_size / block_size;  // of warp_size neighbours each, which a warp scans one after the other
constexpr unsigned all_lanes = 0xffffffff;       // the mask of a shuffle: a bit for each lane that takes part in it

// What the lane `distance` places before this one has as its `element`; where there is none, the lane's own.
__device__ Element shuffle_up(Element element, int distance) {
  unsigned words[sizeof(Element) / sizeof(unsigned)];  // a shuffle moves one word of 32 bits, an Element may have more
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = __shfl_up_sync(all_lanes, word, distance);
  memcpy(&element, words, sizeof(element));
  return element;
}

// What the warp's last lane has as its `element`.
__device__ Element of_last_lane(Element element) {
  unsigned words[sizeof(Element) / sizeof(unsigned)];
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = __shfl_sync(all_lanes, word, warp_size - 1);
  memcpy(&element, words, sizeof(element));
  return element;
}

// Inclusive scan of one row, an element in each lane of a warp: lab 02's steps, but in registers. A shuffle takes what
// the lanes had before it, and all lanes at once: nothing is to be replaced too early, and no barrier is needed.
__device__ Element scan_row(Element element) {
  const int lane = threadIdx.x % warp_size;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const Element earlier = shuffle_up(element, distance);  // in front of the if: all lanes take part
    if (lane >= distance) element = earlier + element;      // the first lanes got their own: nothing is before them
  }
  return element;
}

// One block of block_size threads scans one section, and adds its total to the offsets of all later sections.
template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Element* d_offsets, int n) {
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  const int first = blockIdx.x * section_size + warp * rows * warp_size + lane;  // this lane's place in the first row
  __shared__ Element s_sums[warps];                                              // what the warps exchange

  // Neighbouring lanes read neighbours (coalesced), and keep what they read. Tail guard: beyond d_x[n - 1] there is
  // nothing to read. There, and before the array's first element, stands the identity.
  Element y[rows];  // in registers: all loops over it have a fixed length, and are unrolled
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    y[row] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }

  // Phase 1: each warp scans its rows. A row begins with what all rows before it sum up to.
  Element sum = identity();
  for (int row = 0; row < rows; ++row) {
    y[row] = sum + scan_row(y[row]);
    sum = of_last_lane(y[row]);
  }
  if (lane == 0) s_sums[warp] = sum;
  __syncthreads();  // makes the warps' sums visible to warp 0

  // Phase 2: warp 0 scans them. All of its lanes take part: beyond the last sum stand identities.
  if (warp == 0) {
    const Element total = scan_row(lane < warps ? s_sums[lane] : identity());
    if (lane < warps) s_sums[lane] = total;
  }
  __syncthreads();  // makes the scanned sums visible to the whole block

  // >>> your code
  // Atomic: other blocks add to the same offsets, in any order. The threads share the work, neighbours side by side.
  const Element total = s_sums[warps - 1];
  for (unsigned later = blockIdx.x + 1 + t; later < gridDim.x; later += block_size) atomicAdd(&d_offsets[later], total);
  // <<< your code

  // Phase 3: each thread adds what the earlier warps of its section sum up to.
  const Element before = warp > 0 ? s_sums[warp - 1] : identity();
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    if (i < n) d_y[i] = before + y[row];  // tail guard: beyond the end there is nowhere to write
  }
}

// Adds to each section but the first what all sections before it sum up to. A kernel of its own: the offsets are
// complete when the last block of section_kernel has ended, and visible to the kernels after it.
__global__ void add_kernel(Element* d_y, const Element* d_offsets, int n) {
  // >>> your code
  const int section = blockIdx.x + 1;  // the first section has nothing before it
  const int i = section * section_size + threadIdx.x;
  if (i < n) d_y[i] = d_offsets[section] + d_y[i];  // tail guard: the last section may end early
  // <<< your code
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  Element* d_offsets = nullptr;                     // of each section: what all sections before it sum up to
  // >>> your code
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_offsets, sections * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMemset(d_offsets, 0, sections * sizeof(Element)));  // of the float 0 all bits are 0
  // <<< your code
  section_kernel<kind><<<sections, block_size>>>(d_x, d_y, d_offsets, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  // >>> your code
  if (sections > 1) {  // a grid of no blocks is invalid, and there would be nothing to add
    add_kernel<<<sections - 1, section_size>>>(d_y, d_offsets, n);
    SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  }
  SCANLAB_CUDA_CHECK(cudaFree(d_offsets));  // waits for the kernels that still use it
  // <<< your code
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
