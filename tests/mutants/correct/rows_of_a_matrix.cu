// expect: pass 08_warp_shuffle | a warp scans a tile of 32 x 32 by itself, a register a row; only the last lane meets
// others

#include "scanlab.cuh"

constexpr int rows = 8, warps = section_size / (32 * rows);

struct Link {
  unsigned flag;
  Element sum;
};

__device__ __forceinline__ Element up(Element element, int distance) {
  auto* const words = reinterpret_cast<unsigned*>(&element);
  for (unsigned k = 0; k < sizeof element / 4; ++k) words[k] = __shfl_up_sync(0xffffffff, words[k], distance);
  return element;
}

__device__ __forceinline__ Element last(Element element) {
  auto* const words = reinterpret_cast<unsigned*>(&element);
  for (unsigned k = 0; k < sizeof element / 4; ++k) words[k] = __shfl_sync(0xffffffff, words[k], 31);
  return element;
}

template <Kind kind>
__global__ void tiles(const Element* x, Element* y, Link* links, unsigned* ticket, int n) {
  __shared__ unsigned s_tile;
  __shared__ Element s_upto[warps], s_before;
  const unsigned lane = threadIdx.x, warp = threadIdx.y;
  if (lane + warp == 0) s_tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const unsigned tile = s_tile;
  const int first = (tile * warps + warp) * 32 * rows + lane;
  Element r[rows];
#pragma unroll
  for (int k = 0; k < rows; ++k) {
    const int i = first + 32 * k;
    r[k] = i >= shift<kind> && i < n ? x[i - shift<kind>] : identity();
  }
#pragma unroll
  for (int k = 0; k < rows; ++k) {
    for (int d = 1; d < 32; d *= 2) {
      const Element left = up(r[k], d);
      if (lane >= unsigned(d)) r[k] = left + r[k];
    }
    if (k > 0) r[k] = last(r[k - 1]) + r[k];
  }
  if (lane == 31) s_upto[warp] = r[rows - 1];
  __syncthreads();
  if (lane == 0 && warp == 0) {
    Element all = s_upto[0];
    for (int w = 1; w < warps; ++w) s_upto[w] = all = all + s_upto[w];
    Element before = identity();
    if (tile > 0) {
      const volatile unsigned* const flag = &links[tile - 1].flag;
      while (*flag == 0) {
      }
      __threadfence();
      before = links[tile - 1].sum;
    }
    links[tile].sum = before + all;
    __threadfence();
    *const_cast<volatile unsigned*>(&links[tile].flag) = 1;
    s_before = before;
  }
  __syncthreads();
  const Element before = warp > 0 ? s_before + s_upto[warp - 1] : s_before;
#pragma unroll
  for (int k = 0; k < rows; ++k) {
    const int i = first + 32 * k;
    if (i < n) y[i] = before + r[k];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int count = (n + section_size - 1) / section_size;
  Link* links;
  SCANLAB_CUDA_CHECK(cudaMalloc(&links, (count + 1) * sizeof(Link)));
  SCANLAB_CUDA_CHECK(cudaMemset(links, 0, (count + 1) * sizeof(Link)));
  tiles<kind><<<count, dim3(32, warps)>>>(d_x, d_y, links, &links[count].flag, n);
  SCANLAB_CUDA_CHECK(cudaFree(links));
}
