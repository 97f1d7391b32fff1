// Barriers that reduce, votes, matches, warp reductions, and masks of lanes.
#include <stdio.h>

#include "arrays.hpp"

__global__ void barriers(int* out) {
  const int t = threadIdx.x;
  const int count = __syncthreads_count(t % 3 == 0);
  const int all_small = __syncthreads_and(t < 1000);
  const int all_even = __syncthreads_and(t % 2 == 0);
  const int any_last = __syncthreads_or(t == 99);
  const int any_beyond = __syncthreads_or(t == 100);
  if (t == 57) {
    out[0] = count;
    out[1] = all_small != 0;
    out[2] = all_even != 0;
    out[3] = any_last != 0;
    out[4] = any_beyond != 0;
  }
}

__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned r[16];
  r[0] = __ballot_sync(0xffffffff, lane % 4 == 1);
  r[1] = __any_sync(0xffffffff, lane == 17) ? 1 : 0;
  r[2] = __any_sync(0xffffffff, lane > 31) ? 1 : 0;
  r[3] = __all_sync(0xffffffff, lane < 32) ? 1 : 0;
  r[4] = __all_sync(0xffffffff, lane < 31) ? 1 : 0;
  r[5] = __match_any_sync(0xffffffff, lane % 5);
  int pred = -1;
  r[6] = __match_all_sync(0xffffffff, 42, &pred);
  r[7] = pred != 0;
  r[8] = __match_all_sync(0xffffffff, lane / 16, &pred);
  r[9] = pred != 0;
  r[10] = __reduce_add_sync(0xffffffff, lane);
  r[11] = __reduce_max_sync(0xffffffff, lane * 37 % 32);
  r[12] = __reduce_min_sync(0xffffffff, lane + 5);
  r[13] = __reduce_and_sync(0xffffffff, lane | 0xf0);
  r[14] = __reduce_or_sync(0xffffffff, 1u << (lane / 2));
  r[15] = __reduce_xor_sync(0xffffffff, lane);
  for (int k = 0; k < 16; k++) out[k * 32 + lane] = r[k];
}

__global__ void in_parts(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned r;
  if (lane & 1) {
    r = __ballot_sync(0xaaaaaaaa, lane > 15);
    r += (unsigned)__reduce_min_sync(0xaaaaaaaa, -(int)lane);
  } else {
    r = __activemask();
  }
  out[lane] = r;
  if (lane >= 20) return;
  unsigned mask = __activemask();
  out[32 + lane] = __popc(mask & ((1u << lane) - 1));
}

__global__ void wide_match(const unsigned long long* keys, unsigned* out) {
  out[threadIdx.x] = __match_any_sync(__activemask(), keys[threadIdx.x]);
}

__global__ void lane_masks(unsigned* out) {
  unsigned lt, le, gt, eq, id, warp;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  if (threadIdx.x == 37) {
    out[0] = lt, out[1] = le, out[2] = gt, out[3] = eq, out[4] = id, out[5] = warp;
  }
}

int main() {
  const Array<int> d_b(5);
  barriers<<<1, 100>>>(d_b);
  const auto b = d_b.read();
  printf("barriers: %d %d %d %d %d\n", b[0], b[1], b[2], b[3], b[4]);

  const Array<unsigned> d_v(16 * 32);
  votes<<<1, 32>>>(d_v);
  auto v = d_v.read();
  for (int k = 0; k < 16; k++) printf("vote %d: lane 0 %08x, lane 7 %08x\n", k, v[k * 32], v[k * 32 + 7]);

  in_parts<<<1, 32>>>(d_v);
  v = d_v.read();
  printf("odd lanes: %08x, even lanes: %08x\n", v[1], v[0]);
  printf("ranks: %u %u %u\n", v[32], v[32 + 5], v[32 + 19]);

  unsigned long long keys[32];
  for (int k = 0; k < 32; k++) keys[k] = k < 3 ? 7 : k % 2 ? 7 + (1ull << 32) : 8;
  wide_match<<<1, 32>>>(Array(keys), d_v);
  v = d_v.read();
  printf("64-bit keys: %08x %08x %08x\n", v[1], v[3], v[4]);

  lane_masks<<<1, 64>>>(d_v);
  v = d_v.read();
  printf("thread 37: %08x %08x %08x %08x %u %u\n", v[0], v[1], v[2], v[3], v[4], v[5]);
  return cudaDeviceSynchronize();
}
