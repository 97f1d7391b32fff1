// Computes the inclusive and the exclusive scan of the whole array, of any length, in a single pass: one launch.
// New since 07: warps scan in their registers, by shuffles; shared memory holds no elements, only a sum for each warp.
// Run: grader/scanlab check 08 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/08_warp_shuffle.md

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
  // >>> your code
  // TODO(1): the steps (about 5 lines): distances 1, 2, 4 and so on. In each, every lane asks for what the lane
  //          `distance` places before it has, and adds it to its own, unless there is no such lane. What does
  //          shuffle_up give to these? And which lanes have to call it?
  // <<< your code
  return element;
}

// What the blocks of one launch exchange.
struct Chain {
  int* d_taken;         // how many sections have been taken by a block, 0 at first
  int* d_flags;         // of each section: 0, and from when its prefix may be read on, 1
  Element* d_prefixes;  // of each section: the sum of everything up to its end
};

// Waits for the sum of everything before this section, passes on what it is with the section's own total, returns it.
// For one thread of the block.
__device__ Element pass_on(Chain chain, int section, Element total) {
  Element before = identity();  // of the first section, which waits for no other
  if (section > 0) {
    while (atomicAdd(&chain.d_flags[section - 1], 0) == 0) {  // an atomic: reads the memory again each time
    }
    __threadfence();  // flag before prefix: what its block wrote before setting the flag is visible to this thread
    before = chain.d_prefixes[section - 1];
  }
  chain.d_prefixes[section] = before + total;
  __threadfence();  // prefix before flag: makes the prefix visible to the thread that finds the flag set
  atomicExch(&chain.d_flags[section], 1);
  return before;
}

// One block of block_size threads scans one section, and adds what all sections before it sum up to.
template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Chain chain, int n) {
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  __shared__ int s_section;

  // Not blockIdx.x: blocks start in any order. Blocks with earlier sections are running, so waiting for them ends.
  if (t == 0) s_section = atomicAdd(chain.d_taken, 1);
  __syncthreads();  // makes the section's number visible to the whole block
  const int first = s_section * section_size + warp * rows * warp_size + lane;  // this lane's place in the first row

  // Neighbouring lanes read neighbours (coalesced), and keep what they read. Tail guard: beyond d_x[n - 1] there is
  // nothing to read. There, and before the array's first element, stands the identity.
  Element y[rows];  // in registers: all loops over it have a fixed length, and are unrolled
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    y[row] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }

  // >>> your code
  // TODO(2): phase 1 (about 8 lines). The warp scans its rows from the first to the last. Each one goes on where the
  //          one before it ended, and its last lane knows where that was. What all rows of the warp sum up to goes into
  //          shared memory, one Element a warp. Which threads have to know it, and what makes it visible there?
  //
  // TODO(3): phase 2 (about 6 lines). One warp scans the warps' sums. It has more lanes than there are sums: what do
  //          the others hold? Then one of its lanes knows the section's total, and calls pass_on. What that returns is
  //          for the whole block: one Element more in shared memory.
  //
  // TODO(4): phase 3 (about 3 lines). Each thread adds what all earlier sections and the earlier warps of this one sum
  //          up to, once to each of its elements.
  // <<< your code

  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    if (i < n) d_y[i] = y[row];  // tail guard: beyond the end there is nowhere to write
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  Chain chain;
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_prefixes, sections * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_flags, (sections + 1) * sizeof(int)));
  chain.d_taken = chain.d_flags + sections;
  SCANLAB_CUDA_CHECK(cudaMemset(chain.d_flags, 0, (sections + 1) * sizeof(int)));  // no flag set, no section taken
  section_kernel<kind><<<sections, block_size>>>(d_x, d_y, chain, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_flags));  // waits for the kernel that still uses it
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_prefixes));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
