// expect: fail requests | right, but the running sum is fetched from memory each time
// expect on gpu: fail speed | each addition waits for a load that waits for the store before it

#include "scanlab.cuh"

// Reads each element once and writes each result once. Only one thread may run this: two would do the same work twice.
template <Kind kind>
__global__ void sequential_kernel(const Element* d_x, Element* d_y, int n) {
  d_y[0] = kind == Kind::inclusive ? d_x[0] : identity();
  for (int i = 1; i < n; ++i) {
    __threadfence();  // the store of the round before goes first, and what L1 holds is forgotten
    d_y[i] = d_y[i - 1] + d_x[i - shift<kind>];
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
