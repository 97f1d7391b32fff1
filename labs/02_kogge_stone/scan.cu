// Computes the inclusive and the exclusive scan of each section with one block, a thread an element, in log2(n) steps.
// New since 01: all threads add at the same time, the element a stride further left, and the stride doubles each step.
// Run: grader/scanlab check 02 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/02_kogge_stone.md

#include "scanlab.cuh"

// One block of section_size threads scans one section, in place in shared memory.
template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;                    // this thread's place in the section
  const int i = blockIdx.x * section_size + t;  // and in the whole array
  __shared__ Element s_xy[section_size];

  // Tail guard: the last section may end early, and beyond d_x[n - 1] there is nothing to read. There, and before a
  // section's first element, stands the identity, so that the steps below need no guard of their own.
  s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();

  // >>> your code
  // TODO(1): the steps (about 7 lines). For stride = 1, 2, 4 … below section_size, every thread with t >= stride
  //          combines the element `stride` places to its left with its own; the other threads add nothing. All of it
  //          happens in s_xy. This thread reads what others have just written, and others read what this thread is
  //          about to replace: find the two places in a step where all threads have to wait for each other, and write
  //          beside each what it is waiting for.
  //
  // TODO(2): the result (1 line). Write this thread's element of s_xy to d_y. Not every thread has a place there.
  // <<< your code
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  kogge_stone_kernel<kind><<<sections, section_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
