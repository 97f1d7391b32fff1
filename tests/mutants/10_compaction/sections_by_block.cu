// expect: fail compact,split deadlock.blocks | sections by blockIdx.x: later blocks fill the GPU and wait for one that
// never starts
// expect on gpu: pass/fail compact,split | the hardware happens to start blocks in the order of their index

#include "scanlab.cuh"

constexpr int warp_size = 32;
constexpr int warps = 4;
constexpr int block_size = warps * warp_size;
constexpr int rows = section_size / block_size;
constexpr unsigned all_lanes = 0xffffffff;

__device__ int scan_row(int count) {
  const int lane = threadIdx.x % warp_size;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const int earlier = __shfl_up_sync(all_lanes, count, distance);
    if (lane >= distance) count = earlier + count;
  }
  return count;
}

struct Chain {
  int* d_taken;
  int* d_flags;
  int* d_prefixes;
};

__device__ int pass_on(Chain chain, int section, int total) {
  int before = 0;
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

enum class Task { compact, split };

__global__ void count_kernel(const Element* d_x, int* d_kept, int n) {
  int count = 0;
  for (int p = threadIdx.x; p < section_size; p += block_size) {
    const int i = blockIdx.x * section_size + p;
    if (i < n && keep(d_x[i])) ++count;
  }
  count = scan_row(count);
  if (threadIdx.x % warp_size == warp_size - 1) atomicAdd(d_kept, count);
}

template <Task task>
__global__ void section_kernel(const Element* d_x, Element* d_y, int* d_kept, Chain chain, int n) {
  const int t = threadIdx.x, lane = t % warp_size, warp = t / warp_size;
  __shared__ int s_section;

  if (t == 0) s_section = blockIdx.x;
  __syncthreads();
  const int first = s_section * section_size + warp * rows * warp_size + lane;

  Element x[rows];
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    x[row] = i < n ? d_x[i] : identity();
  }

  __shared__ int s_before, s_sums[warps];

  int counts[rows], sum = 0;
  for (int row = 0; row < rows; ++row) {
    counts[row] = sum + scan_row(keep(x[row]) ? 1 : 0);
    sum = __shfl_sync(all_lanes, counts[row], warp_size - 1);
  }
  if (lane == 0) s_sums[warp] = sum;
  __syncthreads();

  if (warp == 0) {
    const int total = scan_row(lane < warps ? s_sums[lane] : 0);
    if (lane < warps) s_sums[lane] = total;
    if (lane == warp_size - 1) s_before = pass_on(chain, s_section, total);
    if (task == Task::compact && lane == warp_size - 1 && s_section == gridDim.x - 1) *d_kept = s_before + total;
  }
  __syncthreads();

  int before = s_before;
  if (warp > 0) before = before + s_sums[warp - 1];
  const int all_kept = task == Task::split ? *d_kept : 0;
  for (int row = 0; row < rows; ++row) {
    const int i = first + row * warp_size;
    if (keep(x[row])) {
      d_y[before + counts[row] - 1] = x[row];
    } else if (task == Task::split && i < n) {
      d_y[all_kept + i - (before + counts[row])] = x[row];
    }
  }
}

template <Task task>
void launch(const Element* d_x, Element* d_y, int* d_kept, int n) {
  SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  if (task == Task::split) {
    count_kernel<<<sections, block_size>>>(d_x, d_kept, n);
    SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  }
  Chain chain;
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_prefixes, sections * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.d_flags, (sections + 1) * sizeof(int)));
  chain.d_taken = chain.d_flags + sections;
  SCANLAB_CUDA_CHECK(cudaMemset(chain.d_flags, 0, (sections + 1) * sizeof(int)));
  section_kernel<task><<<sections, block_size>>>(d_x, d_y, d_kept, chain, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_flags));
  SCANLAB_CUDA_CHECK(cudaFree(chain.d_prefixes));
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<Task::compact>(d_x, d_y, d_kept, n);
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<Task::split>(d_x, d_y, d_kept, n);
}
