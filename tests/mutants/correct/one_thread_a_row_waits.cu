// expect: pass 07_domino | values travel with their flags in volatile structs; the waiting loop is a lambda; a grid in
// 2D

#include "scanlab.cuh"

struct Mail {
  volatile int* sent;
  Element* letter;
};

template <class Condition>
__device__ __noinline__ void wait_until(Condition condition) {
  while (!condition()) {
  }
  __threadfence();
}

__device__ int taken;

template <Kind kind>
__global__ void deliver(const Element* __restrict__ x, Element* __restrict__ y, Mail mail, int n) {
  __shared__ int place;
  __shared__ Element s[32][33], rows[32], from_left;
  const int column = threadIdx.x, row = threadIdx.y;
  if (column == 0 && row == 0) place = atomicAdd(&taken, 1);
  __syncthreads();
  const int section = place, i = section * section_size + row * 32 + column;
  s[row][column] = i >= shift<kind> && i < n ? x[i - shift<kind>] : identity();
  __syncthreads();
  if (row == 0) {  // a warp: lane k scans row k, then all lanes scan the rows' sums
    Element sum = s[column][0];
    for (int k = 1; k < 32; ++k) s[column][k] = sum = sum + s[column][k];
    rows[column] = sum;
    for (int d = 1; d < 32; d *= 2) {
      __syncwarp();
      if (column >= d) sum = rows[column - d] + sum;
      __syncwarp();
      rows[column] = sum;
    }
    if (column == 31) {
      Element before = identity();
      if (section != 0) {
        wait_until([&] { return mail.sent[section - 1] != 0; });
        before = mail.letter[section - 1];
      }
      mail.letter[section] = before + sum;
      __threadfence();
      mail.sent[section] = 1;
      from_left = before;
    }
    __syncwarp();
    rows[column] = from_left + rows[column];  // once a row, not once an element
  }
  __syncthreads();
  const Element before = row > 0 ? rows[row - 1] : from_left;
  if (i < n) y[i] = before + s[row][column];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  const int sections = (n + section_size - 1) / section_size, none = 0;
  void *sent, *letter;
  SCANLAB_CUDA_CHECK(cudaMalloc(&sent, sections * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMalloc(&letter, sections * sizeof(Element)));
  SCANLAB_CUDA_CHECK(cudaMemset(sent, 0, sections * sizeof(int)));
  SCANLAB_CUDA_CHECK(cudaMemset(letter, 0xff, sections * sizeof(Element)));
  void* counter;
  SCANLAB_CUDA_CHECK(cudaGetSymbolAddress(&counter, taken));
  SCANLAB_CUDA_CHECK(cudaMemset(counter, none, sizeof(int)));
  deliver<kind>
      <<<dim3(1, sections), dim3(32, 32)>>>(d_x, d_y, {static_cast<int*>(sent), static_cast<Element*>(letter)}, n);
  SCANLAB_CUDA_CHECK(cudaFree(sent));
  SCANLAB_CUDA_CHECK(cudaFree(letter));
}
