// What the fuzzer damages: small kernels with a little of everything that PTX has.
#include <cuda_fp16.h>

#include <cassert>
#include <cstdio>

struct Pair {
  short a;
  double b;
};

__constant__ int c_table[16] = {1, 2, 3, 5, 8, 13};
__constant__ Pair c_pair = {-3, 2.5};
__device__ int d_counts[32];
__device__ const char* d_text = "text";
__device__ int* d_pointers[2] = {d_counts, d_counts + 4};
__managed__ long long m_total;

__device__ __noinline__ int add(int a, int b) {
  return a + b;
}
__device__ __noinline__ int multiply(int a, int b) {
  return a * b;
}
__device__ int (*d_operations[2])(int, int) = {add, multiply};

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ Pair swapped(Pair p, float f) {
  return {(short)p.b, p.a + f};
}

__global__ void arithmetic(int* i, float* f, double* d, unsigned n) {
  const unsigned t = threadIdx.x + blockIdx.x * blockDim.x;
  if (t >= n) return;
  i[t] = i[t] / (int)(t + 1) + i[t] % 7 + __clz(i[t]) + __popc(i[t]) + __funnelshift_l(i[t], t, t) + (i[t] >> (t & 31));
  f[t] = __fsqrt_rz(f[t]) + fminf(f[t], 2.0f) * __int2float_rd(i[t]) + expf(f[t]) / (f[t] + 1.0f);
  d[t] = fma(d[t], 0.5, (double)f[t]) + rint(d[t]);
  const __half2 h = __hfma2(__float2half2_rn(f[t]), __float2half2_rn(0.5f), __half2half2(__int2half_rn(i[t])));
  i[t] ^= __byte_perm(i[t], *(const int*)&h, 0x5140) + __dp4a(i[t], 0x01020304, 5) + __vabsdiffu4(i[t], t);
}

__global__ void scan(const float* x, float* y, int n) {
  __shared__ float s_xy[64];
  const int t = threadIdx.x;
  s_xy[t % 64] = t < n ? x[t] : 0;
  for (int stride = 1; stride < 64; stride *= 2) {
    __syncthreads();
    const float before = t >= stride && t < 64 ? s_xy[t - stride] : 0;
    __syncthreads();
    s_xy[t % 64] += before;
  }
  if (t < n) y[t] = s_xy[t % 64];
}

__global__ void branches(int* out, int n, Pair p) {
  int local[8];
  for (int k = 0; k < 8; ++k) local[k] = k * n;
  int x = out[threadIdx.x];
  for (int k = 0; k < (n & 15); ++k) {
    switch ((x + k) % 9) {
      case 0:
        x += local[k & 7];
        break;
      case 1:
        x *= 3;
        continue;
      case 2:
      case 3:
        local[x & 7] = x;
        break;
      case 5:
        x ^= c_table[k];
        break;
      case 6:
        x = d_operations[k & 1](x, k);
        break;
      case 7:
        x -= fibonacci(k & 3);
        break;
      default:
        if (x > 100) return;
        ++x;
    }
  }
  const Pair q = swapped(p, (float)x);
  out[threadIdx.x] = x + q.a + (int)q.b + d_text[1];
}

__global__ void warps(unsigned* out, int n) {
  const unsigned t = threadIdx.x, full = __activemask();
  unsigned v = __shfl_up_sync(full, t, 1) + __shfl_xor_sync(full, t, 2, 8) + __ballot_sync(full, t & 1);
  v += __reduce_add_sync(full, t) + __match_any_sync(full, t & 3) + __any_sync(full, n > 3);
  if (t & 1) v += __shfl_sync(__activemask(), v, 1);
  __syncwarp(full);
  out[t] = v + __syncthreads_count(t < 5);
}

__global__ void atomics(int* counts, unsigned long long* wide, float* f, double* d) {
  extern __shared__ int s_dynamic[];
  if (threadIdx.x < 8) s_dynamic[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s_dynamic[threadIdx.x & 7], 1);
  atomicMax(&counts[threadIdx.x & 3], (int)threadIdx.x);
  atomicCAS(&wide[1], 3ull, 4ull);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  atomicExch(&d_counts[threadIdx.x & 31], 5);
  atomicAdd((unsigned long long*)&m_total, 1ull);
  __threadfence();
  __syncthreads();
  counts[4 + (threadIdx.x & 7)] = s_dynamic[threadIdx.x & 7] + *d_pointers[1];
}

__global__ void vectors(const float4* x, float4* y, const short2* s, volatile char* c) {
  const unsigned t = threadIdx.x;
  float4 v = __ldg(&x[t]);
  v.x += s[t].y;
  v.y *= c[t];
  y[t] = v;
  c[t] = (char)v.z;
  asm volatile("st.global.cg.v2.b32 [%0], {%1, %2};" ::"l"(y + t), "r"(t), "r"(7));
}

__global__ void speaks(int n, const char* text) {
  printf("%d %s %f %5.2e %c %%\n", n, d_text, 1.5, 2.0 * n, 'x');
  assert(n < 1000000);
  if (n == 12345) __trap();
  long long start = clock64();
  __nanosleep(20);
  if (clock64() < start) printf("%p", text);
}

__global__ void async_copy(const int* in, int* out) {
  __shared__ alignas(16) int s_buffer[128];
  const unsigned at = (unsigned)__cvta_generic_to_shared(&s_buffer[threadIdx.x % 32 * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(in + threadIdx.x % 32 * 4));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  out[threadIdx.x] = s_buffer[threadIdx.x % 128];
}

__global__ void inline_ptx(int* out, int n) {
  int r, x;
  asm("{ .reg .pred p, q; setp.lt.and.s32 p|q, %1, 5, p; selp.b32 %0, 1, %1, p; @!q add.s32 %0, %0, 2; }"
      : "=r"(r)
      : "r"(n));
  asm("{ .reg .b32 t; mad.lo.cc.u32 t, %1, %2, %1; madc.hi.u32 %0, t, 3, 4; lop3.b32 %0, %0, t, 7, 0x96; }"
      : "=r"(x)
      : "r"(n), "r"(r));
  int* p = new int(n);
  out[threadIdx.x] = r + x + (p ? *p : 0);
  delete p;
}
