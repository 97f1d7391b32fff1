// expect: pass 04_brent_kung | both trees are unfolded at compile time by index sequences; a struct holds the section

#include <utility>

#include "scanlab.cuh"

struct alignas(16) Shared {
  Element of[section_size];
  __device__ Element& operator[](int p) { return of[p]; }
};

template <int stride>
__device__ void up(Shared& s, int t) {
  if (const int p = (t + 1) * 2 * stride - 1; p < section_size) s[p] = s[p - stride] + s[p];
  __syncthreads();
}

template <int stride>
__device__ void down(Shared& s, int t) {
  if (const int p = (t + 1) * 2 * stride - 1; p + stride < section_size) s[p + stride] = s[p] + s[p + stride];
  __syncthreads();
}

template <int... level>
__device__ void both(Shared& s, int t, std::integer_sequence<int, level...>) {
  (up<(1 << level)>(s, t), ...);
  (down<(section_size / 4 >> level)>(s, t), ...);
}

template <Kind kind>
__global__ void folded(const Element* d_x, Element* d_y, int n) {
  __shared__ Shared s;
  const int t = threadIdx.x, first = blockIdx.x * section_size;
  for (int p = t; p < section_size; p += blockDim.x) {
    s[p] = p >= shift<kind> && first + p < n ? d_x[first + p - shift<kind>] : identity();
  }
  __syncthreads();
  both(s, t, std::make_integer_sequence<int, 9>());
  up<512>(s, t);
  for (int p = t; p < section_size && first + p < n; p += blockDim.x) d_y[first + p] = s[p];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  folded<kind><<<(n - 1) / section_size + 1, section_size / 2>>>(d_x, d_y, n);
}
