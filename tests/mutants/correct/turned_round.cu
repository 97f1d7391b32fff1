// expect: pass 02_kogge_stone | thread 0 has the last element and block 0 the last section; strides run to the left

#include "scanlab.cuh"

template <bool is_exclusive>
__global__ void backwards(const Element* x, Element* y, int n) {
  __shared__ Element s[section_size];
  const int place = section_size - 1 - static_cast<int>(threadIdx.x);
  const long long base = static_cast<long long>(gridDim.x - 1 - blockIdx.x) * section_size, i = base + place;
  s[place] = identity();
  if (!is_exclusive && i < n) s[place] = x[i];
  if (is_exclusive && place > 0 && i < n) s[place] = x[i - 1];
  for (int exponent = 0, stride = -1; exponent < 10; ++exponent, stride += stride) {
    __syncthreads();
    const int other = place + stride;
    const Element sum = other < 0 ? s[place] : s[other] + s[place];
    __syncthreads();
    s[place] = sum;
  }
  if (i < n) y[i] = s[place];
}

template <Kind kind>
void launch_scan(const Element* d_x, Element* d_y, int n) {
  if (n == 0) return;
  backwards<kind == Kind::exclusive><<<n / section_size + (n % section_size != 0), section_size>>>(d_x, d_y, n);
}
