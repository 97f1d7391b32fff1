// expect: pass 08_warp_shuffle | an element is shuffled as one word of 32 or 64 bits, whichever it has; no loops at all

#include "scanlab.cuh"

template <std::size_t bytes>
struct Word;
template <>
struct Word<4> {
  using Type = int;
};
template <>
struct Word<8> {
  using Type = long long;
};

template <class T>
__device__ T lane_below(T value, unsigned distance) {
  using Bits = typename Word<sizeof(T)>::Type;
  union {
    T value;
    Bits bits;
  } in{value}, out;
  out.bits = __shfl_up_sync(~0u, in.bits, distance);
  return out.value;
}

template <unsigned distance>
__device__ void join(Element& element, unsigned lane) {
  const Element left = lane_below(element, distance);
  if (lane >= distance) element = left + element;
}

__device__ void scan_warp(Element& element, unsigned lane) {
  join<1>(element, lane);
  join<2>(element, lane);
  join<4>(element, lane);
  join<8>(element, lane);
  join<16>(element, lane);
}

struct Board {
  int *ticket, *state;
  Element* sum;
};

template <Kind kind>
__global__ void __launch_bounds__(1024) whole(const Element* d_x, Element* d_y, Board board, int n) {
  __shared__ int s_section;
  __shared__ Element s_warp[32], s_before;
  const unsigned t = threadIdx.x, lane = t & 31u, warp = t >> 5u;
  if (t == 0) s_section = atomicAdd(board.ticket, 1);
  __syncthreads();
  const int i = s_section * section_size + int(t);
  Element element = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  scan_warp(element, lane);
  if (lane == 31) s_warp[warp] = element;
  __syncthreads();
  if (warp == 0) {
    Element sum = s_warp[lane];
    scan_warp(sum, lane);
    s_warp[lane] = sum;
    if (lane == 31) {
      Element before = identity();
      if (s_section > 0) {
        while (atomicAdd(board.state + s_section - 1, 0) == 0) continue;
        __threadfence();
        before = board.sum[s_section - 1];
      }
      board.sum[s_section] = before + sum;
      __threadfence();
      atomicExch(board.state + s_section, 1);
      s_before = before;
    }
  }
  __syncthreads();
  if (warp > 0) element = s_warp[warp - 1] + element;
  if (i < n) d_y[i] = s_before + element;
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  Board board;
  SCANLAB_CUDA_CHECK(cudaMalloc(&board.ticket, (sections + 1) * sizeof(int)));
  board.state = board.ticket + 1;
  SCANLAB_CUDA_CHECK(cudaMalloc(&board.sum, sections * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMemset(board.ticket, 0, (sections + 1) * sizeof(int)));
  whole<kind><<<sections, section_size>>>(d_x, d_y, board, n);
  SCANLAB_CUDA_CHECK(cudaFree(board.ticket));
  SCANLAB_CUDA_CHECK(cudaFree(board.sum));
}
