// Computes the inclusive and the exclusive scan of the whole array, of any length, in a single pass: one launch.
// New since 06: each block waits for the sum of all that is before its section, adds its own to it, and passes it on.
// Run: grader/scanlab check 07 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/07_domino.md

#include "scanlab.cuh"

constexpr int run_length = 8;  // elements that a thread scans by itself
constexpr int block_size = section_size / run_length;

// Inclusive scan of the block's block_size sums, in place in shared memory: lab 04's two trees.
__device__ void scan_sums(Element* s_sums) {
  const int t = threadIdx.x;
  for (int stride = 1; stride < block_size; stride *= 2) {
    __syncthreads();  // makes the level below (at first the runs' sums) visible to the threads that combine it
    const int p = (t + 1) * 2 * stride - 1;
    if (p < block_size) s_sums[p] = s_sums[p - stride] + s_sums[p];
  }
  for (int stride = block_size / 4; stride > 0; stride /= 2) {
    __syncthreads();  // makes the level above visible: what is complete by now
    const int p = (t + 1) * 2 * stride - 1;
    if (p + stride < block_size) s_sums[p + stride] = s_sums[p] + s_sums[p + stride];
  }
  __syncthreads();  // makes all sums visible to the threads that add them
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
  // >>> your code
  // TODO(1): the chain (about 9 lines), with chain.d_flags and chain.d_prefixes. Every section but the first waits
  //          until the flag of the section before is set, then reads that section's prefix. Write this section's own
  //          prefix, then set its flag. Another block will read the two: what has to stand between a flag and a prefix,
  //          on the side that writes them, and on the side that reads them?
  // <<< your code
  return before;
}

// One block of block_size threads scans one section, and adds what all sections before it sum up to.
template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Chain chain, int n) {
  const int t = threadIdx.x;
  __shared__ int s_section;
  __shared__ Element s_before, s_xy[section_size], s_sums[block_size];

  // >>> your code
  // TODO(2): the section (about 2 lines). Blocks start in any order, so blockIdx.x is not the number you want: let one
  //          thread take the next section from chain.d_taken, and the whole block learn it through s_section.
  // <<< your code
  const int first = s_section * section_size;  // the section's place in the whole array

  // Neighbours read neighbours (coalesced), whichever scans them. Tail guard: beyond d_x[n - 1] there is nothing to
  // read. There, and before the array's first element, stands the identity.
  for (int p = t; p < section_size; p += block_size) {
    const int i = first + p;
    s_xy[p] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }
  __syncthreads();  // makes the load visible to the thread whose run it belongs to

  // Phase 1: each thread scans its own run, one after the other.
  Element* const s_run = s_xy + t * run_length;
  for (int k = 1; k < run_length; ++k) s_run[k] = s_run[k - 1] + s_run[k];

  // Phase 2: the block scans the runs' sums, which are their last elements.
  s_sums[t] = s_run[run_length - 1];
  scan_sums(s_sums);

  // >>> your code
  // TODO(3): pass on (about 2 lines). The section's total is now in s_sums. One thread calls pass_on, and the whole
  //          block learns what is before the section through s_before.
  //
  // TODO(4): phase 3 (about 3 lines). Each thread adds what all earlier sections and the earlier runs of this one sum
  //          up to, once to each element of its run.
  // <<< your code
  __syncthreads();  // makes all runs visible to the threads that store them

  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];  // tail guard: beyond the end there is nowhere to write
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  // >>> your code
  // TODO(5): the host's side (about 10 lines). How many sections are there? Allocate what Chain points to, set to zero
  //          what has to be (again in every call), launch one block a section, and free what you allocated.
  // <<< your code
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
