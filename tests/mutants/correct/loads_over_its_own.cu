// expect: pass 05_coarsening | no barrier at the end of the loop: a thread loads over places that it has stored itself

#include <cuda_pipeline.h>

#include <algorithm>

#include "scanlab.cuh"

enum : int { Threads = 64, Run = section_size / Threads, Stages = 2, Pitch = Run + 1 };

struct Shared {
  Element section[Stages][Threads * Pitch];
  Element sums[Threads];
};

static __device__ int place(int p) {
  return p / Run * Pitch + p % Run;
}

template <Kind kind>
static __device__ void fetch(Element* s_section, const Element* d_x, int section, int sections, int n) {
  const int first = section * section_size;
  for (int p = threadIdx.x; p < section_size && section < sections; p += Threads) {
    if (p >= shift<kind> && first + p < n) {
      __pipeline_memcpy_async(&s_section[place(p)], &d_x[first + p - shift<kind>], sizeof(Element));
    } else {
      s_section[place(p)] = identity();
    }
  }
  __pipeline_commit();
}

template <Kind kind>
__global__ void scan_sections(const Element* d_x, Element* d_y, int n, int sections) {
  extern __shared__ __align__(16) char s_bytes[];
  Shared& s = *reinterpret_cast<Shared*>(s_bytes);
  const int t = threadIdx.x;
  int stage = 0;
  fetch<kind>(s.section[0], d_x, blockIdx.x, sections, n);
  for (int section = blockIdx.x; section < sections; section += gridDim.x, stage ^= 1) {
    fetch<kind>(s.section[stage ^ 1], d_x, section + gridDim.x, sections, n);
    __pipeline_wait_prior(1);
    __syncthreads();

    Element* const run = &s.section[stage][t * Pitch];
    for (int k = 1; k < Run; ++k) run[k] = run[k - 1] + run[k];
    s.sums[t] = run[Run - 1];
#pragma unroll
    for (int d = 1; d < Threads; d *= 2) {
      __syncthreads();
      if (t < Threads / 2) {
        const int to = t / d * 2 * d + d + t % d;
        s.sums[to] = s.sums[t / d * 2 * d + d - 1] + s.sums[to];
      }
    }
    __syncthreads();
    if (t > 0) {
      for (int k = 0; k < Run; ++k) run[k] = s.sums[t - 1] + run[k];
    }
    __syncthreads();
    for (int p = t; p < section_size; p += Threads) {
      if (section * section_size + p < n) d_y[section * section_size + p] = s.section[stage][place(p)];
    }
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  scan_sections<kind><<<std::min(sections, 2), Threads, sizeof(Shared)>>>(d_x, d_y, n, sections);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
