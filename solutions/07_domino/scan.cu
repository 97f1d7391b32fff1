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
  if (section > 0) {
    while (atomicAdd(&chain.d_flags[section - 1], 0) == 0) {  // an atomic: reads the memory again each time
    }
    __threadfence();  // flag before prefix: what its block wrote before setting the flag is visible to this thread
    before = chain.d_prefixes[section - 1];
  }
  chain.d_prefixes[section] = before + total;
  __threadfence();  // prefix before flag: makes the prefix visible to the thread that finds the flag set
  atomicExch(&chain.d_flags[section], 1);
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
  // Not blockIdx.x: blocks start in any order. Blocks with earlier sections are running, so waiting for them ends.
  if (t == 0) s_section = atomicAdd(chain.d_taken, 1);
  __syncthreads();  // makes the section's number visible to the whole block
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
  // The next block waits for this one: the total goes on its way before anything else is done with it.
  if (t == 0) s_before = pass_on(chain, s_section, s_sums[block_size - 1]);
  __syncthreads();  // makes s_before visible to the whole block

  // Phase 3: each thread adds what all earlier sections and the earlier runs of this one sum up to.
  Element before = s_before;
  if (t > 0) before = before + s_sums[t - 1];
  for (int k = 0; k < run_length; ++k) s_run[k] = before + s_run[k];
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
  // <<< your code
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
