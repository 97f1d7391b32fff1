// expect: pass 10_compaction | a section's kept elements are packed in shared memory first, then written side by side

#include "scanlab.cuh"

constexpr int threads = 256, per_thread = section_size / threads;

struct Chain {
  int *ticket, *flag, *before;
};

template <bool with_others>
__global__ void pack(const Element* d_x, Element* d_y, int* d_kept, Chain chain, const int* d_total, int n) {
  __shared__ Element s_packed[section_size];
  __shared__ int s_section, s_count[threads], s_before;
  const int t = threadIdx.x;
  if (t == 0) s_section = atomicAdd(chain.ticket, 1);
  __syncthreads();
  const int first = s_section * section_size;
  for (int p = t; p < section_size; p += threads) s_packed[p] = first + p < n ? d_x[first + p] : identity();
  __syncthreads();
  Element mine[per_thread];
  int count = 0;
  for (int k = 0; k < per_thread; ++k) {
    mine[k] = s_packed[t * per_thread + k];
    count += keep(mine[k]);
  }
  int upto = count;
  s_count[t] = upto;
  for (int d = 1; d < threads; d *= 2) {
    __syncthreads();
    if (t >= d) upto += s_count[t - d];
    __syncthreads();
    s_count[t] = upto;
  }
  __syncthreads();
  const int all = s_count[threads - 1];
  int place = upto - count, other = all + t * per_thread - place;
  for (int k = 0; k < per_thread; ++k) s_packed[keep(mine[k]) ? place++ : other++] = mine[k];
  if (t == 0) {
    int before = 0;
    if (s_section > 0) {
      while (atomicAdd(&chain.flag[s_section - 1], 0) == 0) {
      }
      __threadfence();
      before = chain.before[s_section - 1];
    }
    chain.before[s_section] = before + all;
    __threadfence();
    atomicExch(&chain.flag[s_section], 1);
    s_before = before;
    if (!with_others && s_section == int(gridDim.x) - 1) *d_kept = before + all;
  }
  __syncthreads();
  const int end = min(section_size, n - first), behind = with_others ? *d_total + first - s_before - all : 0;
  for (int p = t; p < end; p += threads) {
    if (p < all) {
      d_y[s_before + p] = s_packed[p];
    } else if (with_others) {
      d_y[behind + p] = s_packed[p];
    }
  }
}

__global__ void count_all(const Element* d_x, int* d_kept, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int votes = __syncthreads_count(i < n && keep(d_x[i]));
  if (threadIdx.x == 0) atomicAdd(d_kept, votes);
}

template <bool with_others>
void launch(const Element* d_x, Element* d_y, int* d_kept, int n) {
  SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  Chain chain;
  SCANLAB_CUDA_CHECK(cudaMalloc(&chain.ticket, (2 * sections + 1) * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMemset(chain.ticket, 0, (2 * sections + 1) * sizeof(int)));
  chain.flag = chain.ticket + 1;
  chain.before = chain.flag + sections;
  if (with_others) count_all<<<(n + 255) / 256, 256>>>(d_x, d_kept, n);
  pack<with_others><<<sections, threads>>>(d_x, d_y, d_kept, chain, d_kept, n);
  SCANLAB_CUDA_CHECK(cudaFree(chain.ticket));
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<false>(d_x, d_y, d_kept, n);
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<true>(d_x, d_y, d_kept, n);
}
