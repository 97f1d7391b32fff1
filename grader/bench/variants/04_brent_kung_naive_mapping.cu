// Computes the scans of lab 04, section by section, with a thread for each element, which works at its own place only.
// For comparison: (t + 1) % (2 * stride) spreads the threads that have work over all warps, so that every warp goes
// through every level with most of its lanes idle. The solution's mapping keeps them side by side.
// Run: grader/scanlab bench 04
// Handout: handouts/04_brent_kung.md

#include "scanlab.cuh"

constexpr int block_size = section_size;

// One block of block_size threads scans one section, in place in shared memory.
template <Kind kind>
__global__ void naive_kernel(const Element* d_x, Element* d_y, int n) {
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
    if ((t + 1) % (2 * stride) == 0) s_xy[t] = s_xy[t - stride] + s_xy[t];  // few lanes of every warp
  }
  // Distribution tree: a place that is complete gives its value to the one that lies a stride further right.
  for (int stride = section_size / 4; stride > 0; stride /= 2) {
    __syncthreads();  // makes the level above visible: what is complete by now
    if ((t + 1) % (2 * stride) == 0 && t + stride < section_size) s_xy[t + stride] = s_xy[t] + s_xy[t + stride];
  }
  __syncthreads();  // makes all sums visible to the threads that store them

  if (first + t < n) d_y[first + t] = s_xy[t];  // tail guard: beyond the end there is nowhere to write
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  naive_kernel<kind><<<sections, block_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
