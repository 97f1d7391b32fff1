// lop3 with each of its 256 tables, alone and combined with a predicate; set and setp of half numbers and pairs
// combined with predicates; fns, bmsk, szext, funnel shifts and byte permutations by all counts: against the host.
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "arrays.hpp"

constexpr int n = 64;

template <int table>
__device__ void one_table(uint32_t a, uint32_t b, uint32_t c, bool q, uint32_t* to) {
  uint32_t d, either, both;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(table));
  asm("{.reg .pred p, q; .reg .b32 d;\n\t"
      "setp.ne.u32 q, %5, 0;\n\t"
      "lop3.or.b32 d|p, %2, %3, %4, %6, q;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t"
      "lop3.and.b32 d|p, %2, %3, %4, %6, q;\n\t"
      "selp.u32 %1, 1, 0, p;}"
      : "=r"(either), "=r"(both)
      : "r"(a), "r"(b), "r"(c), "r"(uint32_t(q)), "n"(table));
  to[3 * table] = d;
  to[3 * table + 1] = either;
  to[3 * table + 2] = both;
}
template <int... tables>
__device__ void all_tables(uint32_t a, uint32_t b, uint32_t c, bool q, uint32_t* to,
                           std::integer_sequence<int, tables...>) {
  (one_table<tables>(a, b, c, q, to), ...);
}
__global__ void logic(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x;
  all_tables(in[i], in[(i + 7) % n], in[(i + 13) % n], i % 3 == 0, out + 768 * i,
             std::make_integer_sequence<int, 256>());
}

uint32_t by_table(uint32_t a, uint32_t b, uint32_t c, int table) {
  uint32_t d = 0;
  for (int k = 0; k < 32; ++k) {
    const int row = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1);
    d |= uint32_t(table >> row & 1) << k;
  }
  return d;
}

constexpr int comparisons = 8;
/// eq, ne, lt, ge, ltu, neu, num, nan of two halves, with and, or, xor of a predicate; of a pair with both
/// destinations.
__global__ void halves(const uint16_t* in, uint32_t* out) {
  const int i = threadIdx.x;
  const uint16_t a = in[i], b = in[(i * 5 + 2) % n];
  const uint32_t pair_a = a | uint32_t(b) << 16, pair_b = b | uint32_t(a) << 16, given = i & 1;
  uint32_t* to = out + 5 * comparisons * i;
#define COMPARE(NAME)                                                                  \
  {                                                                                    \
    uint32_t with_and, with_or, with_xor, pair;                                        \
    uint16_t number;                                                                   \
    asm("{.reg .pred c, p, q; .reg .b32 x, y;\n\t"                                     \
        "setp.ne.u32 c, %9, 0;\n\t"                                                    \
        "setp." NAME                                                                   \
        ".and.f16 p, %5, %6, c;\n\t"                                                   \
        "selp.u32 %0, 1, 0, p;\n\t"                                                    \
        "set." NAME                                                                    \
        ".or.u32.f16 %1, %5, %6, !c;\n\t"                                              \
        "set." NAME                                                                    \
        ".xor.f16.f16 %4, %5, %6, c;\n\t"                                              \
        "set." NAME                                                                    \
        ".xor.s32.f16 %2, %5, %6, c;\n\t"                                              \
        "setp." NAME                                                                   \
        ".or.f16x2 p|q, %7, %8, !c;\n\t"                                               \
        "selp.u32 x, 1, 0, p;\n\t"                                                     \
        "selp.u32 y, 2, 0, q;\n\t"                                                     \
        "or.b32 %3, x, y;}"                                                            \
        : "=r"(with_and), "=r"(with_or), "=r"(with_xor), "=r"(pair), "=h"(number)      \
        : "h"(a), "h"(b), "r"(pair_a), "r"(pair_b), "r"(given));                       \
    to[0] = with_and, to[1] = with_or, to[2] = with_xor, to[3] = pair, to[4] = number; \
    to += 5;                                                                           \
  }
  COMPARE("eq")
  COMPARE("ne")
  COMPARE("lt")
  COMPARE("ge")
  COMPARE("ltu")
  COMPARE("neu")
  COMPARE("num")
  COMPARE("nan")
}

bool compares(int which, uint16_t x, uint16_t y) {
  const auto value = [](uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                             : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                            : std::ldexp(fraction, -24);
    return h & 0x8000 ? -magnitude : magnitude;
  };
  const double a = value(x), b = value(y);
  const bool unordered = std::isnan(a) || std::isnan(b);
  const bool by_number[comparisons] = {a == b, !unordered && a != b, a < b,    a >= b, unordered || a < b,
                                       a != b, !unordered,           unordered};
  return by_number[which];
}

constexpr int bit_forms = 12;
__global__ void bit_fields(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x;
  const uint32_t a = in[i], b = in[(i + 1) % n], count = i;  // counts up to 63
  uint32_t* to = out + bit_forms * i;
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(to[0]) : "r"(a), "r"(i % 32), "r"(i % 7 - 3));
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(to[1]) : "r"(count % 40), "r"(count / 2));
  asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(to[2]) : "r"(count), "r"(count * 3));
  asm("szext.clamp.u32 %0, %1, %2;" : "=r"(to[3]) : "r"(a), "r"(count));
  asm("szext.wrap.s32 %0, %1, %2;" : "=r"(to[4]) : "r"(a), "r"(count));
  asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(to[5]) : "r"(a), "r"(b), "r"(count));
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(to[6]) : "r"(a), "r"(b), "r"(count));
  asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(to[7]) : "r"(a), "r"(b), "r"(count));
  asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(to[8]) : "r"(a), "r"(b), "r"(count));
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(to[9]) : "r"(a), "r"(b), "r"(b >> 3));
  asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(to[10]) : "r"(a), "r"(b), "r"(count));
  asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(to[11]) : "r"(a), "r"(b), "r"(count));
}

