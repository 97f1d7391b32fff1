// Computes the scans of lab 04, section by section, with a thread for each element instead of one for two.
// For comparison: half of the threads only load and store, and the block's every barrier waits for them too.
// Run: grader/scanlab bench 04
// Handout: handouts/04_brent_kung.md

#include "scanlab.cuh"

constexpr int block_size = section_size;

// One block of block_size threads scans one section, in place in shared memory.
template <Kind kind>
__global__ void one_element_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;  // the section's place in the whole array
  __shared__ Element s_xy[section_size];

  // Tail guard: the last section may end early, and beyond d_x[n - 1] there is nothing to read. There, and before a
  // section's first element, stands the identity, so that the trees below need no guard of their own.
  s_xy[t] = t >= shift<kind> && first + t < n ? d_x[first + t - shift<kind>] : identity();

  // Reduction tree: afterwards s_xy[p] holds the sum of the 2 * stride elements that end at p, for every such p. One
  // barrier a level is enough: what a thread writes, no other thread reads in the same level.
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();  // makes the level below (at first the load) visible to the threads that combine it
    const int p = (t + 1) * 2 * stride - 1;  // neighbours have work, or have none, together: whole warps fall idle
    if (p < section_size) s_xy[p] = s_xy[p - stride] + s_xy[p];
  }
  // Distribution tree: a place that is complete gives its value to the one that lies a stride further right.
  for (int stride = section_size / 4; stride > 0; stride /= 2) {
    __syncthreads();  // makes the level above visible: what is complete by now
    const int p = (t + 1) * 2 * stride - 1;
    if (p + stride < section_size) s_xy[p + stride] = s_xy[p] + s_xy[p + stride];
  }
  __syncthreads();  // makes all sums visible to the threads that store them

  if (first + t < n) d_y[first + t] = s_xy[t];  // tail guard: beyond the end there is nowhere to write
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  one_element_kernel<kind><<<sections, block_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
