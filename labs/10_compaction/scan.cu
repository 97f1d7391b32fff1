// Compacts the whole array (only the kept elements, in their order), and splits it (the others behind them, in theirs).
// New since 08: the scan is over flags, 1 for an element that is kept, else 0; it gives each element its place in d_y.
// Run: grader/scanlab check 10 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/10_compaction.md

#include "scanlab.cuh"

constexpr int warp_size = 32;
constexpr int warps = 4;  // of a block, each with a part of the section
constexpr int block_size = warps * warp_size;
constexpr int rows = section_size / block_size;  // of warp_size neighbours each, which a warp scans one after the other
constexpr unsigned all_lanes = 0xffffffff;       // the mask of a shuffle: a bit for each lane that takes part in it

// Inclusive scan of one row, a number in each lane of a warp: lab 08's. An int fits into one word, and one shuffle.
__device__ int scan_row(int count) {
  const int lane = threadIdx.x % warp_size;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const int earlier = __shfl_up_sync(all_lanes, count, distance);  // in front of the if: all lanes take part
    if (lane >= distance) count = earlier + count;  // the first lanes got their own: nothing is before them
  }
  return count;
}

// What the blocks of one launch exchange.
struct Chain {
  int* d_taken;     // how many sections have been taken by a block, 0 at first
  int* d_flags;     // of each section: 0, and from when its prefix may be read on, 1
  int* d_prefixes;  // of each section: how many elements are kept up to its end
};

// Waits for the number of elements kept before this section, passes on what it is with the section's own total, returns
// it. For one thread of the block.
__device__ int pass_on(Chain chain, int section, int total) {
  int before = 0;  // of the first section, which waits for no other
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

enum class Task { compact, split };

// Adds to *d_kept how many elements of the block's section are kept.
__global__ void count_kernel(const Element* d_x, int* d_kept, int n) {
  // >>> your code
  // TODO(1): count (about 6 lines). The block's section begins at blockIdx.x * section_size. Each thread counts those
  //          of its elements that are kept; neighbouring threads look at neighbouring elements. Add up the warp's
  //          counts, and let one of its lanes add the sum to *d_kept.
  // <<< your code
}

// One block of block_size threads puts the elements of one section to their places. For a split, *d_kept is the number
// of all kept elements already; a compaction sets it.
template <Task task>
__global__ void section_kernel(const Element* d_x, Element* d_y, int* d_kept, Chain chain, int n) {
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  __shared__ int s_section;

  // Not blockIdx.x: blocks start in any order. Blocks with earlier sections are running, so waiting for them ends.
  if (t == 0) s_section = atomicAdd(chain.d_taken, 1);
  __syncthreads();  // makes the section's number visible to the whole block
  const int first = s_section * section_size + warp * rows * warp_size + lane;  // this lane's place in the first row

  // Neighbouring lanes read neighbours (coalesced), and keep what they read. Tail guard: beyond d_x[n - 1] there is
  // nothing to read. There stands the identity, which is not kept.
  Element x[rows];  // in registers: all loops over it have a fixed length, and are unrolled
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    x[row] = i < n ? d_x[i] : identity();
  }

  __shared__ int s_before, s_sums[warps];  // what the warps exchange

  // >>> your code
  // TODO(2): phase 1 (about 6 lines). Each lane's flag of a row is 1 if its element is kept, else 0. Scan the rows one
  //          after the other; a row goes on with what the rows before it sum up to. Remember in each lane, in an array
  //          like x, the count of each row, for phase 3. The warp's sum goes to s_sums[warp].
  // <<< your code
  __syncthreads();  // makes the warps' sums visible to warp 0

  // Phase 2: warp 0 scans them. All of its lanes take part: beyond the last sum stand zeros.
  if (warp == 0) {
    const int total = scan_row(lane < warps ? s_sums[lane] : 0);
    if (lane < warps) s_sums[lane] = total;
    // The next block waits for this one: the total goes on its way before anything else is done with it.
    if (lane == warp_size - 1) s_before = pass_on(chain, s_section, total);
    // >>> your code
    // TODO(3): the number (1 line). A thread here knows how many elements are kept in all, if this is the last section.
    // <<< your code
  }
  __syncthreads();  // makes s_before and the scanned sums visible to the whole block

  // >>> your code
  // TODO(4): phase 3 (about 12 lines). How many elements are kept before each of the lane's elements? That is its
  //          place, if it is kept. If it is not, a split puts it behind all kept ones, of which there are *d_kept, and
  //          behind those of the i elements before it that are not kept either.
  // <<< your code
}

template <Task task>
void launch(const Element* d_x, Element* d_y, int* d_kept, int n) {
  SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));  // for n = 0 that is all, and count_kernel adds to it
  if (n == 0) return;                                      // a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;         // n / section_size, rounded up
  // >>> your code
  // TODO(5): the host's side (about 4 lines). section_kernel needs the number of all kept elements for a split: launch
  //          count_kernel before it, one block a section.
  // <<< your code
  Chain chain;
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_prefixes, sections * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_flags, (sections + 1) * sizeof(int)));
  chain.d_taken = chain.d_flags + sections;
  SCANLAB_CUDA_CHECK(cudaMemset(chain.d_flags, 0, (sections + 1) * sizeof(int)));  // no flag set, no section taken
  section_kernel<task><<<sections, block_size>>>(d_x, d_y, d_kept, chain, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_flags));  // waits for the kernel that still uses it
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_prefixes));
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<Task::compact>(d_x, d_y, d_kept, n);
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<Task::split>(d_x, d_y, d_kept, n);
}
