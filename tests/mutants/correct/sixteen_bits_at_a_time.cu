// expect: pass 04_brent_kung | sizes of unsigned char and short, reference variables, a loop over levels by shifts

#include "scanlab.cuh"

typedef unsigned short u16;
typedef unsigned char u8;

template <Kind kind>
__global__ void small_types(const Element* d_x, Element* d_y, const int n) {
  __shared__ Element s_x[section_size];
  const u16 t = u16(threadIdx.x);
  const unsigned base = blockIdx.x * section_size;
  auto load = [&](u16 p) -> Element {
    const int i = int(base + p);
    return (p >= shift<kind> && i < n) ? d_x[i - shift<kind>] : identity();
  };
  s_x[t] = load(t);
  s_x[t + 512] = load(t + 512);
  for (u8 level = 0; level < 10; ++level) {
    __syncthreads();
    const u16 active = u16(512u >> level);
    if (t < active) {
      Element& right = s_x[((t + 1u) << (level + 1)) - 1];
      const Element& left = s_x[((t + 1u) << (level + 1)) - 1 - (1u << level)];
      right = left + right;
    }
  }
  for (u8 level = 9; level-- > 0;) {
    __syncthreads();
    const u16 active = u16((512u >> level) - 1u);
    if (t < active) {
      const Element& left = s_x[((t + 1u) << (level + 1)) - 1];
      Element& right = *(&left - s_x + s_x + (1u << level));
      right = left + right;
    }
  }
  __syncthreads();
  for (u8 half = 0; half < 2; ++half) {
    const unsigned p = t + 512u * half;
    if (base + p < unsigned(n)) d_y[base + p] = s_x[p];
  }
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  dim3 grid = (unsigned(n) + 1023u) >> 10;
  small_types<kind><<<grid, 512>>>(d_x, d_y, n);
}
