// The video instructions as inline PTX: parts of registers, mixed signs, saturation, second operations, merging, masks;
// and the SIMD intrinsics. A plain model on the host, element by element, says what is right.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

constexpr int n = 96, scalars = 14, vectors = 12, intrinsics = 8;

__global__ void scalar_forms(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x;
  const uint32_t a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
  uint32_t* to = out + scalars * i;
#define TWO(K, FORM, OPERANDS) asm(FORM " " OPERANDS ";" : "=r"(to[K]) : "r"(a), "r"(b))
#define THREE(K, FORM, OPERANDS) asm(FORM " " OPERANDS ";" : "=r"(to[K]) : "r"(a), "r"(b), "r"(c))
  TWO(0, "vadd.s32.u32.s32.sat", "%0, %1.b0, %2.h0");
  TWO(1, "vsub.s32.s32.u32.sat", "%0, %1, %2.h1");
  THREE(2, "vabsdiff.s32.s32.s32.add", "%0, %1.h0, %2.b3, %3");
  THREE(3, "vmin.s32.s32.s32.max", "%0, %1.b1, %2.b2, %3");
  THREE(4, "vmax.u32.u32.u32", "%0.b2, %1.b3, %2.b0, %3");
  THREE(5, "vadd.u32.u32.u32.add", "%0, %1.h0, %2.h1, %3");
  TWO(6, "vshl.u32.u32.u32.wrap", "%0, %1, %2");
  THREE(7, "vshr.s32.s32.u32.clamp.add", "%0, %1.h1, %2.b0, %3");
  THREE(8, "vmad.s32.s32.s32", "%0, %1.h0, %2.b1, %3");
  THREE(9, "vmad.u32.u32.u32.po", "%0, %1.b0, %2.b1, %3");
  THREE(10, "vmad.s32.s32.u32.sat.shr15", "%0, %1, %2.h1, %3");
  THREE(11, "vmad.s32.u32.u32", "%0, %1.h0, %2.h0, -%3");
  TWO(12, "vset.s32.u32.lt", "%0, %1.b0, %2.b0");
  THREE(13, "vset.u32.u32.ge.add", "%0, %1.h1, %2.h0, %3");
}

int64_t part(uint32_t x, int at, int bits, bool is_signed) {
  const int64_t field = x >> at & ((int64_t{1} << bits) - 1);
  return is_signed && field >> (bits - 1) ? field - (int64_t{1} << bits) : field;
}
int64_t clamp(int64_t x, int bits, bool is_signed) {
  const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0, high = (int64_t{1} << (bits - is_signed)) - 1;
  return x < low ? low : x > high ? high : x;
}
uint32_t merge(int64_t value, uint32_t c, int at, int bits) {
  const uint32_t mask = ((1u << bits) - 1) << at;
  return (uint32_t(value) << at & mask) | (c & ~mask);
}
int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
int64_t larger(int64_t a, int64_t b) {
  return a < b ? b : a;
}
int64_t distance(int64_t a, int64_t b) {
  return a < b ? b - a : a - b;
}

void scalar_model(uint32_t a, uint32_t b, uint32_t c, uint32_t* to) {
  to[0] = clamp(part(a, 0, 8, false) + part(b, 0, 16, true), 32, true);
  to[1] = clamp(part(a, 0, 32, true) - part(b, 16, 16, false), 32, true);
  to[2] = distance(part(a, 0, 16, true), part(b, 24, 8, true)) + c;
  to[3] = larger(smaller(part(a, 8, 8, true), part(b, 16, 8, true)), int32_t(c));
  to[4] = merge(larger(part(a, 24, 8, false), part(b, 0, 8, false)), c, 16, 8);
  to[5] = part(a, 0, 16, false) + part(b, 16, 16, false) + c;
  to[6] = a << (b & 31);
  const int64_t count = part(b, 0, 8, false);
  to[7] = uint32_t(part(a, 16, 16, true) >> (count > 32 ? 32 : count)) + c;
  to[8] = uint32_t(part(a, 0, 16, true) * part(b, 8, 8, true)) + c;
  to[9] = part(a, 0, 8, false) * part(b, 8, 8, false) + int64_t{c} + 1;
  to[10] = clamp((part(a, 0, 32, true) * part(b, 16, 16, false) + int32_t(c)) >> 15, 32, true);
  to[11] = uint32_t(part(a, 0, 16, false) * part(b, 0, 16, false)) - c;
  to[12] = part(a, 0, 8, true) < part(b, 0, 8, false);
  to[13] = (part(a, 16, 16, false) >= part(b, 0, 16, false)) + c;
}

