// Arithmetic wider than a register: __int128, 256-bit sums and differences through the carry flag in inline PTX,
// products by mad with carry, powers modulo a 61-bit prime, and a factorial whose limbs are spread over a warp.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "arrays.hpp"

using u128 = unsigned __int128;

struct U256 {
  uint64_t w[4];
};

// The carry lives only within one asm statement.
__device__ U256 add(const U256& a, const U256& b, uint32_t& carry) {
  U256 r;
  asm("add.cc.u64 %0, %5, %9;\n\t"
      "addc.cc.u64 %1, %6, %10;\n\t"
      "addc.cc.u64 %2, %7, %11;\n\t"
      "addc.cc.u64 %3, %8, %12;\n\t"
      "addc.u32 %4, 0, 0;"
      : "=l"(r.w[0]), "=l"(r.w[1]), "=l"(r.w[2]), "=l"(r.w[3]), "=r"(carry)
      : "l"(a.w[0]), "l"(a.w[1]), "l"(a.w[2]), "l"(a.w[3]), "l"(b.w[0]), "l"(b.w[1]), "l"(b.w[2]), "l"(b.w[3]));
  return r;
}
__device__ U256 subtract(const U256& a, const U256& b, uint32_t& borrow) {
  U256 r;
  asm("sub.cc.u64 %0, %5, %9;\n\t"
      "subc.cc.u64 %1, %6, %10;\n\t"
      "subc.cc.u64 %2, %7, %11;\n\t"
      "subc.cc.u64 %3, %8, %12;\n\t"
      "subc.u32 %4, 0, 0;"
      : "=l"(r.w[0]), "=l"(r.w[1]), "=l"(r.w[2]), "=l"(r.w[3]), "=r"(borrow)
      : "l"(a.w[0]), "l"(a.w[1]), "l"(a.w[2]), "l"(a.w[3]), "l"(b.w[0]), "l"(b.w[1]), "l"(b.w[2]), "l"(b.w[3]));
  return r;
}
// 64 x 64 -> 128 bits by 32-bit multiply-adds with carry.
__device__ void multiply(uint64_t a, uint64_t b, uint32_t* r) {
  asm("{\n\t"
      "mul.lo.u32 %0, %4, %6;\n\t"
      "mul.hi.u32 %1, %4, %6;\n\t"
      "mad.lo.cc.u32 %1, %4, %7, %1;\n\t"
      "madc.hi.u32 %2, %4, %7, 0;\n\t"
      "mad.lo.cc.u32 %1, %5, %6, %1;\n\t"
      "madc.hi.cc.u32 %2, %5, %6, %2;\n\t"
      "madc.hi.u32 %3, %5, %7, 0;\n\t"
      "mad.lo.cc.u32 %2, %5, %7, %2;\n\t"
      "addc.u32 %3, %3, 0;\n\t"
      "}"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3])
      : "r"((uint32_t)a), "r"((uint32_t)(a >> 32)), "r"((uint32_t)b), "r"((uint32_t)(b >> 32)));
}

__host__ __device__ uint64_t mul_mod(uint64_t a, uint64_t b) {  // modulo 2^61 - 1
  const u128 p = (u128)a * b;
  const uint64_t m = (1ull << 61) - 1, s = ((uint64_t)p & m) + (uint64_t)(p >> 61);
  return s >= m ? s - m : s;
}
__host__ __device__ uint64_t pow_mod(uint64_t base, uint64_t e) {
  uint64_t r = 1;
  for (; e; e >>= 1, base = mul_mod(base, base))
    if (e & 1) r = mul_mod(r, base);
  return r;
}

struct Results {
  U256 sum, difference;
  uint32_t carry, borrow, product[4];
  u128 quotient, remainder, shifted;
  __int128 negative;
  uint64_t power;
};

