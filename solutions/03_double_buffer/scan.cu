// Computes the inclusive and the exclusive scan of each section with one block, a thread an element, in log2(n) steps.
// New since 02: a step reads one buffer and writes another, so that one barrier a step is enough.
// Run: grader/scanlab check 03 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/03_double_buffer.md

#include "scanlab.cuh"

// One block of section_size threads scans one section, to and fro between two buffers in shared memory.
template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  // >>> your code
  const int t = threadIdx.x;                    // this thread's place in the section
  const int i = blockIdx.x * section_size + t;  // and in the whole array
  __shared__ Element s_a[section_size], s_b[section_size];
  Element* s_from = s_a;  // complete: the load, then the last step's sums
  Element* s_to = s_b;    // free to write

  // Tail guard: the last section may end early, and beyond d_x[n - 1] there is nothing to read. There, and before a
  // section's first element, stands the identity, so that the steps below need no guard of their own.
  s_from[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();

  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();  // makes s_from visible to all; and all have read s_to, the last step's s_from: it may go
    Element sum = s_from[t];
    if (t >= stride) sum = s_from[t - stride] + sum;  // the rest already has all its elements, and copies
    s_to[t] = sum;
    Element* const s_free = s_from;
    s_from = s_to;
    s_to = s_free;
  }
  // No barrier here: each thread reads only what it wrote itself.
  if (i < n) d_y[i] = s_from[t];  // tail guard: the last section's other threads have nowhere to write
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
