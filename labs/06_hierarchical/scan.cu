// Computes the inclusive and the exclusive scan of the whole array, of any length, level by level.
// New since 05: each section leaves its sum; the sums are scanned in the same way, and added to what follows.
// Run: grader/scanlab check 06 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/06_hierarchical.md

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

// One block of block_size threads scans one section, and leaves the sum of all of it in d_sums, unless that is null.
template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Element* d_sums, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;  // the section's place in the whole array
  __shared__ Element s_xy[section_size], s_sums[block_size];

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

  // Phase 3: each thread adds what all earlier runs sum up to.
  if (t > 0) {
    for (int k = 0; k < run_length; ++k) s_run[k] = s_sums[t - 1] + s_run[k];
  }
  __syncthreads();  // makes all runs visible to the threads that store them

  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];  // tail guard: beyond the end there is nowhere to write
  }
  // >>> your code
  // TODO(1): the section's sum (1 line). If d_sums is not null, one thread of the block writes there what the whole
  //          section sums up to, at this block's place. Which thread knows it, and where does it stand by now?
  // <<< your code
}

// Adds to each section but the first what all sections before it sum up to.
__global__ void add_kernel(Element* d_y, const Element* d_sums, int n) {
  // >>> your code
  // TODO(2): the addition (about 2 lines). Add to this thread's element of d_y what all sections before its own sum up
  //          to. d_sums is scanned by now, inclusively: which of its elements is that? The first section needs nothing,
  //          so that a grid of sections - 1 blocks of section_size threads does; the last section may end early.
  // <<< your code
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  // >>> your code
  // TODO(3): one section (about 5 lines). Scan it with one launch of section_kernel and return: there are no sums.
  //
  // TODO(4): more sections (about 8 lines). Allocate d_sums with cudaMalloc, as many Elements as there are sections.
  //          Scan the sections; scan their sums, for which this very function can be called; then add. There may be
  //          more sums than one section holds. Which kind of scan do the sums need if `kind` is exclusive? After each
  //          launch comes SCANLAB_CUDA_CHECK(cudaPeekAtLastError()), around each call of CUDA a SCANLAB_CUDA_CHECK.
  //
  // TODO(5): free what you have allocated (1 line). What has to be finished with it before?
  // <<< your code
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
