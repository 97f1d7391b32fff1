// expect: fail requests cost.global_requests | right, but the running sum is fetched from memory each time

#include "scanlab.cuh"

template <Kind kind>
__global__ void sequential_kernel(const Element* d_x, Element* d_y, int n) {
  Element sum = kind == Kind::inclusive ? d_x[0] : identity();
  d_y[0] = sum;
  __threadfence();  // keeps the compiler from remembering the sum in a register
  for (int i = 1; i < n; ++i) {
    d_y[i] = d_y[i - 1] + d_x[i - shift<kind>];
    __threadfence();
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  sequential_kernel<kind><<<1, 1>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
