// expect: fail inclusive_affine,exclusive_affine wrong.operand_order | later + earlier: floats cannot tell, affine maps
// can

#include "scanlab.cuh"

template <Kind kind>
__global__ void sequential_kernel(const Element* d_x, Element* d_y, int n) {
  Element sum = kind == Kind::inclusive ? d_x[0] : identity();
  d_y[0] = sum;
  for (int i = 1; i < n; ++i) {
    sum = d_x[i - shift<kind>] + sum;
    d_y[i] = sum;
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
