// Bit functions, byte permutations, funnel shifts, dot products, SIMD in a word, intrinsics of integers.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

constexpr int n = 64, columns = 22;

__global__ void bits(const uint32_t* x, uint32_t* out) {
  const int i = threadIdx.x;
  const uint32_t a = x[i], b = x[(i + 1) % n];
  uint32_t* o = out + i * columns;
  o[0] = __clz(a);
  o[1] = __ffs(a);
  o[2] = __popc(a);
  o[3] = __brev(a);
  o[4] = __byte_perm(a, b, 0x5410);
  o[5] = __byte_perm(a, b, b & 0x7777);
  o[6] = __funnelshift_l(a, b, i);
  o[7] = __funnelshift_r(a, b, i);
  o[8] = __funnelshift_lc(a, b, 40);
  o[9] = __dp4a((int)a, (int)b, 100);
  o[10] = __dp4a(a, b, 100u);
  o[11] = __vadd4(a, b);
  o[12] = __vmaxu4(a, b);
  o[13] = __vabsdiffu4(a, b);
  o[14] = __clzll(((uint64_t)a << 32 | b) >> i);
  o[15] = __ffsll((uint64_t)a << 32) + 100 * __popcll((uint64_t)a << 32 | b);
  o[16] = __brevll((uint64_t)a << 32 | b) >> 16;
  o[17] = __mulhi((int)a, (int)b);
  o[18] = __hadd((int)a, (int)b);
  o[19] = __usad(a, b, 1u);
  o[20] = (a >> 5 & 0x1ff) | (a & ~b) ^ (b | a >> 3);
  o[21] = __rhadd((int)a, (int)b) + max((int)a, (int)b) - min(a, b) + abs((int)b);
}

static uint32_t byte(uint64_t v, int k) {
  return v >> 8 * k & 255;
}
static uint32_t permute(uint32_t a, uint32_t b, uint32_t s) {
  const uint64_t both = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (int k = 0; k < 4; ++k) r |= byte(both, s >> 4 * k & 7) << 8 * k;
  return r;
}
static uint32_t reverse(uint32_t a) {
  uint32_t r = 0;
  for (int k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
  return r;
}

static void reference(uint32_t a, uint32_t b, int i, uint32_t* o) {
  const uint64_t both = (uint64_t)b << 32 | a, turned = (uint64_t)a << 32 | b;
  o[0] = a ? __builtin_clz(a) : 32;
  o[1] = __builtin_ffs(a);
  o[2] = __builtin_popcount(a);
  o[3] = reverse(a);
  o[4] = (a & 0xffff) | b << 16;
  o[5] = permute(a, b, b & 0x7777);
  o[6] = both << i % 32 >> 32;
  o[7] = both >> i % 32;
  o[8] = a;
  int dot = 100;
  uint32_t udot = 100, add = 0, most = 0, difference = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t p = byte(a, k), q = byte(b, k);
    dot += (int)(int8_t)p * (int8_t)q;
    udot += p * q;
    add |= (p + q & 255) << 8 * k;
    most |= (p > q ? p : q) << 8 * k;
    difference |= (p > q ? p - q : q - p) << 8 * k;
  }
  o[9] = dot, o[10] = udot, o[11] = add, o[12] = most, o[13] = difference;
  const uint64_t shifted = turned >> i;
  o[14] = shifted ? __builtin_clzll(shifted) : 64;
  o[15] = __builtin_ffsll((uint64_t)a << 32) + 100 * __builtin_popcountll(turned);
  o[16] = ((uint64_t)reverse(b) << 32 | reverse(a)) >> 16;
  o[17] = (int64_t)(int)a * (int)b >> 32;
  o[18] = ((int64_t)(int)a + (int)b) >> 1;
  o[19] = 1 + (a > b ? a - b : b - a);
  o[20] = (a >> 5 & 0x1ff) | ((a & ~b) ^ (b | a >> 3));
  const int ia = (int)a, ib = (int)b;
  o[21] =
      (uint32_t)(((int64_t)ia + ib + 1) >> 1) + (uint32_t)(ia > ib ? ia : ib) - (a < b ? a : b) + (ib < 0 ? 0u - b : b);
}

int main() {
  uint32_t x[n];
  x[0] = 0, x[1] = 1, x[2] = 0xffffffff, x[3] = 0x80000000;
  for (int i = 4; i < n; ++i) x[i] = (i * 2654435761u ^ i << 20) >> i % 9;
  const Array<uint32_t> d_out(n * columns);
  bits<<<1, n>>>(Array(x), d_out);
  const auto out = d_out.read();
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    uint32_t expected[columns];
    reference(x[i], x[(i + 1) % n], i, expected);
    for (int c = 0; c < columns; ++c)
      if (out[i * columns + c] != expected[c]) {
        if (++wrong <= 10)
          printf("column %d of %08x: %08x, expected %08x\n", c, x[i], out[i * columns + c], expected[c]);
      }
  }
  printf("%d wrong of %d\n", wrong, n * columns);
  printf("clz(1) = %u, ffs(0) = %u, popc(-1) = %u\n", out[columns], out[1], out[2 * columns + 2]);
  return 0;
}
