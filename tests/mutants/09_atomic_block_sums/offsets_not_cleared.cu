// expect: fail inclusive,exclusive uninitialised.global | memory from cudaMalloc holds no zeros
// expect on gpu: pass/fail inclusive,exclusive | fresh memory of a process happens to hold zeros

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

template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Element* d_offsets, int n) {
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  const int first = blockIdx.x * section_size + warp * rows * warp_size + lane;
  __shared__ Element s_sums[warps];

  Element y[rows];
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    y[row] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }

  Element sum = identity();
  for (int row = 0; row < rows; ++row) {
    y[row] = sum + scan_row(y[row]);
    sum = of_last_lane(y[row]);
  }
  if (lane == 0) s_sums[warp] = sum;
  __syncthreads();

  if (warp == 0) {
    const Element total = scan_row(lane < warps ? s_sums[lane] : identity());
    if (lane < warps) s_sums[lane] = total;
  }
  __syncthreads();

  const Element total = s_sums[warps - 1];
  for (unsigned later = blockIdx.x + 1 + t; later < gridDim.x; later += block_size) atomicAdd(&d_offsets[later], total);

  const Element before = warp > 0 ? s_sums[warp - 1] : identity();
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    if (i < n) d_y[i] = before + y[row];
  }
}

__global__ void add_kernel(Element* d_y, const Element* d_offsets, int n) {
  const int section = blockIdx.x + 1;
  const int i = section * section_size + threadIdx.x;
  if (i < n) d_y[i] = d_offsets[section] + d_y[i];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  Element* d_offsets = nullptr;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_offsets, sections * sizeof(Element)));
  section_kernel<kind><<<sections, block_size>>>(d_x, d_y, d_offsets, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  if (sections > 1) {
    add_kernel<<<sections - 1, section_size>>>(d_y, d_offsets, n);
    SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  }
  SCANLAB_CUDA_CHECK(cudaFree(d_offsets));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