__global__ void vector_forms(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x;
  const uint32_t a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
  uint32_t* to = out + vectors * i;
  THREE(0, "vadd2.s32.s32.s32.sat", "%0, %1, %2, %3");
  THREE(1, "vsub2.u32.u32.u32", "%0.h1, %1.h20, %2.h13, %3");
  THREE(2, "vavrg2.s32.s32.s32", "%0, %1, %2, %3");
  THREE(3, "vabsdiff2.u32.s32.u32.add", "%0, %1, %2, %3");
  THREE(4, "vmin2.s32.u32.s32", "%0, %1.h01, %2, %3");
  THREE(5, "vset2.s32.s32.gt", "%0, %1, %2, %3");
  THREE(6, "vadd4.u32.u32.u32.sat", "%0, %1, %2, %3");
  THREE(7, "vsub4.s32.u32.s32.sat", "%0.b20, %1.b7531, %2.b0246, %3");
  THREE(8, "vavrg4.u32.u32.u32.add", "%0.b3210, %1, %2, %3");
  THREE(9, "vabsdiff4.u32.u32.u32.add", "%0, %1, %2, %3");
  THREE(10, "vmax4.s32.s32.s32", "%0.b3, %1, %2, %3");
  THREE(11, "vset4.u32.u32.ne.add", "%0, %1, %2, %3");
}

/// The general SIMD form: `a_order` and `b_order` name the elements of b:a, the highest place first.
template <class F>
uint32_t fieldwise(uint32_t a, uint32_t b, uint32_t c, int fields, const char* a_order, const char* b_order,
                   const char* places, bool a_signed, bool b_signed, int saturated, bool adds, F f) {
  const int bits = 32 / fields;
  uint32_t merged = c, sum = c;
  for (int k = 0; k < fields; ++k) {
    bool computed = false;
    for (const char* p = places; *p; ++p) computed |= *p - '0' == k;
    if (!computed) continue;
    const auto element = [&](int which, bool is_signed) {
      return part(which < fields ? a : b, which % fields * bits, bits, is_signed);
    };
    int64_t value =
        f(element(a_order[fields - 1 - k] - '0', a_signed), element(b_order[fields - 1 - k] - '0', b_signed));
    if (saturated) value = clamp(value, bits, saturated == 's');
    merged = merge(value, merged, k * bits, bits);
    sum += uint32_t(value);
  }
  return adds ? sum : merged;
}

