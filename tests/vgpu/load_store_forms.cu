// Loads and stores with every qualifier: caches, evictions, prefetch sizes, orders and scopes, volatile, 128 bits,
// names of variables as addresses; asynchronous copies that skip; isspacep and cvta of every space.
#include <cstdint>
#include <cstdio>

#include "arrays.hpp"

constexpr int n = 64, loads = 22, stores = 14;

__constant__ uint32_t c_table[4] = {11, 22, 33, 44};
__device__ uint32_t d_cell[2] = {7, 8};

__global__ void load_forms(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t s_in[n];
  const int t = threadIdx.x;
  s_in[t] = in[t];
  __syncthreads();
  const uint32_t* from = in + t;
  const uint32_t shared = __cvta_generic_to_shared(s_in + t);
  uint32_t* to = out + loads * t;
  int k = 0;
#define LOAD(FORM) asm volatile("ld" FORM ".u32 %0, [%1];" : "=r"(to[k++]) : "l"(from) : "memory");
#define LOAD_SHARED(FORM) asm volatile("ld" FORM ".u32 %0, [%1];" : "=r"(to[k++]) : "r"(shared) : "memory");
  LOAD(".global.ca")
  LOAD(".global.cg")
  LOAD(".global.cs")
  LOAD(".global.lu")
  LOAD(".global.cv")
  LOAD(".global.nc")
  LOAD(".global.nc.L1::no_allocate")
  LOAD(".global.L1::evict_last")
  LOAD(".global.L2::128B")
  LOAD(".volatile.global")
  LOAD(".volatile")
  LOAD(".weak.global")
  LOAD(".relaxed.cta.global")
  LOAD(".relaxed.gpu")
  LOAD(".relaxed.sys.global")
  LOAD(".acquire.cta")
  LOAD(".acquire.gpu.global")
  LOAD(".acquire.sys.global")
  LOAD(".mmio.relaxed.sys.global")
  LOAD_SHARED(".shared")
  LOAD_SHARED(".volatile.shared")
  LOAD_SHARED(".acquire.cta.shared::cta")
}

__global__ void store_forms(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t s_out[n];
  const int t = threadIdx.x;
  const uint32_t shared = __cvta_generic_to_shared(s_out + t), value = in[t];
  uint32_t* to = out + stores * t;
#define STORE(FORM) asm volatile("st" FORM ".u32 [%0], %1;" ::"l"(to++), "r"(value) : "memory");
  STORE(".global.wb")
  STORE(".global.cg")
  STORE(".global.cs")
  STORE(".global.wt")
  STORE(".global.L1::no_allocate")
  STORE(".volatile.global")
  STORE(".relaxed.cta")
  STORE(".relaxed.gpu.global")
  STORE(".release.cta.global")
  STORE(".release.gpu")
  STORE(".release.sys.global")
  STORE(".mmio.relaxed.sys.global")
  asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(shared), "r"(value) : "memory");
  *to++ = s_out[t];
  asm volatile("st.release.cta.shared::cta.u32 [%0], %1;" ::"r"(shared), "r"(value + 1) : "memory");
  *to++ = s_out[t];
}

/// Vectors, 128 bits at once, narrow values in wide registers.
__global__ void widths(const uint4* in, uint4* out, uint32_t* narrow) {
  const int t = threadIdx.x;
  uint64_t low, high;
  asm volatile("{.reg .b128 q; ld.global.b128 q, [%2]; mov.b128 {%0, %1}, q;}" : "=l"(low), "=l"(high) : "l"(in + t));
  asm volatile("{.reg .b128 q, r; mov.b128 q, {%2, %1}; mov.b128 r, q; st.global.b128 [%0], r;}" ::"l"(out + t),
               "l"(low), "l"(high)
               : "memory");
  uint32_t a, b, c, d;
  asm volatile("ld.global.v4.u8 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in + t));
  uint64_t wide;
  asm volatile("ld.global.s8 %0, [%1];" : "=l"(wide) : "l"(in + t));
  asm volatile("st.global.v2.u16 [%0], {%1, %2};" ::"l"(narrow + 2 * t), "h"(uint16_t(a * 256 + b)),
               "h"(uint16_t(c + d))
               : "memory");
  narrow[2 * t + 1] = uint32_t(wide >> 32) ^ uint32_t(wide);
}

/// A variable's name is its address, in instructions with and without its space.
__global__ void names(uint32_t* out) {
  uint32_t r[6];
  asm volatile(
      "{.shared .align 8 .b8 place[64]; .local .align 4 .b8 own[16]; .reg .u64 p; .reg .u32 q;\n\t"
      "st.shared.u32 [place + 8], %6;\n\t"
      "ld.shared.u32 %0, [place + 8];\n\t"
      "mov.u32 q, place;\n\t"
      "ld.shared.u32 %1, [q + 8];\n\t"
      "cvta.shared.u64 p, place;\n\t"
      "ld.u32 %2, [p + 8];\n\t"
      "st.local.u32 [own + 4], %6;\n\t"
      "mov.u64 p, own;\n\t"
      "ld.local.u32 %3, [p + 4];\n\t"
      "cvta.local.u64 p, p;\n\t"
      "ld.u32 %4, [p + 4];\n\t"
      "cvta.to.local.u64 p, p;\n\t"
      "ld.local.u32 %5, [p + 4];}"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5])
      : "r"(5 + threadIdx.x)
      : "memory");
  for (int k = 0; k < 6; ++k) out[6 * threadIdx.x + k] = r[k];
}