__host__ __device__ uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}
__host__ __device__ U256 value(int i) {
  U256 v;
  // Many words of ones and zeros, so that carries travel far.
  for (int k = 0; k < 4; ++k) v.w[k] = mix(i * 4 + k) % 3 == 0 ? ~0ull : mix(i * 4 + k) % 3 == 1 ? 0 : mix(i * 4 + k);
  return v;
}

__global__ void kernel(Results* out) {
  const int i = threadIdx.x;
  Results& r = out[i];
  const U256 a = value(i), b = value(i + 1000);
  r.sum = add(a, b, r.carry);
  r.difference = subtract(a, b, r.borrow);
  multiply(mix(i), a.w[0] | 1, r.product);
  const u128 x = (u128)mix(i) << 64 | mix(i + 1), y = ((u128)mix(i + 2) << (i % 64) >> 30) | 1;
  r.quotient = x / y;
  r.remainder = x % y;
  r.shifted = x >> (i % 128) ^ x << (127 - i % 128);
  r.negative = -(__int128)(x >> 1) / (long long)(i + 1);
  r.power = pow_mod(i + 2, mix(i));
}

// Each lane holds one limb of nine decimal digits; carries go up lane by lane until there are none.
__global__ void factorial(int n, uint32_t* limbs) {
  const unsigned lane = threadIdx.x;
  uint64_t limb = lane == 0;
  for (int k = 2; k <= n; ++k) {
    limb *= k;
    while (__any_sync(0xffffffff, limb >= 1000000000)) {
      const uint64_t carry = __shfl_up_sync(0xffffffff, limb / 1000000000, 1);
      limb = limb % 1000000000 + (lane ? carry : 0);
    }
  }
  limbs[lane] = limb;
}

int main() {
  const int n = 200;
  const Array<Results> d(n);
  kernel<<<1, n>>>(d);
  const auto h = d.read();
  int wrong[5] = {}, carries = 0, borrows = 0;
  for (int i = 0; i < n; ++i) {
    const U256 a = value(i), b = value(i + 1000);
    uint64_t carry = 0, borrow = 0;
    for (int k = 0; k < 4; ++k) {
      const u128 s = (u128)a.w[k] + b.w[k] + carry, t = (u128)a.w[k] - b.w[k] - borrow;
      wrong[0] += h[i].sum.w[k] != (uint64_t)s || h[i].difference.w[k] != (uint64_t)t;
      carry = s >> 64;
      borrow = (t >> 64) != 0;
    }
    wrong[0] += h[i].carry != carry || h[i].borrow != (borrow ? ~0u : 0);
    carries += carry, borrows += borrow;
    const u128 p = (u128)mix(i) * (a.w[0] | 1);
    for (int k = 0; k < 4; ++k) wrong[1] += h[i].product[k] != (uint32_t)(p >> 32 * k);
    const u128 x = (u128)mix(i) << 64 | mix(i + 1), y = ((u128)mix(i + 2) << (i % 64) >> 30) | 1;
    wrong[2] += h[i].quotient != x / y || h[i].remainder != x % y;
    wrong[3] += h[i].shifted != (x >> (i % 128) ^ x << (127 - i % 128)) ||
                h[i].negative != -(__int128)(x >> 1) / (long long)(i + 1);
    wrong[4] += h[i].power != pow_mod(i + 2, mix(i));
  }
  printf("sums %d, products %d, quotients %d, shifts %d, powers %d wrong; carries %s\n", wrong[0], wrong[1], wrong[2],
         wrong[3], wrong[4], carries > 20 && borrows > 20 ? "seen" : "rare");
  const Array<uint32_t> d_limbs(32);
  for (int k : {1, 25, 100}) {
    factorial<<<1, 32>>>(k, d_limbs);
    const auto limbs = d_limbs.read();
    std::string text;
    char digits[16];
    for (int l = 31; l >= 0; --l) snprintf(digits, sizeof digits, "%09u", limbs[l]), text += digits;
    printf("%d! = %s\n", k, text.c_str() + std::min(text.find_first_not_of('0'), text.size() - 1));
  }
  return cudaDeviceSynchronize();
}
