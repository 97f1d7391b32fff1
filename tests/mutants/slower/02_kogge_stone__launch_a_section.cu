// expect: pass 02_kogge_stone | right, and for one section, which is what this lab counts, it is one launch
// expect on gpu: fail speed | 65536 launches of one block, one after the other: one multiprocessor works

#include "scanlab.cuh"

// One block of section_size threads scans one section, in place in shared memory.
template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n, int section) {
  const int t = threadIdx.x;                 // this thread's place in the section
  const int i = section * section_size + t;  // and in the whole array
  __shared__ Element s_xy[section_size];

  // Tail guard: the last section may end early, and beyond d_x[n - 1] there is nothing to read. There, and before a
  // section's first element, stands the identity, so that the steps below need no guard of their own.
  s_xy[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();

  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();  // makes what each thread wrote (its load, or its last sum) visible to the thread that reads it
    Element sum = s_xy[t];
    if (t >= stride) sum = s_xy[t - stride] + sum;  // the rest already has all its elements: no addition
    __syncthreads();  // write-after-read: thread t + stride has now read s_xy[t], so that thread t may replace it
    s_xy[t] = sum;
  }
  // No barrier here: each thread reads only what it wrote itself.
  if (i < n) d_y[i] = s_xy[t];  // tail guard: the last section's other threads have nowhere to write
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  for (int section = 0; section < sections; ++section) {
    kogge_stone_kernel<kind><<<1, section_size>>>(d_x, d_y, n, section);
  }
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
