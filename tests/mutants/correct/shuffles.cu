// expect: pass 03_double_buffer | neighbours in the same warp are asked by a shuffle, others through memory

#include "scanlab.cuh"

// The element of the lane `stride` places to the left, word by word, because an Element may have several.
__device__ Element shuffle_up(Element element, int stride) {
  constexpr int words = sizeof(Element) / sizeof(unsigned int);
  unsigned int word[words];
  memcpy(word, &element, sizeof(element));
  for (int w = 0; w < words; ++w) word[w] = __shfl_up_sync(0xffffffffu, word[w], stride);
  memcpy(&element, word, sizeof(element));
  return element;
}

template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int i = blockIdx.x * section_size + t;
  __shared__ Element s_a[section_size], s_b[section_size];
  Element* s_from = s_a;
  Element* s_to = s_b;
  Element sum = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  s_from[t] = sum;
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    Element earlier = shuffle_up(sum, stride % 32);
    if (t % 32 < stride && t >= stride) earlier = s_from[t - stride];
    if (t >= stride) sum = earlier + sum;
    s_to[t] = sum;
    Element* const s_free = s_from;
    s_from = s_to;
    s_to = s_free;
  }
  if (i < n) d_y[i] = sum;
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
