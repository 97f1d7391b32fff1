// Atomic additions of half, half2, bfloat16 and bfloat162, in global and shared memory, and compare-and-swap of 16
// bits. Sums that are exact in any order are compared with integers; roundings with integer arithmetic on the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

constexpr int threads = 96, blocks = 3, bins = 7;

template <class T>
__device__ T number(int x);
template <>
__device__ __half number<__half>(int x) {
  return __int2half_rn(x);
}
template <>
__device__ __nv_bfloat16 number<__nv_bfloat16>(int x) {
  return __int2bfloat16_rn(x);
}
template <>
__device__ __half2 number<__half2>(int x) {
  return __halves2half2(__int2half_rn(x), __int2half_rn(-2 * x));
}
template <>
__device__ __nv_bfloat162 number<__nv_bfloat162>(int x) {
  return __halves2bfloat162(__int2bfloat16_rn(x), __int2bfloat16_rn(-2 * x));
}

/// Adds 0, 1 or 2 a thread to a bin in shared memory, and each block's bins to the global ones.
template <class T>
__global__ void histogram(T* out) {
  __shared__ T s_bin[bins];
  if (threadIdx.x < bins) s_bin[threadIdx.x] = number<T>(0);
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&s_bin[i % bins], number<T>(i % 3));
  __syncthreads();
  if (threadIdx.x < bins) atomicAdd(&out[threadIdx.x], s_bin[threadIdx.x]);
}

/// One thread: the old values, and what is there at the end.
template <class T>
__global__ void one_by_one(T* cell, const T* add, int n, T* old) {
  for (int k = 0; k < n; ++k) old[k] = atomicAdd(cell, add[k]);
}

__global__ void sixteen_bit_locks(unsigned short* word, int* order_free_sum) {
  for (bool done = false; !done;) {
    unsigned short seen = *(volatile unsigned short*)word;
    done = atomicCAS(word, seen, (unsigned short)(seen + 3)) == seen;
  }
  atomicAdd(order_free_sum, 1);
}

/// A 16-bit number as an integer times 2^-unit, exactly; its exponent field has `exponent_bits`.
int64_t scaled(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  int64_t fraction = bits & ((1 << fraction_bits) - 1);
  if (exponent) fraction += 1 << fraction_bits;
  const int64_t magnitude = fraction << (exponent ? exponent - 1 : 0);
  return bits & 0x8000 ? -magnitude : magnitude;
}
/// The nearest number, ties to even; the sums of this test stay finite.
uint16_t nearest(int64_t value, int exponent_bits, uint16_t sign_of_zero) {
  const int fraction_bits = 15 - exponent_bits;
  const uint64_t magnitude = value < 0 ? -value : value;
  if (magnitude == 0) return sign_of_zero;
  int shift = 0;
  while (magnitude >> shift >= 2u << fraction_bits) ++shift;
  uint64_t kept = magnitude >> shift;
  const uint64_t rest = magnitude - (kept << shift), half = shift ? uint64_t{1} << (shift - 1) : 0;
  if (shift && (rest > half || (rest == half && kept & 1))) ++kept;
  if (kept == 2u << fraction_bits) kept >>= 1, ++shift;
  const bool normal = kept >> fraction_bits;
  const uint16_t bits = normal ? ((shift + 1) << fraction_bits) | (kept & ((1 << fraction_bits) - 1)) : kept;
  return bits | (value < 0 ? 0x8000 : 0);
}

template <class T>
void sums(const char* what, bool is_pair) {
  const Array<T> counts(bins, 0);
  histogram<T><<<blocks, threads>>>(counts);
  const std::vector<T> out = counts.read();
  int expected[bins] = {}, wrong = 0;
  for (int i = 0; i < blocks * threads; ++i) expected[i % bins] += i % 3;
  for (int k = 0; k < bins; ++k) {
    uint16_t parts[2] = {};
    std::memcpy(parts, &out[k], sizeof(T));
    const int exponent_bits = std::is_same_v<T, __half> || std::is_same_v<T, __half2> ? 5 : 8;
    const auto bits = [&](int x) {
      // x as an integer number: its exponent is that of its highest bit.
      if (x == 0) return 0;
      const int magnitude = x < 0 ? -x : x, fraction_bits = 15 - exponent_bits;
      int top = 0;
      while (magnitude >> top > 1) ++top;
      const int bias = (1 << (exponent_bits - 1)) - 1;
      return (x < 0 ? 0x8000 : 0) | (top + bias) << fraction_bits |
             ((magnitude << fraction_bits >> top) & ((1 << fraction_bits) - 1));
    };
    wrong += parts[0] != bits(expected[k]);
    if (is_pair) wrong += parts[1] != bits(-2 * expected[k]);
  }
  std::printf("%s: %d wrong of %d bins\n", what, wrong, bins);
}

template <class T>
void roundings(const char* what, int exponent_bits, const std::vector<uint16_t>& add) {
  const Array<uint16_t> d_cell(1, 0), d_add(add), d_old(add.size());
  const auto number = [](const Array<uint16_t>& a) { return reinterpret_cast<T*>(a.get()); };
  one_by_one<T><<<1, 1>>>(number(d_cell), number(d_add), add.size(), number(d_old));
  const auto old = d_old.read();
  const uint16_t cell = d_cell.read()[0];
  uint16_t expected = 0;
  int wrong = 0;
  for (size_t k = 0; k < add.size(); ++k) {
    wrong += old[k] != expected;
    const uint16_t zero = expected & add[k] & 0x8000;  // -0 only from -0 and -0
    expected = nearest(scaled(expected, exponent_bits) + scaled(add[k], exponent_bits), exponent_bits, zero);
  }
  wrong += cell != expected;
  std::printf("%s, rounded: %d wrong of %zu\n", what, wrong, add.size() + 1);
}

int main() {
  sums<__half>("half", false);
  sums<__half2>("half2", true);
  sums<__nv_bfloat16>("bfloat16", false);
  sums<__nv_bfloat162>("bfloat162", true);

  std::vector<uint16_t> add;
  uint32_t state = 12345;
  for (int k = 0; k < 400; ++k) {
    state = state * 1664525u + 1013904223u;
    // Exponents up to 20 in half and of a small range in bfloat16, so that nothing overflows; subnormal ones too.
    const uint16_t exponent = state >> 24 & 15;
    add.push_back((state >> 8 & 0x8000) | exponent << 10 | (state >> 9 & 0x3ff));
  }
  roundings<__half>("half", 5, add);
  for (uint16_t& x : add) x = (x & 0x8000) | (x >> 10 & 15) << 7 | (x & 0x7f);
  roundings<__nv_bfloat16>("bfloat16", 8, add);

  const Array<unsigned short> d_words(4, 0);
  const Array<int> sum(1, 0);
  sixteen_bit_locks<<<2, 64>>>(d_words + 1, sum);
  const auto words = d_words.read();
  std::printf("16 bits: %d %d %d %d, %d threads\n", words[0], words[1], words[2], words[3], sum.read()[0]);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
