// expect: pass 08_warp_shuffle | the scans of the warps are cooperative_groups::inclusive_scan, with a functor as
// operator

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

constexpr int tile_threads = 256;
constexpr int rows = section_size / tile_threads;

// Within a warp, the library hands the operator its own lane's value first, and then the earlier lane's.
struct Plus {
  __device__ Element operator()(const Element& later, const Element& earlier) const { return earlier + later; }
};

struct Links {
  unsigned taken;
  unsigned pad;
  struct Link {
    Element prefix;
    int is_set;
  } link[1];  // as many as there are sections
};

template <Kind kind>
__global__ void scan_kernel(const Element* d_x, Element* d_y, Links* links, int n) {
  __shared__ Element warp_sums[tile_threads / 32];
  __shared__ Element before_section;
  __shared__ unsigned section;
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);

  if (block.thread_rank() == 0) section = atomicAdd(&links->taken, 1u);
  cg::sync(block);

  const int first = section * section_size + warp.meta_group_rank() * rows * warp.size() + warp.thread_rank();
  Element y[rows];
  Element carried = identity();
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * 32;
    const Element x = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
    y[row] = carried + cg::inclusive_scan(warp, x, Plus());
    carried = warp.shfl(y[row], 31);
  }
  if (warp.thread_rank() == 31) warp_sums[warp.meta_group_rank()] = carried;
  block.sync();

  if (warp.meta_group_rank() == 0) {
    const Element own = warp.thread_rank() < warp.meta_group_size() ? warp_sums[warp.thread_rank()] : identity();
    const Element sum = cg::inclusive_scan(warp, own, Plus());
    if (warp.thread_rank() < warp.meta_group_size()) warp_sums[warp.thread_rank()] = sum;
    if (warp.thread_rank() == 31) {
      Element before = identity();
      if (section > 0) {
        Links::Link& earlier = links->link[section - 1];
        while (atomicCAS(&earlier.is_set, 1, 1) != 1) {
        }
        __threadfence();
        before = earlier.prefix;
      }
      links->link[section].prefix = before + sum;
      __threadfence();
      atomicCAS(&links->link[section].is_set, 0, 1);
      before_section = before;
    }
  }
  block.sync();

  Element before = before_section;
  if (warp.meta_group_rank() > 0) before = before + warp_sums[warp.meta_group_rank() - 1];
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * 32;
    if (i < n) d_y[i] = before + y[row];
  }
}

template <Kind kind>
void scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  const size_t bytes = offsetof(Links, link) + sections * sizeof(Links::Link);
  void* links;
  SCANLAB_CUDA_CHECK(cudaMalloc(&links, bytes));
  SCANLAB_CUDA_CHECK(cudaMemset(links, 0, bytes));
  scan_kernel<kind><<<sections, tile_threads>>>(d_x, d_y, static_cast<Links*>(links), n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(links));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<Kind::exclusive>(d_x, d_y, n);
}
