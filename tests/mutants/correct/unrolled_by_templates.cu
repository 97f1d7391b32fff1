// expect: pass 02_kogge_stone | the steps are a recursion of templates, and beyond the end of the array nothing is
// loaded

#include <type_traits>

#include "scanlab.cuh"

template <unsigned Stride, unsigned Size, typename T>
__device__ __forceinline__ void kogge_stone_steps(T (&s)[Size], T mine) {
  static_assert(std::is_trivially_copyable<T>::value, "shared memory needs plain data");
  if constexpr (Stride < Size) {
    __syncthreads();
    if (threadIdx.x >= Stride) {
      mine = s[threadIdx.x - Stride] + mine;
    }
    __syncthreads();
    s[threadIdx.x] = mine;
    kogge_stone_steps<2 * Stride>(s, mine);
  }
}

template <typename T, Kind kind, unsigned Size>
__launch_bounds__(Size) __global__ void scan_kernel(const T* d_in, T* d_out, unsigned n) {
  __shared__ T s[Size];
  const unsigned id = blockIdx.x * Size + threadIdx.x;
  T mine = identity();
  if constexpr (kind == Kind::inclusive) {
    // Beyond the end s keeps whatever it holds: sums only go to the right, so nothing that is stored depends on it.
    if (id < n) s[threadIdx.x] = mine = d_in[id];
  } else {
    if (threadIdx.x > 0 && id < n) mine = d_in[id - 1];
    s[threadIdx.x] = mine;
  }
  kogge_stone_steps<1>(s, mine);
  __syncthreads();
  if (id < n) d_out[id] = s[threadIdx.x];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  constexpr unsigned size = section_size;
  scan_kernel<Element, kind, size><<<(unsigned(n) + size - 1) / size, size>>>(d_x, d_y, n);
  SCANLAB_CUDA_CHECK(cudaPeekAtLastError());
}
