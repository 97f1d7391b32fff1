// Computes the inclusive and the exclusive scan of each section with one block, a thread an element, in log2(n) steps.
// New since 02: a step reads one buffer and writes another, so that one barrier a step is enough.
// Run: grader/scanlab check 03 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/03_double_buffer.md

#include "scanlab.cuh"

// One block of section_size threads scans one section, to and fro between two buffers in shared memory.
template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  // >>> your code
  // TODO(1): the places (about 2 lines). Which element of its section is this thread's, and which of the whole array?
  //
  // TODO(2): the buffers (about 3 lines). Two shared arrays of section_size Elements, and two pointers, s_from and
  //          s_to, that say which of them a step reads and which it writes.
  //
  // TODO(3): the load (1 line). Fill all of s_from as in the last lab, for both kinds of scan.
  //
  // TODO(4): the steps (about 9 lines). Read s_from only, write s_to only, then swap the two pointers. Every thread has
  //          something to write in every step, also one with nothing to add. One wait a step is enough: where?
  //
  // TODO(5): the result (1 line). Which buffer holds it after the last swap?
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
