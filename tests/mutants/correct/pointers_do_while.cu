// expect: pass 01_sequential | restricted pointers that walk to an end, a do-while, launch bounds, a kernel without n

#include "scanlab.cuh"

namespace {

template <Kind kind>
__global__ void __launch_bounds__(1, 1)
    walk(const Element* __restrict__ from, const Element* const end, Element* __restrict__ to) {
  Element sum = *from;
  if constexpr (kind == Kind::exclusive) *to++ = identity();
  do {
    if constexpr (kind == Kind::inclusive) *to++ = sum;
    if (++from == end) break;
    if constexpr (kind == Kind::exclusive) *to++ = sum;
    if (kind == Kind::exclusive && from + 1 == end) break;  // the last element is in no sum
    sum = sum + *from;
  } while (true);
}

template <Kind kind>
auto launch_scan(const Element* d_x, Element* d_y, long long n) -> void {
  if (n > 0) walk<kind><<<dim3{}, dim3{}>>>(d_x, d_x + n, d_y);
}

}  // namespace
