// expect: pass 03_double_buffer | both buffers in untyped dynamic shared memory, swapped by a template;
// cudaLaunchKernelExC

#include "scanlab.cuh"

template <typename T>
__device__ __forceinline__ void exchange(T& a, T& b) noexcept {
  T kept = a;
  a = b;
  b = kept;
}

template <Kind kind>
__global__ void swapped(const Element* d_x, Element* d_y, int n) {
  extern __shared__ __align__(16) unsigned char bytes[];
  auto* from = reinterpret_cast<Element*>(bytes);
  auto* to = reinterpret_cast<Element*>(bytes + blockDim.x * sizeof(Element));
  const auto t = threadIdx.x;
  const auto i = static_cast<int>(blockIdx.x * blockDim.x + t);
  from[t] = int(t) - shift<kind> >= 0 && i < n ? d_x[i - shift<kind>] : identity();
  for (auto stride = 1u; __syncthreads(), stride < blockDim.x; stride <<= 1) {
    to[t] = from[t];
    if (t >= stride) to[t] = from[t - stride] + from[t];
    exchange(from, to);
  }
  if (i < n) d_y[i] = from[t];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3((n - 1) / section_size + 1);
  how.blockDim = dim3(section_size);
  how.dynamicSmemBytes = 2 * section_size * sizeof(Element);
  SCANLAB_CUDA_CHECK(cudaLaunchKernelEx(&how, swapped<kind>, d_x, d_y, n));
}
