// Warps with different roles: producers and consumers with bar.sync and bar.arrive on numbered barriers and two
// buffers, groups of warps that each have their own barrier, barriers that reduce, and threads that have left.
#include <cstdio>

#include "arrays.hpp"

__device__ __forceinline__ void bar_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void bar_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Warp 0 loads tiles of 32, the other warps square and add them. Barriers 1, 2: full; 3, 4: empty.
template <int kConsumers>
__global__ void specialised(const int* in, int* out, int tiles) {
  __shared__ int buffer[2][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, all = 32 * (1 + kConsumers);
  if (warp == 0) {
    for (int t = 0; t < tiles; ++t) {
      const int b = t & 1;
      if (t >= 2) bar_sync(3 + b, all);
      buffer[b][lane] = in[t * 32 + lane];
      bar_arrive(1 + b, all);
    }
  } else {
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
      const int b = t & 1;
      bar_sync(1 + b, all);
      const int v = buffer[b][(lane + warp) % 32];
      sum += v * v + warp;
      if (t + 2 < tiles) bar_arrive(3 + b, all);
    }
    out[threadIdx.x - 32] = sum;
  }
}

// Each pair of warps reverses its 64 elements after a barrier of its own, a different number of times.
__global__ void pairs(int* data) {
  __shared__ int s[256];
  const int pair = threadIdx.x / 64, t = threadIdx.x % 64;
  int* mine = s + pair * 64;
  mine[t] = data[threadIdx.x];
  for (int round = 0; round <= pair; ++round) {
    bar_sync(8 + pair, 64);
    const int v = mine[63 - t];
    bar_sync(8 + pair, 64);
    mine[t] = v + 1;
  }
  data[threadIdx.x] = mine[t];
}

// A ring: warp w hands a token to warp w + 1 over barrier w + 1.
__global__ void ring(int* out, int warps) {
  __shared__ int token;
  const int warp = threadIdx.x / 32;
  if (warp == 0 && threadIdx.x == 0) token = 1;
  __syncwarp();
  if (warp > 0) bar_sync(warp, 64);
  int seen = token;
  __syncwarp();
  if (threadIdx.x % 32 == 0) token = seen * 2 + warp;
  __syncwarp();
  if (warp + 1 < warps)
    bar_arrive(warp + 1, 64);
  else if (threadIdx.x % 32 == 0)
    *out = token;
}

// Barriers that reduce a predicate over the threads that use them.
__global__ void reductions(unsigned* out) {
  const unsigned t = threadIdx.x;
  unsigned count = 0, all = 0, any = 0;
  if (t >= 32)  // warps 1 and 2
    asm volatile(
        "{ .reg .pred p, q;\n"
        "  setp.lt.u32 p, %3, 50;\n"
        "  bar.red.popc.u32 %0, 5, 64, p;\n"
        "  bar.red.and.pred q, 5, 64, p;  selp.u32 %1, 1, 0, q;\n"
        "  bar.red.or.pred q, 5, 64, p;  selp.u32 %2, 1, 0, q; }"
        : "=r"(count), "=r"(all), "=r"(any)
        : "r"(t)
        : "memory");
  out[t] = count * 100 + all * 10 + any;
}

// Warps that have returned are not waited for: a tree that half of the warps leave at every level. Whole warps, since
// all threads of a warp have to wait at the same bar.sync.
__global__ void leave(int* data) {
  __shared__ int s[256];
  const int t = threadIdx.x;
  s[t] = data[t];
  if (t >= 128) {
    s[t] += 1;
    __syncthreads();
    return;
  }
  __syncthreads();
  s[t] += s[t + 128];
  if (t >= 64) {
    __syncthreads();
    return;
  }
  __syncthreads();
  s[t] += s[t + 64];
  if (t >= 32) {
    __syncthreads();
    return;
  }
  __syncthreads();
  s[t] += s[t + 32];
  data[t] = s[t];
}

int main() {
  const int tiles = 7;
  int h[32 * tiles], start[256];
  for (int i = 0; i < 32 * tiles; ++i) h[i] = i * 13 % 50;
  const Array in(h);
  const Array<int> out(256);
  for (int length : {1, 2, 3, tiles}) {
    specialised<3><<<1, 128>>>(in, out, length);
    const auto r = out.read(96);
    int wrong = 0;
    for (int i = 0; i < 96; ++i) {
      int sum = 0;
      for (int t = 0; t < length; ++t) {
        const int v = h[t * 32 + (i + i / 32 + 1) % 32];
        sum += v * v + i / 32 + 1;
      }
      wrong += r[i] != sum;
    }
    printf("specialised, %d tiles: %d wrong\n", length, wrong);
  }

  for (int i = 0; i < 256; ++i) start[i] = i;
  out.write(start, 256);
  pairs<<<1, 256>>>(out);
  auto r = out.read();
  int wrong = 0;
  for (int i = 0; i < 256; ++i) {
    const int pair = i / 64, rounds = pair + 1;
    wrong += r[i] != pair * 64 + (rounds % 2 ? 63 - i % 64 : i % 64) + rounds;
  }
  printf("pairs: %d wrong\n", wrong);

  for (int warps : {1, 2, 9}) {
    ring<<<1, warps * 32>>>(out, warps);
    int token = 1;
    for (int w = 0; w < warps; ++w) token = 2 * token + w;
    printf("ring of %d: %s\n", warps, out.read()[0] == token ? "right" : "wrong");
  }

  reductions<<<1, 96>>>((unsigned*)out.get());
  r = out.read();
  printf("reductions: %d %d %d\n", r[0], r[32], r[95]);

  int expected[32] = {};
  for (int i = 0; i < 256; ++i) {
    start[i] = i * i;
    expected[i % 32] += start[i] + (i >= 128);
  }
  out.write(start, 256);
  leave<<<1, 256>>>(out);
  printf("leave: %d wrong\n", count_wrong(out.read(32), expected));
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
