// expect: pass 03_double_buffer | libcu++'s cuda::barrier in place of __syncthreads, and buffers in a struct with
// members

#include <cuda/barrier>

#include "scanlab.cuh"

using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

struct DoubleBuffer {
  Element half[2][section_size];
};

class Cursor {
 public:
  __device__ Cursor(DoubleBuffer& buffers, BlockBarrier& barrier) : buffers_(buffers), barrier_(barrier) {}

  __device__ void put(Element element) {
    buffers_.half[current_ ^ 1][threadIdx.x] = element;
    barrier_.arrive_and_wait();
    current_ ^= 1;
  }
  __device__ Element left(int distance) const { return buffers_.half[current_][threadIdx.x - distance]; }
  __device__ Element own() const { return left(0); }

 private:
  DoubleBuffer& buffers_;
  BlockBarrier& barrier_;
  int current_ = 0;
};

template <Kind kind>
__global__ void scan_kernel(const Element* d_x, Element* d_y, int n) {
  __shared__ DoubleBuffer s_buffers;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ BlockBarrier s_barrier;
  if (threadIdx.x == 0) init(&s_barrier, blockDim.x);
  __syncthreads();

  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Cursor cursor(s_buffers, s_barrier);
  cursor.put(threadIdx.x >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity());
  for (int distance = 1; distance < section_size; distance += distance) {
    Element sum = cursor.own();
    if (threadIdx.x >= distance) sum = cursor.left(distance) + sum;
    cursor.put(sum);
  }
  if (i < n) d_y[i] = cursor.own();
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  scan_kernel<kind><<<(n - 1) / section_size + 1, section_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
