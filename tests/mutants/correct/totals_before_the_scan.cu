// expect: pass 09_atomic_block_sums | one warp adds the total to the offsets while the others scan; cg::reduce, memory
// from a pool, and a grid of two dimensions

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

enum { warp_count = 8, per_lane = section_size / (warp_count * 32) };

struct Offsets {
  float* data;
  int count;

  explicit Offsets(int sections) : data(nullptr), count(sections) {
    SCANLAB_CUDA_CHECK(cudaMallocAsync((void**)&data, bytes(), 0));
    SCANLAB_CUDA_CHECK(cudaMemsetAsync(data, 0, bytes(), 0));
  }
  ~Offsets() { SCANLAB_CUDA_CHECK(cudaFreeAsync(data, 0)); }
  size_t bytes() const { return count * sizeof(float); }
};

template <bool exclusive>
__global__ void first_kernel(const float* x, float* y, float* offsets, int sections, int n) {
  __shared__ float s_warp_totals[warp_count];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int lane = warp.thread_rank(), w = warp.meta_group_rank();
  const int first = block.group_index().x * section_size + w * per_lane * 32 + lane;

  float in[per_lane], own = 0;
  for (int k = 0; k < per_lane; ++k) {
    const int i = first + 32 * k - (exclusive ? 1 : 0);
    in[k] = i >= 0 && first + 32 * k < n ? x[i] : 0.0f;
    own += in[k];
  }
  const float warp_total = cg::reduce(warp, own, cg::plus<float>());
  if (lane == 0) s_warp_totals[w] = warp_total;
  block.sync();

  // A lane for each warp total; all lanes of all warps learn the section's total and what is before their warp.
  const float one = lane < warp_count ? s_warp_totals[lane] : 0.0f;
  const float before = cg::reduce(warp, lane < w ? one : 0.0f, cg::plus<float>());
  if (w == 0) {
    const float total = cg::reduce(warp, one, cg::plus<float>());
    for (int s = block.group_index().x + 1 + lane; s < sections; s += 32) atomicAdd(&offsets[s], total);
  }
  float carry = before;
  for (int k = 0; k < per_lane; ++k) {
    float sum = in[k];
    for (int d = 1; d < 32; d *= 2) {
      const float left = warp.shfl_up(sum, d);
      sum = lane < d ? sum : left + sum;
    }
    sum += carry;
    carry = warp.shfl(sum, 31);
    if (first + 32 * k < n) y[first + 32 * k] = sum;
  }
}

__global__ void second_kernel(float* y, const float* offsets, int n) {
  const float offset = offsets[blockIdx.x];
  const int i = (blockIdx.x * gridDim.y + blockIdx.y) * blockDim.x + threadIdx.x;
  if (i < n) y[i] += offset;
}

template <bool exclusive>
void scan(const float* x, float* y, int n) {
  if (n == 0) return;
  const Offsets offsets((n - 1) / section_size + 1);
  first_kernel<exclusive><<<offsets.count, warp_count * 32>>>(x, y, offsets.data, offsets.count, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  second_kernel<<<dim3(offsets.count, section_size / 256), 256>>>(y, offsets.data, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<false>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<true>(d_x, d_y, n);
}
