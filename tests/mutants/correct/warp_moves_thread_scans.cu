// expect: pass 01_sequential | a warp copies 32 elements asynchronously (cp.async), one lane scans them in shared
// memory

#include "scanlab.cuh"

namespace {

constexpr int width = 32;

__device__ void copy_async(Element* s_to, const Element* from) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(s_to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)),
               "n"(sizeof(Element))
               : "memory");
}

__device__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int pending>
__device__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

template <Kind kind>
__global__ void __launch_bounds__(width) scan(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s_in[2][width];  // while one row is scanned, the next one is on its way
  __shared__ Element s_out[width];
  const int lane = threadIdx.x;
  const auto fetch = [&](int row) {
    const int i = row * width + lane;
    if (i < n) copy_async(&s_in[row & 1][lane], d_x + i);
    commit();  // an empty group where there is nothing left
  };
  fetch(0);
  Element sum = identity();
  for (int row = 0; row * width < n; ++row) {
    fetch(row + 1);
    wait<1>();     // each lane waits for its own copies of this row
    __syncwarp();  // and tells the others
    if (lane == 0) {
      for (int k = 0; k < min(width, n - row * width); ++k) {
        const Element before = sum;
        const bool needed = kind == Kind::inclusive || row * width + k + 1 < n;
        const Element x = s_in[row & 1][k];
        if (needed) sum = row + k == 0 ? x : sum + x;
        s_out[k] = kind == Kind::inclusive ? sum : before;
      }
    }
    __syncwarp();
    if (row * width + lane < n) d_y[row * width + lane] = s_out[lane];
    __syncwarp();  // s_out and this row's buffer are free again
  }
  wait<0>();
}

}  // namespace

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n != 0) scan<Kind::inclusive><<<1, width>>>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  if (n != 0) scan<Kind::exclusive><<<1, width>>>(d_x, d_y, n);
}
