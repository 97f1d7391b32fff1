// expect: pass 07_domino | a wait with __nanosleep and compare-and-swap; sections are counted by a __device__ variable

#include "scanlab.cuh"

__device__ unsigned next_section;

struct Baton {
  unsigned* passed;
  Element* value;
};

__device__ Element receive(const Baton& baton, unsigned section) {
  if (section == 0) return identity();
  for (unsigned pause = 8; atomicCAS(baton.passed + section - 1, 1u, 1u) != 1u; pause = min(2 * pause, 256u)) {
    __nanosleep(pause);
  }
  __threadfence();
  return baton.value[section - 1];
}

__device__ void pass(const Baton& baton, unsigned section, Element value) {
  baton.value[section] = value;
  __threadfence();
  atomicOr(baton.passed + section, 1u);
}

template <Kind kind>
__global__ void relay(const Element* d_x, Element* d_y, Baton baton, int n) {
  __shared__ unsigned s_section;
  __shared__ Element s[section_size], s_sums[64], s_before;
  const int t = threadIdx.x;
  if (t == 0) s_section = atomicInc(&next_section, gridDim.x - 1);  // 0 again after the last one
  __syncthreads();
  const unsigned section = s_section;
  const int first = section * section_size;
  for (int p = t; p < section_size; p += 64) {
    const int i = first + p;
    s[p] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }
  __syncthreads();
  Element* const run = s + 16 * t;
  for (int k = 1; k < 16; ++k) run[k] = run[k - 1] + run[k];
  Element sum = run[15];
  s_sums[t] = sum;
  for (int d = 1; d < 64; d *= 2) {
    __syncthreads();
    if (t >= d) sum = s_sums[t - d] + sum;
    __syncthreads();
    s_sums[t] = sum;
  }
  if (t == 63) {
    s_before = receive(baton, section);
    pass(baton, section, s_before + sum);
  }
  __syncthreads();
  const Element before = t == 0 ? s_before : s_before + s_sums[t - 1];
  for (int k = 0; k < 16; ++k) run[k] = before + run[k];
  __syncthreads();
  for (int p = t; p < section_size; p += 64) {
    if (first + p < n) d_y[first + p] = s[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  Baton baton;
  SCANLAB_CUDA_CHECK(cudaMalloc(&baton.passed, sections * sizeof(unsigned)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&baton.value, sections * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(baton.passed, 0, sections * sizeof(unsigned)));
  relay<kind><<<sections, 64>>>(d_x, d_y, baton, n);
  SCANLAB_CUDA_CHECK(cudaDeviceSynchronize());
  SCANLAB_CUDA_CHECK(cudaFree(baton.value));
  SCANLAB_CUDA_CHECK(cudaFree(baton.passed));
}
