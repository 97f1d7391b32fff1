// expect: fail exclusive,exclusive_affine misaligned | one load of two elements, from a place that is no multiple of
// two

#include "scanlab.cuh"

struct alignas(2 * sizeof(Element)) Pair {
  Element first, second;
};

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_xy[section_size];
  const int begin = blockIdx.x * section_size;
  const int s = 2 * t;  // the first half of the threads loads two elements each
  if (s >= shift<kind> && s < section_size && begin + s + 1 < n) {
    const Pair pair = *reinterpret_cast<const Pair*>(d_x + begin + s - shift<kind>);
    s_xy[s] = pair.first;
    s_xy[s + 1] = pair.second;
  } else if (s < section_size) {
    for (int k = s; k < s + 2; ++k) {
      s_xy[k] = k >= shift<kind> && begin + k < n ? d_x[begin + k - shift<kind>] : identity();
    }
  }
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    Element sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;
    __syncthreads();
    s_xy[t] = sum;
  }
  if (i < n) d_y[i] = s_xy[t];
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
