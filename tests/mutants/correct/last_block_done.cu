// expect: pass 10_compaction | for a split, the block that is done last (a fence and a counter) scans the counts of all
// blocks; a compaction's chain has words that are their own flags

#include "scanlab.cuh"

constexpr int THREADS = 256;
constexpr int ITEMS = section_size / THREADS;

__device__ unsigned int blocks_done = 0;  // the last block sets it to 0 again

struct Counts {
  int* d_before;  // of each section: how many elements are kept before it
  int sections;
};

// The sum of `value` over the block, and what is before this thread in `before`.
__device__ int block_scan(int value, int& before) {
  __shared__ int s_scan[2][THREADS];
  int in = 0;
  s_scan[0][threadIdx.x] = value;
  for (int d = 1; d < THREADS; d *= 2, in ^= 1) {
    __syncthreads();
    int sum = s_scan[in][threadIdx.x];
    if (threadIdx.x >= d) sum += s_scan[in][threadIdx.x - d];
    s_scan[in ^ 1][threadIdx.x] = sum;
  }
  __syncthreads();
  before = s_scan[in][threadIdx.x] - value;
  const int total = s_scan[in][THREADS - 1];
  __syncthreads();  // s_scan may be used again
  return total;
}

__global__ void count_kernel(const Element* d_x, int* d_kept, Counts counts, int n) {
  __shared__ bool s_is_last;
  int kept = 0, ignored;
  for (int k = 0; k < ITEMS; ++k) {
    const int i = blockIdx.x * section_size + k * THREADS + threadIdx.x;
    if (i < n) kept += keep(d_x[i]);
  }
  const int total = block_scan(kept, ignored);

  if (threadIdx.x == 0) {
    counts.d_before[blockIdx.x] = total;
    __threadfence();  // the count is there before this block is counted as done
    s_is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();  // and the last block sees the counts of all that were done before
  }
  __syncthreads();
  if (!s_is_last) return;

  int carry = 0;
  for (int first = 0; first < counts.sections; first += THREADS) {
    const int section = first + threadIdx.x;
    int before;
    const int sum = block_scan(section < counts.sections ? counts.d_before[section] : 0, before);
    if (section < counts.sections) counts.d_before[section] = carry + before;
    carry += sum;
  }
  if (threadIdx.x == 0) *d_kept = carry;
}

// Compaction: d_words[section] is one more than what is kept up to the section's end, 0 until that is known.
__device__ int wait_for_count(int* d_words, int section, int total, bool is_last, int* d_kept) {
  int before = 0;
  if (section > 0) {
    while ((before = atomicOr(&d_words[section - 1], 0)) == 0) {
    }
    --before;
  }
  atomicExch(&d_words[section], before + total + 1);
  if (is_last) *d_kept = before + total;
  return before;
}

template <bool is_split>
__global__ void move_kernel(const Element* d_x, Element* d_y, int* d_kept, Counts counts, int* d_words, int n) {
  __shared__ int s_section, s_before;
  if (!is_split) {
    if (threadIdx.x == 0) s_section = atomicAdd(&d_words[counts.sections], 1);
    __syncthreads();
  }
  const int section = is_split ? blockIdx.x : s_section;
  const int first = section * section_size + threadIdx.x;
  int before_section = is_split ? counts.d_before[section] : 0;

  Element x[ITEMS];
  int own[ITEMS], sum = 0;
  for (int k = 0; k < ITEMS; ++k) {  // rows of THREADS elements, one after the other
    const int i = first + k * THREADS;
    x[k] = i < n ? d_x[i] : identity();
    int before;
    const int total = block_scan(keep(x[k]), before);
    own[k] = sum + before;
    sum += total;
  }
  if (!is_split) {
    if (threadIdx.x == 0) {
      s_before = wait_for_count(d_words, section, sum, section == counts.sections - 1, d_kept);
    }
    __syncthreads();
    before_section = s_before;
  }
  const int kept = is_split ? *d_kept : 0;
  for (int k = 0; k < ITEMS; ++k) {
    const int i = first + k * THREADS, place = before_section + own[k];
    if (i >= n) break;
    if (keep(x[k])) {
      d_y[place] = x[k];
    } else if (is_split) {
      d_y[kept + i - place] = x[k];
    }
  }
}

template <bool is_split>
static void launch(const Element* d_x, Element* d_y, int* d_kept, int n) {
  if (n == 0) {
    SCANLAB_CUDA_CHECK(cudaMemset(d_kept, 0, sizeof(int)));
    return;
  }
  const int sections = (n - 1) / section_size + 1;
  int* d_scratch;
  SCANLAB_CUDA_CHECK(cudaMalloc(&d_scratch, (sections + 1) * sizeof(int)));
  const Counts counts{d_scratch, sections};
  if (is_split) {
    count_kernel<<<sections, THREADS>>>(d_x, d_kept, counts, n);
  } else {
    SCANLAB_CUDA_CHECK(cudaMemset(d_scratch, 0, (sections + 1) * sizeof(int)));
  }
  move_kernel<is_split><<<sections, THREADS>>>(d_x, d_y, d_kept, counts, d_scratch, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(d_scratch));
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<false>(d_x, d_y, d_kept, n);
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  launch<true>(d_x, d_y, d_kept, n);
}
