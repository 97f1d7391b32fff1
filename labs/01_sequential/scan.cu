// Computes the inclusive and the exclusive scan of a whole array with one device thread: n - 1 additions, one by one.
// The idea: a running sum. It is the yardstick that every later stage is measured against.
// Run: grader/scanlab check 01 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/01_sequential.md

#include "scanlab.cuh"

// Reads each element once and writes each result once. Only one thread may run this: two would do the same work twice.
template <Kind kind>
__global__ void sequential_kernel(const Element* d_x, Element* d_y, int n) {
  // >>> your code
  // TODO(1): the first element (about 2 lines). Keep the running sum in a variable of type Element. What is y[0] of an
  //          inclusive scan, and what of an exclusive one? Write it to d_y[0].
  //
  // TODO(2): the others (about 4 lines). For i from 1 to n - 1 add one element of d_x to the running sum and write the
  //          sum to d_y[i]. With shift<kind> (labs/scanlab.cuh) one loop does for both kinds. Keep what came earlier on
  //          the left of the +, and read neither d_x[n] nor anything from d_y.
  // <<< your code
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and the kernel would read and write an element 0 that does not exist
  // >>> your code
  // TODO(3): the launch (1 line). Start sequential_kernel<kind> with one block of one thread.
  // <<< your code
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
