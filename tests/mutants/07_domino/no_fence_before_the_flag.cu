// expect: fail inclusive fence.missing | the flag may be seen before the prefix
// expect on gpu: pass/fail inclusive | the GPU happens to make the prefix visible in time

#include "scanlab.cuh"

constexpr int run_length = 8;
constexpr int block_size = section_size / run_length;

__device__ void scan_sums(Element* s_sums) {
  const int t = threadIdx.x;
  for (int stride = 1; stride < block_size; stride *= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * stride - 1;
    if (p < block_size) s_sums[p] = s_sums[p - stride] + s_sums[p];
  }
  for (int stride = block_size / 4; stride > 0; stride /= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * stride - 1;
    if (p + stride < block_size) s_sums[p + stride] = s_sums[p] + s_sums[p + stride];
  }
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
