// Computes the inclusive and the exclusive scan of each section with one block, a run of eight elements a thread.
// New since 04: each thread first scans a run by itself, and the block scans only the runs' sums.
// Run: grader/scanlab check 05 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/05_coarsening.md

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

// One block of block_size threads scans one section, in place in shared memory.
template <Kind kind>
__global__ void coarsened_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;  // the section's place in the whole array
  __shared__ Element s_xy[section_size], s_sums[block_size];

  // Neighbours read neighbours (coalesced), whichever scans them. Tail guard: beyond d_x[n - 1] there is nothing to
  // read. There, and before a section's first element, stands the identity.
  for (int p = t; p < section_size; p += block_size) {
    s_xy[p] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  __syncthreads();  // makes the load visible to the thread whose run it belongs to

  // >>> your code
  // Phase 1: each thread scans its own run, one after the other.
  Element* const s_run = s_xy + t * run_length;
  for (int k = 1; k < run_length; ++k) s_run[k] = s_run[k - 1] + s_run[k];

  // Phase 2: the block scans the runs' sums, which are their last elements.
  s_sums[t] = s_run[run_length - 1];
  scan_sums(s_sums);

  // Phase 3: each thread adds what all earlier runs sum up to.
  if (t > 0) {
    for (int k = 0; k < run_length; ++k) s_run[k] = s_sums[t - 1] + s_run[k];
  }
  __syncthreads();  // makes all runs visible to the threads that store them
  // <<< your code

  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];  // tail guard: beyond the end there is nowhere to write
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  coarsened_kernel<kind><<<sections, block_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
