// expect: fail inclusive,exclusive uninitialised.shared | warp 0 scans 32 sums, of which only 4 are ever written
// expect on gpu: pass/fail inclusive,exclusive | shared memory can be read unwritten, and what is wrong with those
// sums reaches no result

#include "scanlab.cuh"

constexpr int warp_size = 32;
constexpr int warps = 4;
constexpr int block_size = warps * warp_size;
constexpr int rows = section_size / block_size;
constexpr unsigned all_lanes = 0xffffffff;

__device__ Element shuffle_up(Element element, int distance) {
  unsigned words[sizeof(Element) / sizeof(unsigned)];
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = __shfl_up_sync(all_lanes, word, distance);
  memcpy(&element, words, sizeof(element));
  return element;
}

__device__ Element of_last_lane(Element element) {
  unsigned words[sizeof(Element) / sizeof(unsigned)];
  memcpy(words, &element, sizeof(element));
  for (unsigned& word : words) word = __shfl_sync(all_lanes, word, warp_size - 1);
  memcpy(&element, words, sizeof(element));
  return element;
}

__device__ Element scan_row(Element element) {
  const int lane = threadIdx.x % warp_size;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const Element earlier = shuffle_up(element, distance);
    if (lane >= distance) element = earlier + element;
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
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  __shared__ int s_section;

  if (t == 0) s_section = atomicAdd(chain.d_taken, 1);
  __syncthreads();
  const int first = s_section * section_size + warp * rows * warp_size + lane;

  Element y[rows];
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    y[row] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }

  __shared__ Element s_before, s_sums[warp_size];

  Element sum = identity();
  for (int row = 0; row < rows; ++row) {
    y[row] = sum + scan_row(y[row]);
    sum = of_last_lane(y[row]);
  }
  if (lane == 0) s_sums[warp] = sum;
  __syncthreads();

  if (warp == 0) {
    const Element total = scan_row(s_sums[lane]);
    if (lane < warps) s_sums[lane] = total;
    if (lane == warp_size - 1) s_before = pass_on(chain, s_section, total);
  }
  __syncthreads();

  Element before = s_before;
  if (warp > 0) before = before + s_sums[warp - 1];
  for (int row = 0; row < rows; ++row) y[row] = before + y[row];

  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    if (i < n) d_y[i] = y[row];
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
