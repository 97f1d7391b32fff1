// expect: pass 10_compaction | a split is two packings with opposite predicates of one kernel template; a warp's lanes
// vote

#include "scanlab.cuh"

struct Kept {
  __device__ bool operator()(const Element& element) const { return keep(element); }
};
struct Dropped {
  __device__ bool operator()(const Element& element) const { return !keep(element); }
};

constexpr int warps = 8, threads = 32 * warps;

// Behind *d_first (or from the beginning, where there is none), and leaves the end in *d_last.
template <class Wanted>
__global__ void pack(const Element* d_x, Element* d_y, const int* d_first, int* d_last, int* board, int n) {
  __shared__ int s_section, s_warp[warps], s_base;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x == 0) s_section = atomicAdd(&board[0], 1);
  __syncthreads();
  int* const published = board + 1;  // of each section: the number up to its end, plus one
  const int section = s_section, first = section * section_size + warp * 128;
  const Wanted wanted{};
  Element element[4];
  unsigned vote[4];
  int inside = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int i = first + 32 * k + lane;
    if (i < n) element[k] = d_x[i];
    vote[k] = __ballot_sync(0xffffffffu, i < n && wanted(element[k]));
    inside += __popc(vote[k]);
  }
  if (lane == 0) s_warp[warp] = inside;
  __syncthreads();
  if (threadIdx.x == 0) {
    int all = 0;
    for (int w = 0; w < warps; ++w) {
      const int count = s_warp[w];
      s_warp[w] = all;
      all += count;
    }
    int before = d_first == nullptr ? 0 : *d_first;
    if (section > 0) {
      int found;
      while ((found = atomicAdd(&published[section - 1], 0)) == 0) __nanosleep(20);
      before = found - 1;
    }
    atomicExch(&published[section], before + all + 1);
    if (section + 1 == int(gridDim.x) && d_last != nullptr) *d_last = before + all;
    s_base = before;
  }
  __syncthreads();
  int place = s_base + s_warp[warp];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int to = place + __popc(vote[k] & ((1u << lane) - 1));
    if (vote[k] >> lane & 1) d_y[to] = element[k];
    place += __popc(vote[k]);
  }
}

static void pack_all(const Element* d_x, Element* d_y, int* d_kept, int n, bool with_others) {
  if (n == 0) {
    SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof *d_kept));
    return;
  }
  const int sections = (n - 1) / section_size + 1;
  const std::size_t bytes = (sections + 1) * sizeof(int);
  int* boards;
  SCANLAB_CUDA_CHECK(cudaMalloc(&boards, 2 * bytes));
  SCANLAB_CUDA_CHECK(cudaMemset(boards, 0, 2 * bytes));
  pack<Kept><<<sections, threads>>>(d_x, d_y, nullptr, d_kept, boards, n);
  if (with_others) pack<Dropped><<<sections, threads>>>(d_x, d_y, d_kept, nullptr, boards + sections + 1, n);
  SCANLAB_CUDA_CHECK(cudaFree(boards));
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  pack_all(d_x, d_y, d_kept, n, false);
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  pack_all(d_x, d_y, d_kept, n, true);
}
