// expect: fail exclusive,exclusive_affine misaligned | the exclusive scan loads 16 bytes from one element further left,
// which is no multiple of 16

#include "scanlab.cuh"

constexpr int RUN = 4;
constexpr int THREADS = section_size / RUN;

union Run {
  int4 vectors[RUN * sizeof(Element) / sizeof(int4)];
  Element elements[RUN];
};

__device__ inline void load_run(Run& run, const Element* x, int begin, int n) {
  if (begin + RUN <= n) {
    const int4* from = reinterpret_cast<const int4*>(x + begin);
    for (int v = 0; v < sizeof(run.vectors) / sizeof(int4); v++) run.vectors[v] = __ldg(from + v);
  } else {
    for (int k = 0; k < RUN; k++) run.elements[k] = begin + k < n ? x[begin + k] : identity();
  }
}

__device__ inline void store_run(const Run& run, Element* y, int begin, int n) {
  if (begin + RUN <= n) {
    int4* to = reinterpret_cast<int4*>(y + begin);
    for (int v = 0; v < sizeof(run.vectors) / sizeof(int4); v++) __stcs(to + v, run.vectors[v]);
  } else {
    for (int k = 0; k < RUN; k++)
      if (begin + k < n) y[begin + k] = run.elements[k];
  }
}

__global__ void scan_kernel(const Element* x, Element* y, int n, bool exclusive) {
  __shared__ Element sums[THREADS];
  const int t = threadIdx.x;
  const int begin = blockIdx.x * section_size + t * RUN;

  Run run;
  if (exclusive && begin % section_size > 0) {
    load_run(run, x - 1, begin, n);
  } else {
    load_run(run, x, begin, n);
    for (int k = RUN - 1; exclusive && k >= 0; k--) run.elements[k] = k > 0 ? run.elements[k - 1] : identity();
  }
#pragma unroll
  for (int k = 1; k < RUN; k++) run.elements[k] = run.elements[k - 1] + run.elements[k];

  sums[t] = run.elements[RUN - 1];
  for (int d = 1; d < THREADS; d *= 2) {
    __syncthreads();
    if (t & d) sums[t] = sums[(t & -d) - 1] + sums[t];
  }
  __syncthreads();

  const Element before = t > 0 ? sums[t - 1] : identity();
#pragma unroll
  for (int k = RUN - 1; k >= 0; k--) {
    run.elements[k] = before + run.elements[k];
  }
  store_run(run, y, begin, n);
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) scan_kernel<<<(n - 1) / section_size + 1, THREADS>>>(d_x, d_y, n, false);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) scan_kernel<<<(n - 1) / section_size + 1, THREADS>>>(d_x, d_y, n, true);
}
