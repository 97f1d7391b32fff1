// Long arithmetic by inline PTX: carries and borrows through registers of 32 and 64 bits, products with their high
// halves, against the same arithmetic on the host with 128-bit integers.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

constexpr int words = 8, pairs = 256;

/// 256 bits plus and minus 256 bits, the carry out behind them.
__global__ void sums(const uint32_t* a, const uint32_t* b, uint32_t* plus, uint32_t* minus) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t *x = a + words * i, *y = b + words * i;
  uint32_t *p = plus + (words + 1) * i, *m = minus + (words + 1) * i;
  uint32_t r[words], carry;
  asm volatile(
      "add.cc.u32 %0, %9, %17;\n\t"
      "addc.cc.u32 %1, %10, %18;\n\t"
      "addc.cc.u32 %2, %11, %19;\n\t"
      "addc.cc.u32 %3, %12, %20;\n\t"
      "addc.cc.u32 %4, %13, %21;\n\t"
      "addc.cc.u32 %5, %14, %22;\n\t"
      "addc.cc.u32 %6, %15, %23;\n\t"
      "addc.cc.u32 %7, %16, %24;\n\t"
      "addc.u32 %8, 0, 0;"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5]), "=&r"(r[6]), "=&r"(r[7]),
        "=&r"(carry)
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(y[0]), "r"(y[1]),
        "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
  for (int k = 0; k < words; ++k) p[k] = r[k];
  p[words] = carry;
  uint64_t d[words / 2], borrow;
  const auto wide = [](const uint32_t* v, int k) { return v[2 * k] | uint64_t(v[2 * k + 1]) << 32; };
  asm volatile(
      "sub.cc.u64 %0, %5, %9;\n\t"
      "subc.cc.u64 %1, %6, %10;\n\t"
      "subc.cc.u64 %2, %7, %11;\n\t"
      "subc.cc.u64 %3, %8, %12;\n\t"
      "subc.u64 %4, 0, 0;"
      : "=&l"(d[0]), "=&l"(d[1]), "=&l"(d[2]), "=&l"(d[3]), "=&l"(borrow)
      : "l"(wide(x, 0)), "l"(wide(x, 1)), "l"(wide(x, 2)), "l"(wide(x, 3)), "l"(wide(y, 0)), "l"(wide(y, 1)),
        "l"(wide(y, 2)), "l"(wide(y, 3)));
  for (int k = 0; k < words; ++k) m[k] = uint32_t(d[k / 2] >> 32 * (k % 2));
  m[words] = uint32_t(borrow);
}

/// 64 times 64 bits by four products with mad and madc, plus a 128-bit addend.
__global__ void products(const uint32_t* a, const uint32_t* b, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t *x = a + words * i, *y = b + words * i;
  uint32_t r0 = x[4], r1 = x[5], r2 = x[6], r3 = x[7];
  asm volatile(
      "mad.lo.cc.u32 %0, %4, %6, %0;\n\t"
      "madc.hi.cc.u32 %1, %4, %6, %1;\n\t"
      "addc.cc.u32 %2, %2, 0;\n\t"
      "addc.u32 %3, %3, 0;\n\t"
      "mad.lo.cc.u32 %1, %4, %7, %1;\n\t"
      "madc.hi.cc.u32 %2, %4, %7, %2;\n\t"
      "addc.u32 %3, %3, 0;\n\t"
      "mad.lo.cc.u32 %1, %5, %6, %1;\n\t"
      "madc.hi.cc.u32 %2, %5, %6, %2;\n\t"
      "addc.u32 %3, %3, 0;\n\t"
      "mad.lo.cc.u32 %2, %5, %7, %2;\n\t"
      "madc.hi.u32 %3, %5, %7, %3;"
      : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
      : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]));
  uint32_t* to = out + 4 * i;
  to[0] = r0, to[1] = r1, to[2] = r2, to[3] = r3;
}

/// The carry is a thread's own: only lanes whose guard holds change it.
__global__ void own_carry(uint32_t* out) {
  const uint32_t t = threadIdx.x;
  uint32_t result;
  asm volatile(
      "{.reg .pred odd; .reg .u32 low, x;\n\t"
      "and.b32 low, %1, 1;\n\t"
      "setp.eq.u32 odd, low, 1;\n\t"
      "add.cc.u32 x, 0xffffffff, low;\n\t"      // carries in odd threads
      "@!odd add.cc.u32 x, 0xffffffff, 7;\n\t"  // now in even ones, too
      "@!odd sub.cc.u32 x, 4, 5;\n\t"           // and a borrow, for which the flag is 0
      "addc.u32 %0, %1, 100;}"
      : "=r"(result)
      : "r"(t));
  out[t] = result;
}

int main() {
  std::vector<uint32_t> a(words * pairs), b(words * pairs);
  uint64_t state = 99;
  for (int k = 0; k < words * pairs; ++k) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    a[k] = k % 5 == 0 ? 0xffffffffu : uint32_t(state >> 32);
    b[k] = k % 7 == 0 ? 0 : k % 11 == 0 ? ~a[k] : uint32_t(state >> 13);
  }
  const size_t each = (words + 1) * pairs;
  const Array<uint32_t> d_a(a), d_b(b), d_plus(each), d_minus(each), d_product(4 * pairs);
  sums<<<pairs / 64, 64>>>(d_a, d_b, d_plus, d_minus);
  products<<<pairs / 64, 64>>>(d_a, d_b, d_product);
  const auto plus = d_plus.read(), minus = d_minus.read(), product = d_product.read();
  int wrong_plus = 0, wrong_minus = 0, wrong_product = 0;
  for (int i = 0; i < pairs; ++i) {
    uint64_t carry = 0;
    int64_t borrow = 0;
    for (int k = 0; k < words; ++k) {
      const uint64_t sum = uint64_t(a[words * i + k]) + b[words * i + k] + carry;
      wrong_plus += plus[(words + 1) * i + k] != uint32_t(sum);
      carry = sum >> 32;
      const int64_t difference = int64_t(a[words * i + k]) - b[words * i + k] - borrow;
      wrong_minus += minus[(words + 1) * i + k] != uint32_t(difference);
      borrow = difference < 0;
    }
    wrong_plus += plus[(words + 1) * i + words] != carry;
    wrong_minus += minus[(words + 1) * i + words] != uint32_t(-borrow);
    const auto wide = [&](const std::vector<uint32_t>& v, int k) {
      return v[words * i + k] | uint64_t(v[words * i + k + 1]) << 32;
    };
    const unsigned __int128 addend = wide(a, 4) | (unsigned __int128)wide(a, 6) << 64;
    const unsigned __int128 expected = (unsigned __int128)wide(a, 0) * wide(b, 0) + addend;
    for (int k = 0; k < 4; ++k) wrong_product += product[4 * i + k] != uint32_t(expected >> 32 * k);
  }
  std::printf("sums: %d wrong, differences: %d wrong, products: %d wrong of %d\n", wrong_plus, wrong_minus,
              wrong_product, pairs);
  own_carry<<<1, 32>>>(d_product);
  int wrong = 0;
  for (uint32_t t = 0; t < 32; ++t) wrong += d_product.read()[t] != t + 100 + t % 2;
  std::printf("a carry a thread: %d wrong\n", wrong);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
