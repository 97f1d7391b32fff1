// expect: fail inclusive race.shared | the barrier stands behind the loop: a step writes what a slow warp still reads
// in the step before

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_a[section_size], s_b[section_size];
  Element* s_from = s_a;
  Element* s_to = s_b;

  s_from[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();

  __syncthreads();
  for (int stride = 1; stride < section_size; stride *= 2) {
    Element sum = s_from[t];
    if (t >= stride) sum = s_from[t - stride] + sum;
    s_to[t] = sum;
    Element* const s_free = s_from;
    s_from = s_to;
    s_to = s_free;
  }
  __syncthreads();
  if (i < n) d_y[i] = s_from[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  kogge_stone_kernel<kind><<<sections, section_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
