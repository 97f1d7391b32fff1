// expect: pass 03_double_buffer | right, and as much work as it should be
// expect on gpu: fail speed | one block scans all sections, one after the other: one multiprocessor works

#include "scanlab.cuh"

// One block of section_size threads scans one section, to and fro between two buffers in shared memory.
template <Kind kind>
__global__ void kogge_stone_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;  // this thread's place in the section
  __shared__ Element s_a[section_size], s_b[section_size];
  Element* s_from = s_a;  // complete: the load, then the last step's sums
  Element* s_to = s_b;    // free to write

  for (int first = 0; first < n; first += section_size) {
    const int i = first + t;  // the place in the whole array
    // Tail guard: the last section may end early, and beyond d_x[n - 1] there is nothing to read. There, and before a
    // section's first element, stands the identity, so that the steps below need no guard of their own.
    s_from[t] = t >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();

    for (int stride = 1; stride < section_size; stride *= 2) {
      __syncthreads();  // makes s_from visible to all; and all have read s_to, the last step's s_from: it may go
      Element sum = s_from[t];
      if (t >= stride) sum = s_from[t - stride] + sum;  // the rest already has all its elements, and copies
      s_to[t] = sum;
      Element* const s_free = s_from;
      s_from = s_to;
      s_to = s_free;
    }
    // No barrier here: each thread reads only what it wrote itself.
    if (i < n) d_y[i] = s_from[t];  // tail guard: the last section's other threads have nowhere to write
    // The next section's load overwrites what only this thread reads, s_from[t]. The other buffer is read no more after
    // the first barrier of the next section.
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  kogge_stone_kernel<kind><<<1, section_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
