// Scans by CUB's DeviceScan, which comes with CUDA: what `grader/scanlab bench` measures the labs' scans against.
// CUB asks for scratch memory. It is kept from call to call and grows when a call needs more, so that no timed call
// has to allocate: CUB at its best.

#include <cub/device/device_scan.cuh>

#include "scanlab.cuh"

namespace {

void* d_scratch = nullptr;
std::size_t scratch_bytes = 0;

// `scan` is one of CUB's calls: with a null pointer it only says how much scratch memory it needs.
template <class Scan>
void scan_with_scratch(Scan scan) {
  std::size_t needed = 0;
  SCANLAB_CUDA_CHECK(scan(nullptr, needed));
  if (needed > scratch_bytes) {
    SCANLAB_CUDA_CHECK(cudaFree(d_scratch));
    scratch_bytes = 0;
    if (SCANLAB_CUDA_CHECK(cudaMalloc(&d_scratch, needed)) != cudaSuccess) return;
    scratch_bytes = needed;
  }
  SCANLAB_CUDA_CHECK(scan(d_scratch, needed));
}

}  // namespace

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan_with_scratch([=](void* d_temporary, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(d_temporary, bytes, d_x, d_y, n);
  });
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  scan_with_scratch([=](void* d_temporary, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(d_temporary, bytes, d_x, d_y, n);
  });
}
