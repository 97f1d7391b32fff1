// expect: pass 04_brent_kung | a level's barrier (bar.sync with a count) is for the warps that have worked or will work

#include "scanlab.cuh"

constexpr int threads = section_size / 2;

// Waits for the first `count` threads of the block, at barrier `number`.
__device__ __forceinline__ void sync_first(int count, int number) {
  asm volatile("barrier.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
}

__device__ constexpr int whole_warps(int count) {
  return (count + 31) / 32 * 32;
}

template <Kind kind>
__global__ void two_trees(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s[section_size];
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  for (int p = t; p < section_size; p += threads) {
    s[p] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  __syncthreads();

  // Up: a level has half as many workers as the one below. Warps with nothing left to do go on to the other tree.
  for (int stride = 1, workers = threads; workers > 0; stride *= 2, workers /= 2) {
    if (t >= whole_warps(workers)) break;
    if (t < workers) {
      const int p = 2 * stride * (t + 1) - 1;
      s[p] = s[p - stride] + s[p];
    }
    if (workers > 1) sync_first(whole_warps(workers), 1);  // the next level's workers are among these
  }
  // Down: each level's barrier also lets in those that have waited since they left the first tree. They find its sums
  // complete: the threads that wrote them have passed a barrier with one that is here.
  for (int stride = section_size / 4, workers = 1; stride > 0; stride /= 2, workers = 2 * workers + 1) {
    if (t >= whole_warps(workers)) continue;
    // A number for each count: later warps wait at theirs already, while the first ones still use others.
    sync_first(whole_warps(workers), 2 + __popc(whole_warps(workers) / 32 - 1));
    if (t < workers) {
      const int p = 2 * stride * (t + 1) - 1;
      s[p + stride] = s[p] + s[p + stride];
    }
  }
  __syncthreads();
  for (int p = t; p < section_size; p += threads) {
    if (first + p < n) d_y[first + p] = s[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  two_trees<kind><<<(n + section_size - 1) / section_size, threads>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
