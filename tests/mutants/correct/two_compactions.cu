// expect: pass 10_compaction | a split is a compaction of the kept elements, then one of the others; counts by a class

#include "scanlab.cuh"

constexpr int threads = 256;
constexpr int in_a_row = section_size / threads;  // a thread's elements in shared memory, which are neighbours

struct Wanted {
  bool others;  // false: the kept elements; true: those that are not
  int n;
  __device__ bool operator()(Element element, int i) const { return i < n && keep(element) != others; }
};

struct Message {
  int sections_taken;
  int count_before[1];  // of each section but the first, and one more; -1: not known yet
};

template <class Predicate>
__global__ void gather(const Element* d_x, Element* d_y, const int* d_offset, int* d_count, Message* d_message,
                       Predicate wanted, int sections) {
  __shared__ Element s_elements[section_size];
  __shared__ int s_counts[threads], s_section, s_before;
  if (threadIdx.x == 0) s_section = atomicAdd(&d_message->sections_taken, 1);
  __syncthreads();
  const int section = s_section;

  // The flag goes with the element: what is not wanted is left out here, and never looked at again.
  unsigned flags = 0;
  for (int k = 0; k < in_a_row; ++k) {
    const int p = k * threads + threadIdx.x;
    const int i = section * section_size + p;
    if (i < wanted.n) s_elements[p] = d_x[i];
  }
  __syncthreads();
  int own = 0;
  for (int k = 0; k < in_a_row; ++k) {
    const int p = threadIdx.x * in_a_row + k;
    const bool flag = wanted(s_elements[p], section * section_size + p);
    flags |= flag ? 1u << k : 0u;
    own += flag ? 1 : 0;
  }
  s_counts[threadIdx.x] = own;
  for (int stride = 1; stride < threads; stride *= 2) {
    __syncthreads();
    const int earlier = threadIdx.x >= stride ? s_counts[threadIdx.x - stride] : 0;
    __syncthreads();
    s_counts[threadIdx.x] += earlier;
  }
  __syncthreads();

  if (threadIdx.x == threads - 1) {
    // The number is its own flag, so there is no order of two accesses to keep, and no fence.
    int before = 0;
    while (section > 0 && (before = atomicAdd(&d_message->count_before[section - 1], 0)) < 0) {
    }
    const int through = before + s_counts[threads - 1];
    atomicExch(&d_message->count_before[section], through);
    if (section == sections - 1 && d_count != nullptr) *d_count = through;
    s_before = before + (d_offset != nullptr ? *d_offset : 0);
  }
  // Put the wanted ones side by side in shared memory first, then write them side by side.
  Element own_elements[in_a_row];
  for (int k = 0; k < in_a_row; ++k) own_elements[k] = s_elements[threadIdx.x * in_a_row + k];
  __syncthreads();
  int place = s_counts[threadIdx.x] - own;
  for (int k = 0; k < in_a_row; ++k) {
    if (flags >> k & 1u) s_elements[place++] = own_elements[k];
  }
  __syncthreads();
  for (int p = threadIdx.x; p < s_counts[threads - 1]; p += threads) d_y[s_before + p] = s_elements[p];
}

static void gather_all(const Element* d_x, Element* d_y, const int* d_offset, int* d_count, Wanted wanted) {
  const int sections = (wanted.n + section_size - 1) / section_size;
  Message* d_message = nullptr;
  const size_t bytes = (sections + 1) * sizeof(int);
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_message, bytes));
  SCANLAB_CUDA_CHECK(cudaMemset(d_message, 0xff, bytes));
  SCANLAB_CUDA_CHECK(cudaMemset(d_message, 0, sizeof(int)));
  gather<<<sections, threads>>>(d_x, d_y, d_offset, d_count, d_message, wanted, sections);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_message));
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  if (n == 0) {
    SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));
    return;
  }
  gather_all(d_x, d_y, nullptr, d_kept, {false, n});
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  compact(d_x, d_y, d_kept, n);
  if (n > 0) gather_all(d_x, d_y, d_kept, nullptr, {true, n});
}
