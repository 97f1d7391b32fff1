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
  // No barrier here: this thread's sum has been final since scan_sums. Beyond the end of a partial section stand
  // identities, so the last sum is the sum of what there is. The next kernel sees it: kernels run one after the other.
  if (d_sums != nullptr && t == block_size - 1) d_sums[blockIdx.x] = s_sums[t];
  // <<< your code
}

// Adds to each section but the first what all sections before it sum up to.
__global__ void add_kernel(Element* d_y, const Element* d_sums, int n) {
  // >>> your code
  const int i = (blockIdx.x + 1) * section_size + threadIdx.x;  // the first section has nothing before it
  if (i < n) d_y[i] = d_sums[blockIdx.x] + d_y[i];              // tail guard: the last section may end early
  // <<< your code
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  // >>> your code
  if (sections == 1) {  // nothing is before it: here the recursion ends
    section_kernel<kind><<<1, block_size>>>(d_x, d_y, nullptr, n);
    SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
    return;
  }
  Element* d_sums;  // a sum for each section; each level of the recursion has its own
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_sums, sections * sizeof(Element)));
  section_kernel<kind><<<sections, block_size>>>(d_x, d_y, d_sums, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  // Always inclusive, whatever the kind. In place: a block has loaded all of its section before it stores any of it.
  launch_scan<Kind::inclusive>(d_sums, d_sums, sections);
  add_kernel<<<sections - 1, section_size>>>(d_y, d_sums, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_sums));  // last: it waits for the kernels that still use d_sums
  // <<< your code
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
