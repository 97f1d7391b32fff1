// expect: fail busiest_block cost.busiest_block | right, but one thread moves one element after the
// other

#include "scanlab.cuh"

__global__ void move_kernel(const Element* d_x, Element* d_y, int* d_kept, int n, bool moves_others) {
  int place = 0;
  for (int i = 0; i < n; ++i) {
    if (keep(d_x[i])) d_y[place++] = d_x[i];
  }
  *d_kept = place;
  if (!moves_others) return;
  for (int i = 0; i < n; ++i) {
    if (!keep(d_x[i])) d_y[place++] = d_x[i];
  }
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  move_kernel<<<1, 1>>>(d_x, d_y, d_kept, n, false);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  move_kernel<<<1, 1>>>(d_x, d_y, d_kept, n, true);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
