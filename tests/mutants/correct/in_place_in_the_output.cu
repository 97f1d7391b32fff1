// expect: pass 06_hierarchical | the input is copied to the output and scanned there, in place; a kernel for each level

#include "scanlab.cuh"

// A thread has 4 neighbouring elements of type T, which all its accesses move at once.
template <typename T>
struct alignas(16) Quad {
  T a, b, c, d;
};

// The quads are scanned by their threads, and the quads' sums by two trees in shared memory.
template <typename T, int ThreadsPerBlock>
struct BlockScan {
  static constexpr int items = 4 * ThreadsPerBlock;

  T sums[ThreadsPerBlock];

  __device__ void operator()(Quad<T>& q, T& before, T& total) {
    q.b = q.a + q.b;
    q.c = q.b + q.c;
    q.d = q.c + q.d;
    sums[threadIdx.x] = q.d;
    for (int stride = 1; stride < ThreadsPerBlock; stride *= 2) {
      __syncthreads();
      combine(place(stride) - stride, place(stride));
    }
    for (int stride = ThreadsPerBlock / 4; stride > 0; stride /= 2) {
      __syncthreads();
      combine(place(stride), place(stride) + stride);
    }
    __syncthreads();
    before = threadIdx.x > 0 ? sums[threadIdx.x - 1] : identity();
    total = sums[ThreadsPerBlock - 1];
  }

 private:
  static __device__ int place(int stride) { return (threadIdx.x + 1) * 2 * stride - 1; }
  __device__ void combine(int left, int right) {
    if (right < ThreadsPerBlock) sums[right] = sums[left] + sums[right];
  }
};

template <bool Exclusive>
__global__ void __launch_bounds__(256, 4) scan_in_place(Element* data, Element* totals, size_t n) {
  using Scan = BlockScan<Element, section_size / 4>;
  __shared__ Scan scan;
  const size_t i = size_t(blockIdx.x) * Scan::items + 4 * threadIdx.x;
  Quad<Element> q{identity(), identity(), identity(), identity()};
  auto* const at = reinterpret_cast<Quad<Element>*>(data + i);
  if (i + 4 <= n) {
    q = *at;
  } else {
    if (i + 0 < n) q.a = data[i + 0];
    if (i + 1 < n) q.b = data[i + 1];
    if (i + 2 < n) q.c = data[i + 2];
  }
  Element before, total;
  scan(q, before, total);
  Quad<Element> r;
  if constexpr (Exclusive) {
    r = {before, before + q.a, before + q.b, before + q.c};
  } else {
    r = {before + q.a, before + q.b, before + q.c, before + q.d};
  }
  if (i + 4 <= n) {
    *at = r;
  } else {
    if (i + 0 < n) data[i + 0] = r.a;
    if (i + 1 < n) data[i + 1] = r.b;
    if (i + 2 < n) data[i + 2] = r.c;
  }
  if (totals && threadIdx.x == 0) totals[blockIdx.x] = total;
}

__global__ void shift_all(Element* data, const Element* totals_before, size_t n) {
  const Element before = totals_before[blockIdx.x];
  for (size_t i = size_t(blockIdx.x) * section_size + threadIdx.x, end = min(n, size_t(blockIdx.x + 1) * section_size);
       i < end; i += blockDim.x) {
    data[i] = before + data[i];
  }
}

template <bool Exclusive>
static void scan_level(Element* data, size_t n) {
  const unsigned blocks = unsigned((n + section_size - 1) / section_size);
  Element* totals = nullptr;
  if (blocks > 1) SCANLAB_CUDA_CHECK(cudaMalloc(&totals, blocks * sizeof *totals));
  scan_in_place<Exclusive><<<blocks, section_size / 4>>>(data, totals, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  if (blocks == 1) return;
  scan_level<true>(totals, blocks);
  shift_all<<<blocks, 128>>>(data, totals, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
  SCANLAB_CUDA_CHECK(cudaFree(totals));
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  SCANLAB_CUDA_CHECK(cudaMemcpy(d_y, d_x, n * sizeof(Element), cudaMemcpyDeviceToDevice));
  if (n) scan_level<false>(d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  SCANLAB_CUDA_CHECK(cudaMemcpyAsync(d_y, d_x, n * sizeof(Element), cudaMemcpyDeviceToDevice));
  if (n) scan_level<true>(d_y, n);
}
