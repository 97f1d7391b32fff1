// expect: fail additions cost.additions | right, but n additions: identity() + x[0] is one of them

#include "scanlab.cuh"

template <Kind kind>
__global__ void sequential_kernel(const Element* d_x, Element* d_y, int n) {
  Element sum = identity();
  for (int i = 0; i < n; ++i) {
    if (kind == Kind::exclusive) d_y[i] = sum;
    if (kind == Kind::inclusive || i < n - 1) sum = sum + d_x[i];
    if (kind == Kind::inclusive) d_y[i] = sum;
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