void bit_fields_on_host(const std::vector<uint32_t>& in, int i, uint32_t* to) {
  const uint32_t a = in[i], b = in[(i + 1) % n], count = i;
  const uint64_t both = a | uint64_t(b) << 32;
  // fns: the |k|-th set bit from the base on, upwards or downwards; k = 0 asks for the base's own.
  const int base = i % 32, k = i % 7 - 3;
  to[0] = ~0u;
  if (k == 0) {
    if (a >> base & 1) to[0] = base;
  } else {
    int left = k < 0 ? -k : k;
    for (int at = base; at >= 0 && at < 32; at += k < 0 ? -1 : 1)
      if ((a >> at & 1) && --left == 0) {
        to[0] = at;
        break;
      }
  }
  const auto ones = [](uint64_t from, uint64_t width) {
    uint64_t mask = 0;
    for (uint64_t at = from; at < from + width && at < 32; ++at) mask |= uint64_t{1} << at;
    return uint32_t(mask);
  };
  to[1] = ones(count % 40, count / 2);
  to[2] = ones(count & 31, count * 3 & 31);
  to[3] = count >= 32 ? a : a & ones(0, count);
  const int width = count & 31;
  to[4] = width == 0 ? 0 : (a & ones(0, width)) | (a >> (width - 1) & 1 ? ~ones(0, width) : 0);
  const int clamped = count < 32 ? count : 32;
  to[5] = uint32_t((both << clamped) >> 32);
  to[6] = uint32_t(both >> (count & 31));
  to[7] = count & 1 ? (a >> 16) * 0x10001 : (a & 0xffff) * 0x10001;
  to[8] = to[9] = 0;
  for (uint32_t at = 0; at < 4; ++at) {
    to[8] |= (a >> 8 * (at > (count & 3) ? at : count & 3) & 255) << 8 * at;
    const uint32_t select = b >> 3 >> 4 * at & 15, byte = uint32_t(both >> 8 * (select & 7)) & 255;
    to[9] |= (select & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * at;
  }
  to[10] = count + int16_t(a) * int(b & 255) + int16_t(a >> 16) * int(b >> 8 & 255);
  to[11] = count + uint32_t(a & 0xffff) * int8_t(b >> 16) + uint32_t(a >> 16) * int8_t(b >> 24);
}

int main() {
  std::vector<uint32_t> in(n);
  uint32_t state = 5;
  for (uint32_t& x : in) x = (state = state * 1664525u + 1013904223u) ^ state >> 15;
  in[3] = in[10] = in[16] = 0;  // threads whose logic gives 0
  in[5] = ~0u;
  const Array d_in(in);
  const Array<uint32_t> d_out(n * 768);
  logic<<<1, n>>>(d_in, d_out);
  std::vector<uint32_t> out = d_out.read();
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int table = 0; table < 256; ++table) {
      const uint32_t d = by_table(in[i], in[(i + 7) % n], in[(i + 13) % n], table), *got = &out[768 * i + 3 * table];
      const bool q = i % 3 == 0;
      wrong += got[0] != d || got[1] != (d != 0 || q) || got[2] != (d != 0 && q);
    }
  std::printf("lop3: %d wrong of %d\n", wrong, n * 256);

  std::vector<uint16_t> numbers(n);
  const uint16_t special[] = {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 1, 0x8001, 0x7bff, 0x0400};
  for (int i = 0; i < n; ++i) numbers[i] = i % 2 ? special[i / 2 % 12] : in[i] >> 7;
  halves<<<1, n>>>(Array(numbers), d_out);
  out = d_out.read(n * 5 * comparisons);
  wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int which = 0; which < comparisons; ++which) {
      const uint16_t a = numbers[i], b = numbers[(i * 5 + 2) % n];
      const bool holds = compares(which, a, b), turned = compares(which, b, a), c = i & 1;
      const uint32_t* got = &out[5 * (comparisons * i + which)];
      wrong += got[0] != uint32_t(holds && c);
      wrong += got[1] != (holds || !c ? ~0u : 0);
      wrong += got[2] != (holds != c ? ~0u : 0);
      wrong += got[3] != (uint32_t(holds || !c) | uint32_t(turned || !c) << 1);
      wrong +=
          (got[4] & 0xffff) != (holds != c ? 0x3c00u : 0);  // a GPU may leave the upper half of a register as it is
    }
  std::printf("comparisons of halves: %d wrong of %d\n", wrong, n * comparisons * 5);

  bit_fields<<<1, n>>>(d_in, d_out);
  out = d_out.read(n * bit_forms);
  for (int form = 0; form < bit_forms; ++form) {
    wrong = 0;
    for (int i = 0; i < n; ++i) {
      uint32_t expected[bit_forms];
      bit_fields_on_host(in, i, expected);
      wrong += out[bit_forms * i + form] != expected[form];
    }
    std::printf("bit form %d: %d wrong\n", form, wrong);
  }
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
