// Shuffles of every kind, with full warps, sub-warp widths and masks, and shuffles of wide types.
#include <cstdio>
#include <cstring>

#include "arrays.hpp"

constexpr unsigned full_mask = 0xffffffffu;

__global__ void by_kind(int* out) {
  const int lane = threadIdx.x % 32;
  int* row = out + lane;
  row[0 * 32] = __shfl_sync(full_mask, lane * 10, 5);
  row[1 * 32] = __shfl_up_sync(full_mask, lane, 3);
  row[2 * 32] = __shfl_down_sync(full_mask, lane, 3);
  row[3 * 32] = __shfl_xor_sync(full_mask, lane, 9);
  row[4 * 32] = __shfl_sync(full_mask, lane, lane * 7 + 64);  // the source lane is taken modulo the width
  row[5 * 32] = __shfl_sync(full_mask, lane, 2, 8);           // lane 2 of every eight
  row[6 * 32] = __shfl_up_sync(full_mask, lane, 2, 8);
  row[7 * 32] = __shfl_down_sync(full_mask, lane, 2, 8);
  row[8 * 32] = __shfl_xor_sync(full_mask, lane, 12, 8);  // a partner beyond the group, in higher lanes: own value
  row[9 * 32] = __shfl_up_sync(full_mask, lane, 32);      // a delta of 32 keeps every lane's own value
  row[10 * 32] = __shfl_down_sync(full_mask, lane, 32);
  row[11 * 32] = __shfl_sync(full_mask, lane, lane ^ 1, 2);
}

__global__ void by_type(int* wrong) {
  const int lane = threadIdx.x;
  const double d = __shfl_xor_sync(full_mask, lane + 0.25, 1);
  const long long l = __shfl_up_sync(full_mask, (long long)lane << 40, 1);
  const unsigned long long u = __shfl_down_sync(full_mask, 0xF000000000000000ull + lane, 1);
  const float f = __shfl_sync(full_mask, lane * 0.5f, 31);
  if (d != (lane ^ 1) + 0.25) atomicAdd(wrong, 1);
  if (l != (long long)(lane ? lane - 1 : 0) << 40) atomicAdd(wrong, 1);
  if (u != 0xF000000000000000ull + (lane < 31 ? lane + 1 : 31)) atomicAdd(wrong, 1);
  if (f != 15.5f) atomicAdd(wrong, 1);
}

// Half a warp takes each branch, with its own mask.
__global__ void in_branches(int* out) {
  const int lane = threadIdx.x;
  int value = lane;
  if (lane < 16) {
    for (int d = 8; d > 0; d >>= 1) value += __shfl_down_sync(0x0000ffffu, value, d);
  } else {
    for (int d = 1; d < 16; d <<= 1) {
      const int left = __shfl_up_sync(0xffff0000u, value, d, 16);
      if ((lane & 15) >= d) value += left;
    }
  }
  out[lane] = value;
}

// The lanes of a warp meet although they stand at two places: at each, the same kind of instruction for the same lanes.
// Each place has its own registers, and one of them negates a predicate.
__global__ void at_two_places(int* wrong) {
  const int lane = threadIdx.x;
  const bool is_odd = lane % 2;
  const long long four = lane / 4;
  unsigned neighbour, above_nine, same, all, agree;
  if (is_odd) {
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1; // odd" : "=r"(neighbour) : "r"(lane * 10));
    asm volatile("{.reg .pred p; setp.gt.s32 p, %1, 9; vote.sync.ballot.b32 %0, p, -1;}"
                 : "=r"(above_nine)
                 : "r"(lane));
    asm volatile("match.any.sync.b64 %0, %1, -1; // odd" : "=r"(same) : "l"(four));
    asm volatile("{.reg .pred p; match.all.sync.b32 %0|p, %2, -1; selp.u32 %1, 1, 0, p;} // odd"
                 : "=r"(all), "=r"(agree)
                 : "r"(7));
  } else {
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1; // even" : "=r"(neighbour) : "r"(lane * 100));
    asm volatile("{.reg .pred p; setp.le.s32 p, %1, 9; vote.sync.ballot.b32 %0, !p, -1;}"
                 : "=r"(above_nine)
                 : "r"(lane));
    asm volatile("match.any.sync.b64 %0, %1, -1; // even" : "=r"(same) : "l"(four));
    asm volatile("{.reg .pred p; match.all.sync.b32 %0|p, %2, -1; selp.u32 %1, 1, 0, p;} // even"
                 : "=r"(all), "=r"(agree)
                 : "r"(7));
  }
  if (neighbour != (is_odd ? (lane - 1) * 100 : (lane + 1) * 10)) atomicAdd(wrong, 1);
  if (above_nine != 0xfffffc00u) atomicAdd(wrong, 1);
  if (same != 0xfu << lane / 4 * 4) atomicAdd(wrong, 1);
  if (all != full_mask || agree != 1) atomicAdd(wrong, 1);
}

