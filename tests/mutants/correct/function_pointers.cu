// expect: pass 03_double_buffer | the operator is a device function pointer, fetched by cudaMemcpyFromSymbol once;
// warps leave when they are done

#include "scanlab.cuh"

typedef Element (*Operator)(Element, Element);

__device__ Element plus(Element earlier, Element later) {
  return earlier + later;
}

__device__ Element swapped_plus(Element later, Element earlier) {
  return earlier + later;
}

enum { PLUS, SWAPPED_PLUS };
__constant__ Operator operators[] = {plus, swapped_plus};

union Buffers {
  Element both[2 * section_size];
  struct {
    Element ping[section_size], pong[section_size];
  };
};

__global__ void scan_kernel(const Element* x, Element* y, int n, int skip, int which) {
  const Operator combine = operators[which];
  __shared__ Buffers s;
  int t = threadIdx.x, i = blockIdx.x * section_size + t;
  s.ping[t] = (t < skip || i >= n) ? identity() : x[i - skip];
  __syncthreads();
  int src = 0;
  for (int stride = 1; stride < section_size; stride *= 2) {
    int dst = section_size - src;
    if (t < stride)
      s.both[dst + t] = s.both[src + t];
    else
      s.both[dst + t] = combine(s.both[src + t - stride], s.both[src + t]);
    src = dst;
    if (stride < section_size / 2) __syncthreads();  // the last sums are read by their own threads only
  }
  if (i >= n) return;
  y[i] = src == 0 ? s.ping[t] : s.pong[t];
}

void scan(const Element* x, Element* y, int n, int skip) {
  if (n <= 0) return;
  scan_kernel<<<(n + section_size - 1) / section_size, section_size>>>(x, y, n, skip, PLUS);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 0);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan(d_x, d_y, n, 1);
}
