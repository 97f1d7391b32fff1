// expect: fail split bounds.global | a block reads the counts of all blocks behind a barrier that only its own threads
// wait at

#include <cooperative_groups.h>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

namespace {

constexpr int kBlock = 512;

__device__ unsigned lanes_before() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

__device__ int rank_in_block(const cg::thread_block& block, bool flag, int& total) {
  __shared__ int s_counts[kBlock / 32];
  const unsigned votes = __ballot_sync(0xffffffff, flag);
  if (threadIdx.x % 32 == 0) s_counts[threadIdx.x / 32] = __popc(votes);
  block.sync();
  int before = 0;
  total = 0;
  for (int w = 0; w < kBlock / 32; ++w) {
    if (w == threadIdx.x / 32) before = total;
    total += s_counts[w];
  }
  block.sync();
  return before + __popc(votes & lanes_before());
}

__global__ void __launch_bounds__(kBlock)
    split_kernel(const Element* d_x, Element* d_y, int* d_kept, int* d_counts, int n) {
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const int rows = (n + kBlock - 1) / kBlock;
  const int begin = static_cast<int>(static_cast<long long>(rows) * blockIdx.x / gridDim.x);
  const int end = static_cast<int>(static_cast<long long>(rows) * (blockIdx.x + 1) / gridDim.x);

  int own = 0;
  for (int row = begin; row < end; ++row) {
    const int i = row * kBlock + threadIdx.x;
    own += __syncthreads_count(i < n && keep(d_x[i]));
  }
  if (block.thread_rank() == 0) d_counts[blockIdx.x] = own;
  block.sync();

  __shared__ int s_before, s_kept;
  if (threadIdx.x == 0) s_before = s_kept = 0;
  block.sync();
  for (int b = threadIdx.x; b < gridDim.x; b += kBlock) {
    const int count = d_counts[b];
    atomicAdd(&s_kept, count);
    if (b < blockIdx.x) atomicAdd(&s_before, count);
  }
  block.sync();
  const int kept = s_kept;
  int before = s_before;
  if (grid.thread_rank() == 0) *d_kept = kept;
  for (int row = begin; row < end; ++row) {
    const int i = row * kBlock + threadIdx.x;
    const Element x = i < n ? d_x[i] : identity();
    int total;
    const int place = before + rank_in_block(block, keep(x), total);
    if (keep(x)) {
      d_y[place] = x;
    } else if (i < n) {
      d_y[kept + i - place] = x;
    }
    before += total;
  }
}

__global__ void compact_kernel(const Element* d_x, Element* d_y, int* d_kept, unsigned* d_messages, int n) {
  constexpr unsigned known = 1u << 31;
  constexpr int rows = 16;
  const int lane = threadIdx.x;
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned part = warp.shfl(lane == 0 ? atomicAdd(&d_messages[gridDim.x], 1u) : 0u, 0);
  const int first = part * rows * 32 + lane;

  Element x[rows];
  unsigned votes[rows], total = 0;
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * 32;
    x[row] = i < n ? d_x[i] : identity();
    votes[row] = warp.ballot(keep(x[row]));
    total += __popc(votes[row]);
  }
  unsigned before = 0;
  if (part > 0 && lane == 0) {
    const volatile unsigned* const message = &d_messages[part - 1];
    do before = *message;
    while (!(before & known));
  }
  before = warp.shfl(before & ~known, 0);
  if (lane == 0) {
    *const_cast<volatile unsigned*>(&d_messages[part]) = known | (before + total);
    if (part == gridDim.x - 1) *d_kept = before + total;
  }
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    if (votes[row] >> lane & 1) d_y[before + __popc(votes[row] & lanes_before())] = x[row];
    before += __popc(votes[row]);
  }
}

int most_blocks() {
  static const int blocks = [] {
    int device;
    cudaDeviceProp properties;
    SCANLAB_CUDA_CHECK(cudaGetDevice(&device));
    SCANLAB_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    return properties.cooperativeLaunch ? properties.multiProcessorCount : 1;
  }();
  return blocks;
}

}  // namespace

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));
  if (n == 0) return;
  const int parts = (n + 511) / 512;
  unsigned* d_messages;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_messages, (parts + 1) * sizeof(unsigned)));
  SCANLAB_CUDA_CHECK(cudaMemset(d_messages, 0, (parts + 1) * sizeof(unsigned)));
  compact_kernel<<<parts, 32>>>(d_x, d_y, d_kept, d_messages, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_messages));
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  int blocks = most_blocks();
  if (blocks > (n + kBlock - 1) / kBlock) blocks = (n + kBlock - 1) / kBlock;
  if (blocks == 0) blocks = 1;
  int* d_counts;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_counts, blocks * sizeof(int)));
  void* arguments[] = {&d_x, &d_y, &d_kept, &d_counts, &n};
  SCANLAB_CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(split_kernel), dim3(blocks),
                                                 dim3(kBlock), arguments, 0, nullptr));
  SCANLAB_CUDA_CHECK(cudaFree(d_counts));
}
