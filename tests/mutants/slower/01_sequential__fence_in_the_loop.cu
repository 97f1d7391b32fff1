// expect: pass 01_sequential | right, and as much work as it should be: this lab counts no fences
// expect on gpu: fail speed | each round of the loop waits until its store has arrived in memory

#include "scanlab.cuh"

// Reads each element once and writes each result once. Only one thread may run this: two would do the same work twice.
template <Kind kind>
__global__ void sequential_kernel(const Element* d_x, Element* d_y, int n) {
  Element sum = kind == Kind::inclusive ? d_x[0] : identity();
  d_y[0] = sum;
  for (int i = 1; i < n; ++i) {
    sum = sum + d_x[i - shift<kind>];  // what came earlier stands on the left: + need not be commutative
    d_y[i] = sum;
    __threadfence();  // orders this store before the next: for nobody, there is no other thread
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and the kernel would read and write an element 0 that does not exist
  sequential_kernel<kind><<<1, 1>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
