// expect: fail shared_stores cost.shared_stores | right, but as in lab 07 the elements wait in shared memory; only
// their runs' sums are scanned by shuffles

#include "scanlab.cuh"

constexpr int run_length = 8;
constexpr int block_size = section_size / run_length;

constexpr int warp_size = 32;
constexpr unsigned all_lanes = 0xffffffff;

__device__ Element shuffle_up(Element element, int distance) {
  unsigned words[sizeof(Element) / sizeof(unsigned)];
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = __shfl_up_sync(all_lanes, word, distance);
  memcpy(&element, words, sizeof(element));
  return element;
}

__device__ Element scan_row(Element element) {
  const int lane = threadIdx.x % warp_size;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const Element earlier = shuffle_up(element, distance);
    if (lane >= distance) element = earlier + element;
  }
  return element;
}

__device__ void scan_sums(Element* s_sums) {
  __shared__ Element s_warps[block_size / warp_size];
  const int t = threadIdx.x;
  Element sum = scan_row(s_sums[t]);
  if (t % warp_size == warp_size - 1) s_warps[t / warp_size] = sum;
  __syncthreads();
  for (int warp = t / warp_size; warp > 0; --warp) sum = s_warps[warp - 1] + sum;
  s_sums[t] = sum;
  __syncthreads();
}

struct Chain {
  int* d_taken;
  int* d_flags;
  Element* d_prefixes;
};

__device__ Element pass_on(Chain chain, int section, Element total) {
  Element before = identity();
  if (section > 0) {
    while (atomicAdd(&chain.d_flags[section - 1], 0) == 0) {
    }
    __threadfence();
    before = chain.d_prefixes[section - 1];
  }
  chain.d_prefixes[section] = before + total;
  __threadfence();
  atomicExch(&chain.d_flags[section], 1);
  return before;
}

template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Chain chain, int n) {
  const int t = threadIdx.x;
  __shared__ int s_section;
  __shared__ Element s_before, s_xy[section_size], s_sums[block_size];

  if (t == 0) s_section = atomicAdd(chain.d_taken, 1);
  __syncthreads();
  const int first = s_section * section_size;

  for (int p = t; p < section_size; p += block_size) {
    const int i = first + p;
    s_xy[p] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }
  __syncthreads();

  Element* const s_run = s_xy + t * run_length;
  for (int k = 1; k < run_length; ++k) s_run[k] = s_run[k - 1] + s_run[k];

  s_sums[t] = s_run[run_length - 1];
  scan_sums(s_sums);

  if (t == 0) s_before = pass_on(chain, s_section, s_sums[block_size - 1]);
  __syncthreads();

  Element before = s_before;
  if (t > 0) before = before + s_sums[t - 1];
  for (int k = 0; k < run_length; ++k) s_run[k] = before + s_run[k];
  __syncthreads();

  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  Chain chain;
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_prefixes, sections * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_flags, (sections + 1) * sizeof(int)));
  chain.d_taken = chain.d_flags + sections;
  SCANLAB_CUDA_CHECK(cudaMemset(chain.d_flags, 0, (sections + 1) * sizeof(int)));
  section_kernel<kind><<<sections, block_size>>>(d_x, d_y, chain, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_flags));
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_prefixes));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
