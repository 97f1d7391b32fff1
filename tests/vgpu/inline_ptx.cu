// Inline PTX as it is found in tutorials and libraries.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

__device__ uint32_t lane_id() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
  return id;
}
__device__ int bit_field(unsigned x, int at, int count) {
  unsigned r;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(at), "r"(count));
  return r;
}
__device__ uint64_t multiply_wide(uint32_t a, uint32_t b) {
  uint64_t r;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(r) : "r"(a), "r"(b));
  return r;
}
__device__ uint32_t load_cached_globally(const uint32_t* p) {
  uint32_t r;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  return r;
}
__device__ void store_release(uint32_t* p, uint32_t v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ uint32_t load_acquire(const uint32_t* p) {
  uint32_t r;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  return r;
}

__global__ void use(const uint32_t* in, uint64_t* out, uint32_t* flags) {
  __shared__ uint32_t s[64];
  const uint32_t i = threadIdx.x;
  uint64_t* o = out + i * 12;
  o[0] = lane_id();
  o[1] = bit_field(in[i], 4, 8);
  o[2] = multiply_wide(in[i], in[i]);
  o[3] = load_cached_globally(in + (i + 1) % 64);
  uint32_t lop;
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(lop) : "r"(in[i]), "r"(in[(i + 1) % 64]), "r"(in[(i + 2) % 64]));
  o[4] = lop;  // the majority of each bit
  uint32_t low, high;
  asm("add.cc.u32 %0, %2, %3;\n\t addc.u32 %1, %4, 0;" : "=r"(low), "=r"(high) : "r"(in[i]), "r"(0xf0000000u), "r"(7u));
  o[5] = (uint64_t)high << 32 | low;
  const uint32_t s_at = (uint32_t)__cvta_generic_to_shared(&s[i]);
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(s_at), "r"(i * 3) : "memory");
  asm volatile("bar.sync 1, 64;" ::: "memory");
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1+4];" : "=r"(v) : "r"((uint32_t)__cvta_generic_to_shared(&s[i ^ 1]) - 4));
  o[6] = v;
  uint32_t up;
  int valid;
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "shfl.sync.up.b32 %0|p, %2, 1, 0, 0xffffffff;\n\t"
      "selp.s32 %1, 1, 0, p;\n\t"
      "@!p mov.b32 %0, 1000;\n\t"
      "}"
      : "=r"(up), "=r"(valid)
      : "r"(i));
  o[7] = up * 10 + valid;
  float f;
  asm("fma.rz.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(1.5f), "f"(float(i)), "f"(0.25f));
  o[8] = (uint64_t)(f * 4);
  uint32_t sum;
  asm volatile(
      "{\n\t"
      ".reg .u32 c;\n\t"
      ".reg .pred p;\n\t"
      "mov.u32 c, %1;\n\t"
      "mov.u32 %0, 0;\n"
      "again_%=:\n\t"
      "setp.eq.u32 p, c, 0;\n\t"
      "@p bra done_%=;\n\t"
      "add.u32 %0, %0, c;\n\t"
      "sub.u32 c, c, 1;\n\t"
      "bra again_%=;\n"
      "done_%=:\n\t"
      "}"
      : "=&r"(sum)
      : "r"(i));
  o[9] = sum;
  uint32_t quotient;
  asm("prmt.b32 %0, %1, %2, 0x0123;" : "=r"(quotient) : "r"(in[i]), "r"(0));
  o[10] = quotient;  // the bytes reversed
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(flags), "r"(i) : "memory");
  asm volatile("membar.gl;" ::: "memory");
  if (i == 63) store_release(flags + 1, 17);
  asm volatile("barrier.sync 0;" ::: "memory");
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(flags + 2), "r"(0), "r"(i + 1)
               : "memory");
  o[11] = load_acquire(flags + 1) + (old == 0 ? 1000 : 0);
}

static int wrong;
static void expect(uint64_t got, uint64_t expected, int row, int column) {
  if (got != expected && ++wrong <= 5)
    printf("o[%d] of thread %d: %llx, expected %llx\n", column, row, (unsigned long long)got,
           (unsigned long long)expected);
}

int main() {
  std::vector<uint32_t> in(64);
  for (uint32_t i = 0; i < 64; ++i) in[i] = i * 2654435761u;
  const Array<uint64_t> d_out(64 * 12);
  const Array<uint32_t> flags(3, 0);
  use<<<1, 64>>>(Array(in), d_out, flags);
  const auto out = d_out.read();
  int winners = 0;
  for (int i = 0; i < 64; ++i) {
    const uint64_t* o = &out[i * 12];
    const uint32_t a = in[i], b = in[(i + 1) % 64], c = in[(i + 2) % 64];
    expect(o[0], i % 32, i, 0);
    expect(o[1], a >> 4 & 0xff, i, 1);
    expect(o[2], (uint64_t)a * a, i, 2);
    expect(o[3], b, i, 3);
    expect(o[4], (a & b) | (a & c) | (b & c), i, 4);
    expect(o[5], (7ull << 32) + a + 0xf0000000u, i, 5);
    expect(o[6], (i ^ 1) * 3, i, 6);
    expect(o[7], i % 32 ? (i - 1) * 10 + 1 : 10000, i, 7);
    expect(o[8], (uint64_t)((1.5 * i + 0.25) * 4), i, 8);
    expect(o[9], i * (i + 1) / 2, i, 9);
    expect(o[10], __builtin_bswap32(a), i, 10);
    winners += o[11] >= 1000;
    expect(o[11] % 1000, 17, i, 11);
  }
  printf("%d wrong; sum %u, winners %d, %s\n", wrong, flags.read()[0], winners,
         cudaGetErrorName(cudaDeviceSynchronize()));
}