void vector_model(uint32_t a, uint32_t b, uint32_t c, uint32_t* to) {
  const auto plus = [](int64_t x, int64_t y) { return x + y; };
  const auto minus = [](int64_t x, int64_t y) { return x - y; };
  // Halves are rounded away from zero.
  const auto mean = [](int64_t x, int64_t y) {
    const int64_t sum = x + y;
    return sum >= 0 ? (sum + 1) / 2 : -((-sum + 1) / 2);
  };
  const auto greater = [](int64_t x, int64_t y) { return int64_t{x > y}; };
  const auto different = [](int64_t x, int64_t y) { return int64_t{x != y}; };
  to[0] = fieldwise(a, b, c, 2, "10", "32", "10", true, true, 's', false, plus);
  to[1] = fieldwise(a, b, c, 2, "20", "13", "1", false, false, 0, false, minus);
  to[2] = fieldwise(a, b, c, 2, "10", "32", "10", true, true, 0, false, mean);
  to[3] = fieldwise(a, b, c, 2, "10", "32", "10", true, false, 0, true, distance);
  to[4] = fieldwise(a, b, c, 2, "01", "32", "10", false, true, 0, false, smaller);
  to[5] = fieldwise(a, b, c, 2, "10", "32", "10", true, true, 0, false, greater);
  to[6] = fieldwise(a, b, c, 4, "3210", "7654", "3210", false, false, 'u', false, plus);
  to[7] = fieldwise(a, b, c, 4, "7531", "0246", "20", false, true, 's', false, minus);
  to[8] = fieldwise(a, b, c, 4, "3210", "7654", "3210", false, false, 0, true, mean);
  to[9] = fieldwise(a, b, c, 4, "3210", "7654", "3210", false, false, 0, true, distance);
  to[10] = fieldwise(a, b, c, 4, "3210", "7654", "3", true, true, 0, false, larger);
  to[11] = fieldwise(a, b, c, 4, "3210", "7654", "3210", false, false, 0, true, different);
}

__global__ void intrinsic_forms(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x;
  const uint32_t a = in[i], b = in[(i + 1) % n];
  uint32_t* to = out + intrinsics * i;
  to[0] = __vadd4(a, b);
  to[1] = __vsubss2(a, b);
  to[2] = __vabsdiffu4(a, b);
  to[3] = __vsadu4(a, b);
  to[4] = __vcmpgts2(a, b);
  to[5] = __vavgu4(a, b);
  to[6] = __vmaxs4(a, b);
  to[7] = __vaddus2(a, b);
}
void intrinsic_model(uint32_t a, uint32_t b, uint32_t, uint32_t* to) {
  for (int k = 0; k < intrinsics; ++k) to[k] = 0;
  for (int at = 0; at < 32; at += 8) {
    const int64_t x = part(a, at, 8, false), y = part(b, at, 8, false);
    to[0] = merge(x + y, to[0], at, 8);
    to[2] = merge(distance(x, y), to[2], at, 8);
    to[3] += distance(x, y);
    to[5] = merge((x + y + 1) / 2, to[5], at, 8);
    to[6] = merge(larger(part(a, at, 8, true), part(b, at, 8, true)), to[6], at, 8);
  }
  for (int at = 0; at < 32; at += 16) {
    const int64_t x = part(a, at, 16, true), y = part(b, at, 16, true);
    to[1] = merge(clamp(x - y, 16, true), to[1], at, 16);
    to[4] = merge(x > y ? 0xffff : 0, to[4], at, 16);
    to[7] = merge(clamp(part(a, at, 16, false) + part(b, at, 16, false), 16, false), to[7], at, 16);
  }
}

template <class Kernel, class Model>
void check(const char* what, const std::vector<uint32_t>& in, int forms, Kernel kernel, Model model) {
  const Array<uint32_t> d_out(n * forms);
  kernel<<<1, n>>>(Array(in), d_out);
  const auto out = d_out.read();
  for (int form = 0; form < forms; ++form) {
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
      uint32_t expected[16];
      model(in[i], in[(i + 1) % n], in[(i + 2) % n], expected);
      wrong += out[forms * i + form] != expected[form];
    }
    std::printf("%s %d: %d wrong\n", what, form, wrong);
  }
}

int main() {
  std::vector<uint32_t> in(n);
  uint32_t state = 7;
  for (int i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    in[i] = i % 4 == 0 ? 0x80ff7f01u * (i / 4 % 3) : state ^ state >> 13;
  }
  check("scalar", in, scalars, scalar_forms, scalar_model);
  check("vector", in, vectors, vector_forms, vector_model);
  check("intrinsic", in, intrinsics, intrinsic_forms, intrinsic_model);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
