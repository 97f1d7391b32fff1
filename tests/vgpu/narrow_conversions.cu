// Conversions to and from tf32, binary16 and bfloat16: every rounding, saturation to the largest number, relu, pairs.
// Each result is compared with one that the host finds by integer arithmetic on the bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

constexpr int forms = 15;

__device__ uint16_t bits(__half h) {
  return __half_as_ushort(h);
}
__device__ uint16_t bits(__nv_bfloat16 h) {
  return __bfloat16_as_ushort(h);
}

__global__ void convert(const float* in, uint32_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  uint32_t* to = out + forms * i;
  to[0] = bits(__float2half_rn(x));
  to[1] = bits(__float2half_rz(x));
  to[2] = bits(__float2half_ru(x));
  to[3] = bits(__float2half_rd(x));
  to[4] = bits(__float2bfloat16_rn(x));
  to[5] = bits(__float2bfloat16_rz(x));
  uint16_t h;
  asm("cvt.rn.relu.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  to[6] = h;
  asm("cvt.rn.satfinite.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  to[7] = h;
  asm("cvt.rz.relu.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  to[8] = h;
  asm("cvt.rn.relu.satfinite.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  to[9] = h;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(to[10]) : "f"(x));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(to[11]) : "f"(x), "f"(-x));
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(to[12]) : "f"(-x), "f"(x));
  // And back, exactly.
  to[13] = __float_as_uint(__half2float(__ushort_as_half(uint16_t(i * 41))));
  to[14] = __float_as_uint(__bfloat162float(__ushort_as_bfloat16(uint16_t(i * 37))));
}

enum class Rounding { nearest, zero, up, down, away };

struct Format {
  int exponent_bits, fraction_bits;
};
constexpr Format binary16 = {5, 10}, bfloat16 = {8, 7}, tf32 = {8, 10};

/// The bits of `x` in another format. `is_nan` is kept apart: a NaN's bits are not all specified.
uint32_t rounded(float x, Format to, Rounding rounding) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  const bool negative = bits >> 31;
  const uint32_t sign = (bits >> 31) << (to.exponent_bits + to.fraction_bits), magnitude = bits & 0x7fffffff;
  const uint32_t infinity = ((1u << to.exponent_bits) - 1) << to.fraction_bits;
  if (magnitude == 0x7f800000) return sign | infinity;
  // x = significand * 2^(exponent - 149), and one unit of the new format is 2^(unit - 149).
  const int exponent = magnitude >> 23 ? int(magnitude >> 23) - 1 : 0;
  const uint64_t significand = (magnitude & 0x7fffff) | (magnitude >> 23 ? 1u << 23 : 0);
  const int bias = (1 << (to.exponent_bits - 1)) - 1, least = 149 - (bias - 1 + to.fraction_bits);
  int unit = exponent + 23 - to.fraction_bits;
  if (unit < least) unit = least;
  const int shift = unit - exponent;
  uint64_t kept = shift > 40 ? 0 : significand >> shift;
  const uint64_t rest = shift > 40 ? significand : significand - (kept << shift);
  const uint64_t middle = shift > 40 ? ~0ull : 1ull << (shift - 1);
  bool more = false;
  if (rounding == Rounding::nearest) more = rest > middle || (rest == middle && (kept & 1));
  if (rounding == Rounding::away) more = rest >= middle;
  if (rounding == Rounding::up) more = rest && !negative;
  if (rounding == Rounding::down) more = rest && negative;
  kept += more;
  if (kept == 2u << to.fraction_bits) kept >>= 1, ++unit;
  const uint32_t field = kept >> to.fraction_bits ? unit - least + 1 : 0;
  if (field >= (1u << to.exponent_bits) - 1) {
    const bool to_infinity = rounding == Rounding::nearest || rounding == Rounding::away ||
                             (rounding == Rounding::up && !negative) || (rounding == Rounding::down && negative);
    return sign | (to_infinity ? infinity : infinity - 1);
  }
  return sign | field << to.fraction_bits | (kept & ((1u << to.fraction_bits) - 1));
}

bool is_nan(uint32_t bits, Format format) {
  const uint32_t magnitude = bits & ((1u << (format.exponent_bits + format.fraction_bits)) - 1);
  return magnitude > ((1u << format.exponent_bits) - 1) << format.fraction_bits;
}

/// A 16-bit number as the bits of a float.
uint32_t widened(uint16_t bits, Format from) {
  const uint32_t sign = uint32_t(bits >> 15) << 31, fraction = bits & ((1u << from.fraction_bits) - 1);
  const uint32_t exponent = bits >> from.fraction_bits & ((1u << from.exponent_bits) - 1);
  if (from.exponent_bits == 8) return uint32_t(bits) << 16;
  if (exponent == 31) return sign | 0x7f800000 | fraction << 13;
  if (exponent) return sign | (exponent + 112) << 23 | fraction << 13;
  if (!fraction) return sign;
  int up = 0;
  while (!(fraction << up & 0x400)) ++up;
  return sign | (113 - up) << 23 | (fraction << up & 0x3ff) << 13;
}

int main() {
  std::vector<float> in;
  const auto add_bits = [&](uint32_t x) {
    float f;
    std::memcpy(&f, &x, 4);
    in.push_back(f);
  };
  // Every exponent with fractions around the ties of each format, both signs; and any bits.
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (const uint32_t fraction : {0u, 1u, 0x1000u, 0x0fffu, 0x1001u, 0x3000u, 0x8000u, 0x7fffu, 0x8001u, 0x18000u,
                                    0x7fffffu, 0x7fe000u, 0x7ff000u, 0x7f8000u})
      for (const uint32_t sign : {0u, 0x80000000u}) add_bits(sign | exponent << 23 | fraction);
  uint32_t state = 1;
  for (int k = 0; k < 2000; ++k) add_bits(state = state * 1664525u + 1013904223u);

  const int n = in.size();
  const Array<uint32_t> d_out(n * forms);
  convert<<<(n + 127) / 128, 128>>>(Array(in), d_out, n);
  const auto out = d_out.read();

  const char* const names[forms] = {"half rn",
                                    "half rz",
                                    "half ru",
                                    "half rd",
                                    "bfloat16 rn",
                                    "bfloat16 rz",
                                    "half relu",
                                    "half satfinite",
                                    "bfloat16 relu",
                                    "bfloat16 relu satfinite",
                                    "tf32 rna",
                                    "half pair",
                                    "bfloat16 relu pair",
                                    "from half",
                                    "from bfloat16"};
  int wrong[forms] = {};
  for (int i = 0; i < n; ++i) {
    const float x = in[i];
    const uint32_t* got = &out[forms * i];
    const bool nan = x != x;
    const auto relu = [](uint32_t bits) { return bits & 0x8000 ? 0 : bits; };
    const auto finite = [](uint32_t bits, Format f) {
      return (bits & 0x7fff) == ((1u << f.exponent_bits) - 1) << f.fraction_bits ? bits - 1 : bits;
    };
    const auto expect = [&](int form, uint32_t bits, uint32_t value, Format format) {
      wrong[form] += nan ? !is_nan(bits, format) : bits != value;
    };
    using R = Rounding;
    expect(0, got[0], rounded(x, binary16, R::nearest), binary16);
    expect(1, got[1], rounded(x, binary16, R::zero), binary16);
    expect(2, got[2], rounded(x, binary16, R::up), binary16);
    expect(3, got[3], rounded(x, binary16, R::down), binary16);
    expect(4, got[4], rounded(x, bfloat16, R::nearest), bfloat16);
    expect(5, got[5], rounded(x, bfloat16, R::zero), bfloat16);
    expect(6, got[6], relu(rounded(x, binary16, R::nearest)), binary16);
    expect(7, got[7], finite(rounded(x, binary16, R::nearest), binary16), binary16);
    expect(8, got[8], relu(rounded(x, bfloat16, R::zero)), bfloat16);
    expect(9, got[9], finite(relu(rounded(x, bfloat16, R::nearest)), bfloat16), bfloat16);
    // tf32 lies in the upper bits of a float; the lower ones are not specified, nor is a NaN that has bits only there.
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    if (!nan || bits & 0x7fe000) expect(10, got[10] >> 13, rounded(x, tf32, R::away), tf32);
    expect(11, got[11] >> 16, rounded(x, binary16, R::nearest), binary16);
    expect(11, got[11] & 0xffff, rounded(-x, binary16, R::nearest), binary16);
    expect(12, got[12] >> 16, relu(rounded(-x, bfloat16, R::nearest)), bfloat16);
    expect(12, got[12] & 0xffff, relu(rounded(x, bfloat16, R::nearest)), bfloat16);
    const uint16_t h = i * 41, b = i * 37;
    wrong[13] += is_nan(h, binary16) ? (got[13] & 0x7fffffff) <= 0x7f800000 : got[13] != widened(h, binary16);
    wrong[14] += is_nan(b, bfloat16) ? (got[14] & 0x7fffffff) <= 0x7f800000 : got[14] != widened(b, bfloat16);
  }
  for (int form = 0; form < forms; ++form) std::printf("%s: %d wrong of %d\n", names[form], wrong[form], n);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
