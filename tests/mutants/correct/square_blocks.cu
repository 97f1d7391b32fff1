// expect: pass 02_kogge_stone | blocks of 32 x 32 threads in a grid of two dimensions, a kernel in a namespace

#include "scanlab.cuh"

namespace course::section {

__device__ unsigned rank() {
  return threadIdx.y * blockDim.x + threadIdx.x;
}

template <unsigned offset>
__global__ void scan(const Element* const in, Element* const out, const unsigned count, const unsigned sections) {
  const unsigned section = blockIdx.y * gridDim.x + blockIdx.x, t = rank(), i = section * (32u << 5u) + t;
  if (section >= sections) return;  // all of the block
  __shared__ Element s[32][32];
  Element* const flat = &s[0][0];
  flat[t] = (t < offset || i >= count) ? identity() : in[i - offset];
  for (unsigned level = 0; level < 10; ++level) {
    const unsigned left = 1u << level;
    __syncthreads();
    Element mine = flat[t];
    if (!(t < left)) mine = flat[t - left] + mine;
    __syncthreads();
    flat[t] = mine;
  }
  if (i < count) out[i] = s[threadIdx.y][threadIdx.x];
}

}  // namespace course::section

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (!n) return;
  const unsigned sections = (n + 1023u) / 1024u, wide = sections < 3 ? sections : 3;
  const dim3 grid(wide, (sections + wide - 1) / wide), block(32, 32);
  course::section::scan<kind == Kind::exclusive><<<grid, block>>>(d_x, d_y, n, sections);
  SCANLAB_CUDA_CHECK(cudaGetLastError());
}
