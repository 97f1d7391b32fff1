// expect: pass 03_double_buffer | 512 threads, each with two elements half a section apart

#include "scanlab.cuh"

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  constexpr int half = section_size / 2;
  const int begin = blockIdx.x * section_size;
  __shared__ Element s_a[section_size], s_b[section_size];
  Element* s_from = s_a;
  Element* s_to = s_b;
  for (int s = t; s < section_size; s += half) {
    s_from[s] = s >= shift<kind> && begin + s < n ? d_x[begin + s - shift<kind>] : identity();
  }
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    for (int s = t; s < section_size; s += half) {
      s_to[s] = s >= stride ? s_from[s - stride] + s_from[s] : s_from[s];
    }
    Element* const s_free = s_from;
    s_from = s_to;
    s_to = s_free;
  }
  for (int s = t; s < section_size; s += half) {
    if (begin + s < n) d_y[begin + s] = s_from[s];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  kogge_stone_kernel<kind><<<sections, section_size / 2>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
