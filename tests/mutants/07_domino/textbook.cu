// expect: fail useful_additions cost.useful_additions | right, but the textbook's domino of Kogge-Stone sections; 2^22
// elements end in time

#include "scanlab.cuh"

struct Passed {
  unsigned* d_next;
  int* d_flags;
  Element* d_values;
};

template <Kind kind>
__global__ void single_pass(const Element* d_x, Element* d_y, Passed passed, unsigned n) {
  __shared__ Element s_xy[section_size];
  __shared__ unsigned s_block;
  __shared__ Element s_previous;
  const unsigned t = threadIdx.x;
  if (t == 0) s_block = atomicAdd(passed.d_next, 1);
  __syncthreads();
  const unsigned block = s_block, i = block * section_size + t;
  s_xy[t] = i >= unsigned(shift<kind>) && i < n ? d_x[i - shift<kind>] : identity();
  for (unsigned stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    Element sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;
    __syncthreads();
    s_xy[t] = sum;
  }
  __syncthreads();
  if (t == 0) {
    Element previous = identity();
    if (block > 0) {
      while (atomicAdd(&passed.d_flags[block - 1], 0) == 0) {
      }
      __threadfence();
      previous = passed.d_values[block - 1];
    }
    s_previous = previous;
    passed.d_values[block] = previous + s_xy[section_size - 1];
    __threadfence();
    atomicExch(&passed.d_flags[block], 1);
  }
  __syncthreads();
  if (i < n) d_y[i] = s_previous + s_xy[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  Passed passed;
  SCANLAB_CUDA_CHECK(cudaMalloc(&passed.d_next, sizeof(unsigned)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&passed.d_flags, sections * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&passed.d_values, sections * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMemset(passed.d_next, 0, sizeof(unsigned)));
  SCANLAB_CUDA_CHECK(cudaMemset(passed.d_flags, 0, sections * sizeof(int)));
  single_pass<kind><<<sections, section_size>>>(d_x, d_y, passed, n);
  SCANLAB_CUDA_CHECK(cudaFree(passed.d_next));
  SCANLAB_CUDA_CHECK(cudaFree(passed.d_flags));
  SCANLAB_CUDA_CHECK(cudaFree(passed.d_values));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
