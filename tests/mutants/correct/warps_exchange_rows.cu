// expect: pass 05_coarsening | each warp turns its own part of shared memory from rows to runs and back, with
// __syncwarp only

#include "scanlab.cuh"

namespace {

constexpr int kWarp = 32;
constexpr int kItems = 8;
constexpr int kThreads = section_size / kItems;
constexpr int kWarps = kThreads / kWarp;

/// Moves a warp's kItems rows of 32 elements into runs of kItems elements a lane, and the other way round.
struct WarpExchange {
  Element cells[kItems * (kWarp + 1)];

  static __device__ int cell(int item) { return item + item / kWarp; }

  __device__ void rows_to_runs(Element (&items)[kItems], int lane) {
    for (int k = 0; k < kItems; ++k) cells[cell(k * kWarp + lane)] = items[k];
    __syncwarp();
    for (int k = 0; k < kItems; ++k) items[k] = cells[cell(lane * kItems + k)];
    __syncwarp();  // all lanes have read: the cells may be written again
  }

  __device__ void runs_to_rows(Element (&items)[kItems], int lane) {
    for (int k = 0; k < kItems; ++k) cells[cell(lane * kItems + k)] = items[k];
    __syncwarp();
    for (int k = 0; k < kItems; ++k) items[k] = cells[cell(k * kWarp + lane)];
  }
};

__global__ void coarse_scan(const Element* d_x, Element* d_y, unsigned n, unsigned shift) {
  __shared__ union {
    WarpExchange exchange[kWarps];
    Element sums[kThreads];
  } s;
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const unsigned first = blockIdx.x * section_size + warp * kItems * kWarp + lane;
  const unsigned section_begin = blockIdx.x * section_size;

  Element items[kItems];
  for (unsigned k = 0; k < kItems; ++k) {
    const unsigned i = first + k * kWarp;
    items[k] = i >= section_begin + shift && i < n ? d_x[i - shift] : identity();
  }
  s.exchange[warp].rows_to_runs(items, lane);
  for (int k = 1; k < kItems; ++k) items[k] = items[k - 1] + items[k];

  __syncthreads();  // the cells become sums: no warp may still be exchanging
  s.sums[threadIdx.x] = items[kItems - 1];
  __syncthreads();
  if (warp == 0) {  // rakes: 4 sums a lane
    Element own[kWarps], sum = identity();
    for (int k = 0; k < kWarps; ++k) {
      own[k] = sum;
      sum = sum + s.sums[lane * kWarps + k];
    }
    Element scanned = sum;
    for (int d = 1; d < kWarp; d *= 2) {
      Element earlier;
      unsigned words[sizeof(Element) / 4];
      memcpy(words, &scanned, sizeof(scanned));
      for (unsigned& word : words) word = __shfl_up_sync(~0u, word, d);
      memcpy(&earlier, words, sizeof(earlier));
      if (lane >= d) scanned = earlier + scanned;
    }
    s.sums[lane * kWarps] = scanned;  // for the lane to the right: its own sums have been read
    __syncwarp();
    const Element before = lane > 0 ? s.sums[(lane - 1) * kWarps] : identity();
    __syncwarp();
    for (int k = 0; k < kWarps; ++k) s.sums[lane * kWarps + k] = before + own[k];
  }
  __syncthreads();
  const Element before = s.sums[threadIdx.x];
  __syncthreads();  // the sums become cells again
  for (Element& item : items) item = before + item;
  s.exchange[warp].runs_to_rows(items, lane);
  for (unsigned k = 0; k < kItems; ++k) {
    if (first + k * kWarp < n) d_y[first + k * kWarp] = items[k];
  }
}

void scan(const Element* d_x, Element* d_y, int n, unsigned shift) {
  const dim3 blocks((n + section_size - 1) / section_size), threads(kThreads);
  if (n != 0) coarse_scan<<<blocks, threads>>>(d_x, d_y, n, shift);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

}  // namespace

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 1);
}
