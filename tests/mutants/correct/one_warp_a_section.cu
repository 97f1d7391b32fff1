// expect: pass 08_warp_shuffle | a block is one warp, a cooperative group: no barriers, and no shared memory at all

#include <cooperative_groups.h>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

using Warp = cg::thread_block_tile<32>;

constexpr int warp_size = 32;
constexpr int rows = section_size / warp_size;

__device__ Element scan_row(const Warp& warp, Element element) {
#pragma unroll
  for (unsigned distance = 1; distance < warp.size(); distance *= 2) {
    const Element earlier = warp.shfl_up(element, distance);
    if (warp.thread_rank() >= distance) element = earlier + element;
  }
  return element;
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
  const Warp warp = cg::tiled_partition<warp_size>(cg::this_thread_block());
  const int lane = warp.thread_rank();

  int section = 0;
  if (lane == 0) section = atomicAdd(chain.d_taken, 1);
  section = warp.shfl(section, 0);
  const int first = section * section_size + lane;

  Element y[rows];
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    y[row] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }

  Element sum = identity();
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    y[row] = sum + scan_row(warp, y[row]);
    sum = warp.shfl(y[row], warp_size - 1);
  }

  Element before = identity();
  if (lane == 0) before = pass_on(chain, section, sum);
  before = warp.shfl(before, 0);

#pragma unroll
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    if (i < n) d_y[i] = before + y[row];
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
  section_kernel<kind><<<sections, warp_size>>>(d_x, d_y, chain, n);
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