/// Which space each address lies in: global, shared, local, constant.
__global__ void spaces(uint32_t* out) {
  __shared__ uint32_t s_word;
  uint32_t own[2] = {threadIdx.x, 1};
  const void* const addresses[] = {out, &s_word, own, d_cell};
  for (int k = 0; k < 4; ++k) {
    uint32_t global, shared, local;
    asm volatile("{.reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(global) : "l"(addresses[k]));
    asm volatile("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(shared) : "l"(addresses[k]));
    asm volatile("{.reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(local) : "l"(addresses[k]));
    out[k] = global * 100 + shared * 10 + local;
  }
  uint32_t in_constant, value;
  asm volatile("{.reg .pred p; isspacep.const p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(in_constant) : "l"(c_table + 1));
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(&d_cell[1]));
  out[4] = in_constant;
  out[5] = c_table[2] + value;
}

/// cp.async that skips what a predicate says, and that reads less than it writes.
__global__ void skipped_copies(const uint32_t* in, uint32_t* out) {
  __shared__ uint4 s_rows[n];
  const int t = threadIdx.x;
  s_rows[t] = make_uint4(1, 1, 1, 1);
  const uint32_t to = __cvta_generic_to_shared(&s_rows[t]);
  asm volatile("{.reg .pred odd; setp.ne.u32 odd, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, odd;}" ::"r"(to),
               "l"(in + 4 * (t % 8)), "r"(t & 1)
               : "memory");
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
  const uint4 v = s_rows[t];
  out[t] = v.x + 3 * v.y + 5 * v.z + 7 * v.w;
}

int main() {
  std::vector<uint32_t> in(4 * n);
  for (int k = 0; k < 4 * n; ++k) in[k] = k * 2654435761u;
  const Array<uint32_t> d_in(in), d_out(loads * n), d_narrow(2 * n);

  load_forms<<<1, n>>>(d_in, d_out);
  auto out = d_out.read();
  int wrong = 0;
  for (int k = 0; k < loads * n; ++k) wrong += out[k] != in[k / loads];
  std::printf("loads: %d wrong\n", wrong);

  store_forms<<<1, n>>>(d_in, d_out);
  out = d_out.read(stores * n);
  wrong = 0;
  for (int k = 0; k < stores * n; ++k) wrong += out[k] != in[k / stores] + (k % stores == stores - 1);
  std::printf("stores: %d wrong\n", wrong);

  widths<<<1, n>>>(reinterpret_cast<uint4*>(d_in.get()), reinterpret_cast<uint4*>(d_out.get()), d_narrow);
  out = d_out.read(4 * n);
  const auto narrow = d_narrow.read();
  wrong = 0;
  for (int t = 0; t < n; ++t) {
    for (int k = 0; k < 4; ++k) wrong += out[4 * t + k] != in[4 * t + (k + 2) % 4];
    const uint32_t word = in[4 * t];
    const uint32_t a = word & 255, b = word >> 8 & 255, c = word >> 16 & 255, d = word >> 24;
    wrong += narrow[2 * t] != ((a * 256 + b) | (c + d) << 16);
    // A negative byte fills the upper word with ones.
    wrong += narrow[2 * t + 1] != (a & 128 ? ~(a | 0xffffff00) : a);
  }
  std::printf("widths: %d wrong\n", wrong);

  names<<<1, 1>>>(d_out);
  for (const uint32_t x : d_out.read(6)) std::printf("%u ", x);
  spaces<<<1, 1>>>(d_out);
  for (const uint32_t x : d_out.read(6)) std::printf("%u ", x);
  std::printf("\n");

  skipped_copies<<<1, n>>>(d_in, d_out);
  out = d_out.read(n);
  wrong = 0;
  for (int t = 0; t < n; ++t) {
    const uint32_t* v = &in[4 * (t % 8)];
    wrong += out[t] != (t % 2 ? 0 : v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3]);
  }
  std::printf("copies that skip: %d wrong\n", wrong);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
