// Computes the inclusive and the exclusive scan of each section with one block, two elements a thread, in two trees.
// New since 03: a reduction tree and a distribution tree, which need about 2n additions instead of n log2(n).
// Run: grader/scanlab check 04 (your own work), grader/scanlab grade solutions (the reference solutions)
// Handout: handouts/04_brent_kung.md

#include "scanlab.cuh"

// Half of the elements are summed up in the first level, and fewer in each one that follows: more threads than this
// would never have anything to do.
constexpr int block_size = section_size / 2;

// One block of block_size threads scans one section, in place in shared memory.
template <Kind kind>
__global__ void brent_kung_kernel(const Element* d_x, Element* d_y, int n) {
  const int t = threadIdx.x;
  const int first = blockIdx.x * section_size;  // the section's place in the whole array
  __shared__ Element s_xy[section_size];

  // Tail guard: the last section may end early, and beyond d_x[n - 1] there is nothing to read. There, and before a
  // section's first element, stands the identity, so that the trees below need no guard of their own.
  for (int p = t; p < section_size; p += block_size) {
    s_xy[p] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }

  // >>> your code
  // First in the plain way, until grader/scanlab check 04 finds every result right: each thread looks after the places
  // p = t and p = t + block_size, as in the load above, and asks of each whether a level has something to add there.
  //
  // TODO(1): the reduction tree (about 6 lines). For stride = 1, 2, 4 … below section_size, each place p with
  //          (p + 1) % (2 * stride) == 0 combines the element `stride` places to its left with its own. All of it
  //          happens in s_xy. Where do the threads have to wait for each other, and why is once a level enough?
  //
  // TODO(2): the distribution tree (about 6 lines). For stride = section_size / 4 and halves of it, down to 1, the same
  //          places p give their value to place p + stride, where there is one, to be added on the left of what stands
  //          there. Once more, wait where one level reads what another has written.
  //
  // TODO(3): the store below is given. It writes what other threads have computed: what has to stand here (1 line)?
  //
  // Then with few warps:
  //
  // TODO(4): give the places of a level, one after the other, to threads 0, 1, 2 … (about 4 lines changed). Compute p
  //          from t and stride instead of asking every place. No thread has more than one place in a level.
  // <<< your code

  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];  // tail guard: beyond the end there is nowhere to write
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;  // nothing to scan, and a grid of no blocks is an invalid configuration
  const int sections = (n - 1) / section_size + 1;  // n / section_size, rounded up
  brent_kung_kernel<kind><<<sections, block_size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
