// Every atomic function, in global and in shared memory, and what they return.
#include <cfloat>
#include <cmath>
#include <cstdio>

#include "arrays.hpp"

struct Results {
  int add, sub, exch, min, max, cas, andi, ori, xori;
  unsigned inc, dec, umin, umax;
  unsigned long long add64, max64, and64, cas64;
  long long min64s;
  float addf, exchf;
  double addd;
};

__global__ void global_atomics(Results* r) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&r->add, t);
  atomicSub(&r->sub, 2);
  atomicExch(&r->exch, 7);
  atomicMin(&r->min, -t);
  atomicMax(&r->max, t);
  atomicCAS(&r->cas, 0, 5);
  atomicAnd(&r->andi, ~(1 << (t % 4)));
  atomicOr(&r->ori, 1 << (t % 20));
  atomicXor(&r->xori, t);
  atomicInc(&r->inc, 99u);
  atomicDec(&r->dec, 99u);
  atomicMin(&r->umin, 4000000000u - t);
  atomicMax(&r->umax, 3000000000u + t);
  atomicAdd(&r->add64, 1ull << 32);
  atomicMax(&r->max64, (unsigned long long)t << 33);
  atomicAnd(&r->and64, ~(1ull << (t % 64)));
  atomicCAS(&r->cas64, 0ull, 0x123456789abcull);
  atomicMin(&r->min64s, -((long long)t << 34));
  atomicAdd(&r->addf, 0.5f);
  atomicExch(&r->exchf, 2.5f);
  atomicAdd(&r->addd, 0.25);
}

__global__ void shared_histogram(const unsigned char* data, unsigned* histogram, int n) {
  __shared__ unsigned bins[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&histogram[b], bins[b]);
}

__global__ void shared_atomics(float* out) {
  __shared__ float sum;
  __shared__ double sum_d;
  __shared__ unsigned long long total;
  __shared__ int lowest, old_max;
  if (threadIdx.x == 0) sum = 0, sum_d = 0, total = 0, lowest = 1000, old_max = 50;
  __syncthreads();
  atomicAdd(&sum, 1.5f);
  atomicAdd(&sum_d, 0.125);
  atomicAdd(&total, 3ull);
  atomicMin(&lowest, (int)threadIdx.x + 4);
  __syncthreads();
  if (threadIdx.x == 3) {
    const int before = atomicMax(&old_max, 60);
    out[0] = sum, out[1] = (float)sum_d, out[2] = (float)total, out[3] = (float)lowest, out[4] = (float)before;
  }
}

// The return values of the threads are the numbers 0 to n - 1, each once.
__global__ void tickets(unsigned* counter, unsigned* seen) {
  seen[atomicAdd(counter, 1)] += 1;
}

// The usual float maximum, by compare and swap.
__device__ float atomicMaxFloat(float* address, float val) {
  int* address_as_i = (int*)address;
  int old = *address_as_i, assumed;
  do {
    assumed = old;
    old = ::atomicCAS(address_as_i, assumed, __float_as_int(::fmaxf(val, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}

// The programming guide's double addition.
__device__ double atomicAddDouble(double* address, double val) {
  unsigned long long int* address_as_ull = (unsigned long long int*)address;
  unsigned long long int old = *address_as_ull, assumed;
  do {
    assumed = old;
    old = atomicCAS(address_as_ull, assumed, __double_as_longlong(val + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

__global__ void by_cas(const float* x, float* max, double* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicMaxFloat(max, x[i]);
    atomicAddDouble(sum, x[i]);
  }
}

__global__ void scoped(int* out) {
  atomicAdd_block(&out[0], 1);
  atomicAdd_system(&out[1], 2);
  atomicMax_block(&out[2], (int)threadIdx.x);
}

int main() {
  Results start = {};
  start.andi = 0xff, start.and64 = ~0ull, start.umin = 0xffffffffu;
  const Array results({start});
  global_atomics<<<5, 50>>>(results);  // 250 threads
  const Results r = results.read()[0];
  printf("add %d, sub %d, exch %d, min %d, max %d, cas %d\n", r.add, r.sub, r.exch, r.min, r.max, r.cas);
  printf("and %#x, or %#x, xor %d, inc %u, dec %u\n", r.andi, r.ori, r.xori, r.inc, r.dec);
  printf("unsigned: min %u, max %u\n", r.umin, r.umax);
  printf("64 bits: add %llu, max %llu, and %llx, cas %llx, min %lld\n", r.add64, r.max64, r.and64, r.cas64, r.min64s);
  printf("float %.2f %.2f, double %.2f\n", r.addf, r.exchf, r.addd);

  const int n = 20000;
  std::vector<unsigned char> data(n);
  unsigned host[256] = {};
  for (int i = 0; i < n; ++i) ++host[data[i] = (unsigned char)(i * i / 7)];
  const Array<unsigned> bins(256, 0);
  shared_histogram<<<8, 256>>>(Array(data), bins, n);
  printf("histogram: %d bins wrong\n", count_wrong(bins.read(), host));

  const Array<float> shared(5);
  shared_atomics<<<1, 64>>>(shared);
  const auto out = shared.read();
  printf("shared: %g %g %g %g %g\n", out[0], out[1], out[2], out[3], out[4]);

  const Array<unsigned> counter(1, 0), seen(1000, 0);
  tickets<<<10, 100>>>(counter, seen);
  printf("tickets: %d wrong\n", count_wrong(seen.read(), std::vector<unsigned>(1000, 1)));

  std::vector<float> x(1000);
  for (int i = 0; i < 1000; ++i) x[i] = (i * 37 % 1000) * 0.5f;
  const Array max({-FLT_MAX});
  const Array sum({0.0});
  by_cas<<<4, 256>>>(Array(x), max, sum, 1000);
  printf("by compare and swap: max %g, sum %.10g\n", max.read()[0], sum.read()[0]);

  const Array<int> scopes(3, 0);
  scoped<<<1, 70>>>(scopes);
  const auto s = scopes.read();
  printf("scopes: %d %d %d\n", s[0], s[1], s[2]);
}
