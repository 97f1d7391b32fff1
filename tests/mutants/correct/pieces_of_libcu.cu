// expect: pass 02_kogge_stone | cooperative groups without their scans, a reduction whose header is made with them, and
// pieces of libcu++: a pair, limits, an atomic object

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cuda/atomic>
#include <cuda/std/limits>
#include <cuda/std/numeric>
#include <cuda/std/utility>

#include "scanlab.cuh"

namespace cg = cooperative_groups;

template <Kind kind>
__global__ void scan_kernel(const Element* d_x, Element* d_y, int n) {
  __shared__ Element s_xy[section_size];
  const cg::thread_block block = cg::this_thread_block();
  const int t = block.thread_rank();
  const int i = block.group_index().x * section_size + t;
  // The lanes that have no element: counted for the sake of it, by lanes that happen to be together.
  __shared__ int s_beyond;
  if (t == 0) s_beyond = 0;
  block.sync();
  if (i >= n) {
    const cg::coalesced_group beyond = cg::coalesced_threads();
    const int count = cg::reduce(beyond, 1, cg::plus<int>());
    cuda::atomic_ref<int, cuda::thread_scope_block> all(s_beyond);
    if (beyond.thread_rank() == 0) all.fetch_add(count, cuda::memory_order_relaxed);
  }
  const bool has_before = kind == Kind::inclusive || t > 0;
  const int from = kind == Kind::inclusive ? i : i - 1;
  s_xy[t] = has_before && from < n ? d_x[from] : identity();
  for (int stride = 1; stride < section_size; stride *= 2) {
    block.sync();
    cuda::std::pair<bool, Element> step(t >= stride, s_xy[t]);
    if (step.first) step.second = s_xy[t - stride] + step.second;
    block.sync();
    s_xy[t] = step.second;
  }
  block.sync();
  if (i < n && s_beyond < cuda::std::numeric_limits<int>::max()) d_y[i] = s_xy[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) scan_kernel<kind><<<(n - 1) / section_size + 1, section_size>>>(d_x, d_y, n);
}
