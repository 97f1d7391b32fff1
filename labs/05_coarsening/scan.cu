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
  // TODO(1): phase 1 (about 2 lines). Thread t's run is the run_length elements of s_xy from t * run_length on. Scan it
  //          in place, one element after the other, as lab 01 did with the whole array.
  //
  // TODO(2): phase 2 (about 2 lines). After phase 1 the last element of a run is the sum of the whole run. Put it into
  //          this thread's place of s_sums, and let the block scan these sums with scan_sums. Which barriers has that
  //          function already, and for which threads?
  //
  // TODO(3): phase 3 (about 3 lines). Each thread has to add what all runs before its own sum up to, to each element of
  //          its run. Where does that stand now, and for which thread does it not exist?
  //
  // TODO(4): the store below reads elements that other threads have written (1 line). What has to come before it?
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