template <int width>
__global__ void segment_scan(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = in[i];
#pragma unroll
  for (int d = 1; d < width; d *= 2) {
    const int left = __shfl_up_sync(full_mask, value, d, width);
    if (threadIdx.x % width >= d) value += left;
  }
  out[i] = value;
}

template <int width>
bool test_segments(const std::vector<int>& in) {
  const Array<int> d_out(in.size());
  segment_scan<width><<<in.size() / 64, 64>>>(Array(in), d_out);
  const auto out = d_out.read();
  int sum = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    sum = (i % width ? sum : 0) + in[i];
    if (out[i] != sum) return false;
  }
  return true;
}

// A block's inclusive scan in three steps: warps, warp sums, both together.
__global__ void block_scan(const float* in, float* out) {
  __shared__ float sums[32];
  const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float x = in[threadIdx.x];
  for (int d = 1; d <= 16; d <<= 1) {
    float y = __shfl_up_sync(__activemask(), x, d);
    if (lane >= d) x += y;
  }
  if (lane == 31) sums[warp] = x;
  __syncthreads();
  if (warp == 0) {
    float s = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int d = 1; d <= 16; d <<= 1) {
      float y = __shfl_up_sync(full_mask, s, d);
      if (lane >= d) s += y;
    }
    sums[lane] = s;
  }
  __syncthreads();
  out[threadIdx.x] = x + (warp ? sums[warp - 1] : 0);
}

int main() {
  const Array<int> d(12 * 32);
  by_kind<<<1, 32>>>(d);
  auto h = d.read();
  const char* names[] = {"idx 5",     "up 3",        "down 3",      "xor 9", "idx modulo", "idx 2 of 8",
                         "up 2 of 8", "down 2 of 8", "xor 12 of 8", "up 32", "down 32",    "idx of 2"};
  for (int k = 0; k < 12; ++k) {
    printf("%s:", names[k]);
    for (int lane : {0, 1, 7, 8, 13, 30, 31}) printf(" %d", h[k * 32 + lane]);
    printf("\n");
  }

  const Array<int> wrong(1, 0);
  by_type<<<1, 32>>>(wrong);
  printf("wide types: %d wrong\n", wrong.read()[0]);

  const Array<int> apart(1, 0);
  at_two_places<<<1, 32>>>(apart);
  printf("at two places: %d wrong\n", apart.read()[0]);

  in_branches<<<1, 32>>>(d);
  h = d.read(32);
  printf("in branches: %d %d %d %d\n", h[0], h[16], h[17], h[31]);

  std::vector<int> in(256);
  for (int i = 0; i < 256; ++i) in[i] = i * i % 11;
  printf("segments: %d %d %d %d %d\n", test_segments<2>(in), test_segments<4>(in), test_segments<8>(in),
         test_segments<16>(in), test_segments<32>(in));

  std::vector<float> x(1024);
  for (int i = 0; i < 1024; ++i) x[i] = i;
  const Array<float> d_y(1024);
  block_scan<<<1, 1024>>>(Array(x), d_y);
  x = d_y.read();
  printf("block scan: %.0f %.0f %.0f\n", x[31], x[32], x[1023]);
  return 0;
}
