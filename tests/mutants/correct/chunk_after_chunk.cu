// expect: pass 01_sequential | a launch for every 1024 elements; what is before a chunk waits in a __device__ variable

#include <cassert>
#include <vector>

#include "scanlab.cuh"

#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)
static inline void gpuAssert(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
}

#define CHUNK 1024

__device__ Element carry;  // the sum of all chunks so far

template <bool INCLUSIVE>
__global__ void scan_chunk(const Element* __restrict__ in, Element* __restrict__ out, int begin, int end,
                           bool is_last) {
  assert(begin < end && blockDim.x == 1);
  int i = begin;
  Element acc;
  if (begin > 0) {
    acc = carry;
  } else if (INCLUSIVE) {
    acc = out[i] = in[i];
    ++i;
  } else {
    acc = identity();
  }
  for (; i < end; i++) {
    if constexpr (!INCLUSIVE) out[i] = acc;
    // the very last sum of an exclusive scan would go nowhere
    if (INCLUSIVE || i + 1 < end || !is_last) acc = (!INCLUSIVE && i == 0) ? in[0] : acc + in[i];
    if constexpr (INCLUSIVE) out[i] = acc;
  }
  if (!is_last) carry = acc;
}

template <bool INCLUSIVE>
static void scan(const Element* in, Element* out, int n) {
  std::vector<int> begins;
  for (int begin = 0; begin < n; begin += CHUNK) begins.push_back(begin);
  for (const int begin : begins) {
    const int end = begin + CHUNK < n ? begin + CHUNK : n;
    scan_chunk<INCLUSIVE><<<1, 1>>>(in, out, begin, end, end == n);
  }
  gpuErrchk(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<true>(d_x, d_y, n);
}
void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan<false>(d_x, d_y, n);
}
