// expect: pass 09_atomic_block_sums | trees in shared memory, libcu++'s atomics, and an offset behind the last: the
// total

#include <cuda/atomic>

#include "scanlab.cuh"

constexpr int block_size = section_size / 2;

template <Kind kind>
__global__ void section_kernel(const Element* d_x, Element* d_y, Element* d_offsets, int n) {
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  __shared__ Element s_xy[section_size];
  for (int p = t; p < section_size; p += block_size) {
    const int i = first + p;
    s_xy[p] = i >= shift<kind> && i < n ? d_x[i - shift<kind>] : identity();
  }
  for (int stride = 1; stride < section_size; stride *= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * stride - 1;
    if (p < section_size) s_xy[p] = s_xy[p - stride] + s_xy[p];
  }
  for (int stride = section_size / 4; stride > 0; stride /= 2) {
    __syncthreads();
    const int p = (t + 1) * 2 * stride - 1;
    if (p + stride < section_size) s_xy[p + stride] = s_xy[p] + s_xy[p + stride];
  }
  __syncthreads();
  for (int p = t; p < section_size; p += block_size) {
    if (first + p < n) d_y[first + p] = s_xy[p];
  }
  for (unsigned b = gridDim.x - t; b > blockIdx.x && b <= gridDim.x; b -= block_size) {
    cuda::atomic_ref<Element, cuda::thread_scope_device>(d_offsets[b])
        .fetch_add(s_xy[section_size - 1], cuda::memory_order_relaxed);
  }
}

__global__ void add_kernel(Element* d_y, const Element* d_offsets, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    d_y[i] += d_offsets[i / section_size];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  static Element* d_offsets = nullptr;
  static int room = 0;
  if (n == 0) return;
  const int sections = (n - 1) / section_size + 1;
  if (sections + 1 > room) {
    room = sections + 1;
    SCANLAB_CUDA_CHECK(cudaFree(d_offsets));
    SCANLAB_CUDA_CHECK(cudaMalloc(&d_offsets, room * sizeof(Element)));
  }
  SCANLAB_CUDA_CHECK(cudaMemsetAsync(d_offsets, 0, (sections + 1) * sizeof(Element)));
  section_kernel<kind><<<sections, block_size>>>(d_x, d_y, d_offsets, n);
  add_kernel<<<16, 256>>>(d_y, d_offsets, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::inclusive>(d_x, d_y, n);
}

void exclusive_scan(const Element* d_x, Element* d_y, int n) {
  launch_scan<Kind::exclusive>(d_x, d_y, n);
}
