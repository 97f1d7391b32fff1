// expect: pass 02_kogge_stone | assertions in the kernel, variables named in Vietnamese, comments in several scripts, C
// macros

#include <cassert>

#include "scanlab.cuh"

#define LUONG threadIdx.x     // luồng
#define DOI() __syncthreads() /* đợi 等待 */

template <Kind kind>
__global__ void quet(const Element* vào, Element* ra, int n) {
  __shared__ Element tổng[section_size];
  const unsigned chỗ = blockIdx.x * section_size + LUONG;
  assert(blockDim.x == section_size);
  tổng[LUONG] = LUONG >= (unsigned)shift<kind> && chỗ < (unsigned)n ? vào[chỗ - shift<kind>] : identity();
  unsigned bước = 1;
  while (bước < section_size) {
    DOI();
    const Element trái = LUONG >= bước ? tổng[LUONG - bước] : identity();
    const bool có = LUONG >= bước;
    DOI();
    if (có) tổng[LUONG] = trái + tổng[LUONG];
    assert(bước < section_size);
    bước += bước;
  }
  if (chỗ < (unsigned)n) ra[chỗ] = tổng[LUONG];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n > 0) quet<kind><<<(n + section_size - 1) / section_size, section_size>>>(d_x, d_y, n);
}
