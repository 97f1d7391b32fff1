// expect: pass 05_coarsening | a run lives in its thread's registers, and its sum is scanned by shuffles

#include "scanlab.cuh"

constexpr int run_length = 8;
constexpr int block_size = section_size / run_length;
constexpr int warps = block_size / 32;

// The element of the lane `stride` places to the left, word by word, because an Element may have several.
__device__ Element shuffle_up(Element element, int stride) {
  constexpr int words = sizeof(Element) / sizeof(unsigned int);
  unsigned int word[words];
  memcpy(word, &element, sizeof(element));
  for (int w = 0; w < words; ++w) word[w] = __shfl_up_sync(0xffffffffu, word[w], stride);
  memcpy(&element, word, sizeof(element));
  return element;
}

// What all threads of the block before this one have in `sum`, or the identity.
__device__ Element sum_before(Element sum) {
  __shared__ Element s_warp_sums[warps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int stride = 1; stride < 32; stride *= 2) {
    const Element earlier = shuffle_up(sum, stride);
    if (lane >= stride) sum = earlier + sum;
  }
  if (lane == 31) s_warp_sums[warp] = sum;
  __syncthreads();
  Element before = identity();
  for (int w = 0; w < warp; ++w) before = before + s_warp_sums[w];
  const Element earlier = shuffle_up(sum, 1);
  return lane == 0 ? before : before + earlier;
}

template <Kind kind>
__global__ void coarsened_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;
  __shared__ Element s_xy[section_size];
  for (int p = t; p < section_size; p += block_size) {
    s_xy[p] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  __syncthreads();
  Element run[run_length];
  for (int k = 0; k < run_length; ++k) {
    const Element element = s_xy[t * run_length + k];
    run[k] = k == 0 ? element : run[k - 1] + element;
  }
  const Element before = sum_before(run[run_length - 1]);
  for (int k = 0; k < run_length; ++k) s_xy[t * run_length + k] = before + run[k];
  __syncthreads();
  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  coarsened_kernel<kind><<<sections, block_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
