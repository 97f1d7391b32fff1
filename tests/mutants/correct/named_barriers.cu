// expect: pass 02_kogge_stone | barriers by number and count in inline PTX, one for each purpose; the step is a functor

#include "scanlab.cuh"

/// A barrier of the block with a number of its own.
template <int number>
struct NamedBarrier {
  static_assert(number > 0 && number < 16, "number 0 is __syncthreads()");
  unsigned threads;
  __device__ void operator()() const { asm volatile("bar.sync %0, %1;" ::"n"(number), "r"(threads) : "memory"); }
};

struct Step {
  Element* __restrict__ const s_data;
  const size_t place;
  const NamedBarrier<1> written;
  const NamedBarrier<2> read;

  __device__ void operator()(size_t stride) const {
    written();
    const bool has_neighbour = place >= stride;
    Element neighbour;
    if (has_neighbour) neighbour = s_data[place - stride];
    read();
    if (has_neighbour) s_data[place] = neighbour + s_data[place];
  }
};

__global__ void scan_section(const Element* __restrict__ d_x, Element* __restrict__ d_y, size_t n, size_t shift) {
  __shared__ Element s_data[section_size];
  const size_t place = threadIdx.x, i = size_t{blockIdx.x} * blockDim.x + place;
  s_data[place] = place >= shift && i < n ? d_x[i - shift] : identity();
  const Step step{s_data, place, {blockDim.x}, {blockDim.x}};
#pragma unroll 1
  for (size_t stride = 1; stride < section_size; stride <<= 1) step(stride);
  if (i >= n) return;
  d_y[i] = s_data[place];
}

static void scan(const Element* d_x, Element* d_y, size_t n, size_t shift) {
  const unsigned blocks = (n + section_size - 1) / section_size;
  if (blocks > 0) scan_section<<<blocks, section_size>>>(d_x, d_y, n, shift);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 1);
}
