// expect: pass 07_domino | a warp of its own talks to the other blocks; it meets the four that scan at named barriers,
// where one side arrives (bar.arrive) and the other waits (bar.sync)

#include "scanlab.cuh"

constexpr int warp_size = 32;
constexpr int scanners = 128;
constexpr int block_size = scanners + warp_size;
constexpr int run_length = section_size / scanners;

enum BarrierName { among_scanners = 1, total_known, before_known };

template <int name, int threads>
__device__ void wait_at() {
  asm volatile("bar.sync %0, %1;" ::"n"(name), "n"(threads) : "memory");
}

template <int name, int threads>
__device__ void arrive_at() {
  asm volatile("bar.arrive %0, %1;" ::"n"(name), "n"(threads) : "memory");
}

struct Chain {
  int* d_taken;
  int* d_flags;
  Element* d_prefixes;
};

struct Shared {
  int section;
  Element before;
  Element sums[scanners];
  Element items[scanners][run_length + 1];
};

// For all lanes of the fifth warp.
__device__ void keep_the_chain(Shared& s, const Chain& chain, int lane) {
  Element before = identity();
  if (s.section > 0) {  // does not need the total to begin waiting
    const volatile int* const flag = chain.d_flags + s.section - 1;
    while (*flag == 0) {
    }
    __threadfence();  // in every lane: each has seen the flag, and reads the prefix
    before = chain.d_prefixes[s.section - 1];
  }
  wait_at<total_known, block_size>();
  if (lane == 0) {
    s.before = before;
    chain.d_prefixes[s.section] = before + s.sums[scanners - 1];
    __threadfence();
    atomicExch(chain.d_flags + s.section, 1);
  }
  __syncwarp();
  arrive_at<before_known, block_size>();
}

template <Kind kind>
__device__ void scan_the_section(Shared& s, const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x, first = s.section * section_size;
  for (int p = t; p < section_size; p += scanners) {
    const int i = first + p;
    s.items[p / run_length][p % run_length] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }
  wait_at<among_scanners, scanners>();
  Element* const s_run = s.items[t];
  for (int k = 1; k < run_length; ++k) s_run[k] = s_run[k - 1] + s_run[k];
  s.sums[t] = s_run[run_length - 1];
  for (int stride = 1; stride < scanners; stride *= 2) {
    wait_at<among_scanners, scanners>();
    Element sum = s.sums[t];
    if (t >= stride) sum = s.sums[t - stride] + sum;
    wait_at<among_scanners, scanners>();
    s.sums[t] = sum;
  }
  arrive_at<total_known, block_size>();
  wait_at<before_known, block_size>();
  const Element before = t > 0 ? s.before + s.sums[t - 1] : s.before;
  for (int k = 0; k < run_length; ++k) s_run[k] = before + s_run[k];
  wait_at<among_scanners, scanners>();
  for (int p = t; p < section_size; p += scanners) {
    if (first + p < n) d_y[first + p] = s.items[p / run_length][p % run_length];
  }
}

template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Chain chain, int n) {
  __shared__ Shared s;
  if (threadIdx.x == scanners) s.section = atomicAdd(chain.d_taken, 1);
  __syncthreads();
  if (threadIdx.x >= scanners) {
    keep_the_chain(s, chain, threadIdx.x - scanners);
  } else {
    scan_the_section<kind>(s, d_x, d_y, n);
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
