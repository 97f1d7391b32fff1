// What random kernels share: names of types, defined divisions, NaNs without payloads, legal warp operations.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using s8 = signed char;
using u8 = unsigned char;
using s16 = short;
using u16 = unsigned short;
using s32 = int;
using u32 = unsigned;
using s64 = long long;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

constexpr u32 input_words = 1024, own_words = 8, atomic_slots = 32, atomic_slots_64 = 16;

// Fields at odd places: padding, and every width.
struct Record {
  s8 a;
  u16 b;
  f32 c;
  u64 d;
  s16 e;
};

struct Small {
  u16 x;
  u32 y;
  s8 z;
};

struct Parameters {
  u8 k8;
  u32 k32;
  s16 k16;
  u64 k64;
  f32 kf;
  Record record;
  u32 list[5];
};

__constant__ u32 c_words[64];
__constant__ Record c_records[4];

// ---- values
// ----------------------------------------------------------------------------------------------------------

// The payload and the sign of a NaN are not specified.
__device__ inline u32 bits(f32 x) {
  return x != x ? 0x7fffffffu : __float_as_uint(x);
}
__device__ inline u64 bits(f64 x) {
  return x != x ? 0x7fffffffffffffffull : (u64)__double_as_longlong(x);
}
__device__ inline f32 plain(f32 x) {
  return __uint_as_float(bits(x));
}
__device__ inline f64 plain(f64 x) {
  return __longlong_as_double((s64)bits(x));
}
__device__ inline u16 plain_f16(u16 x) {
  return (x & 0x7fff) > 0x7c00 ? (u16)0x7fff : x;
}
__device__ inline u16 plain_bf16(u16 x) {
  return (x & 0x7fff) > 0x7f80 ? (u16)0x7fff : x;
}
__device__ inline u32 plain_h2(u32 x) {
  return (u32)plain_f16((u16)(x >> 16)) << 16 | plain_f16((u16)x);
}
__device__ inline u32 plain_b2(u32 x) {
  return (u32)plain_bf16((u16)(x >> 16)) << 16 | plain_bf16((u16)x);
}

__device__ inline u32 divide(u32 a, u32 b) {
  const bool is_undefined = b == 0 || (a == 0x80000000u && b == ~0u);
  return is_undefined ? a : (u32)((s32)a / (s32)b);
}
__device__ inline u32 remainder(u32 a, u32 b) {
  const bool is_undefined = b == 0 || (a == 0x80000000u && b == ~0u);
  return is_undefined ? b : (u32)((s32)a % (s32)b);
}
__device__ inline u64 divide(u64 a, u64 b) {
  const bool is_undefined = b == 0 || (a == 1ull << 63 && b == ~0ull);
  return is_undefined ? a : (u64)((s64)a / (s64)b);
}
__device__ inline u64 remainder(u64 a, u64 b) {
  const bool is_undefined = b == 0 || (a == 1ull << 63 && b == ~0ull);
  return is_undefined ? b : (u64)((s64)a % (s64)b);
}

__host__ __device__ inline u64 mix(u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// ---- the warp
// --------------------------------------------------------------------------------------------------------

__device__ inline u32 threads_of_block() {
  return blockDim.x * blockDim.y * blockDim.z;
}
__device__ inline u32 thread_of_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ inline u32 block_of_grid() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
// The lanes that exist: the last warp of a block may have fewer than 32.
__device__ inline u32 lanes_of_warp() {
  const u32 first = thread_of_block() & ~31u, left = threads_of_block() - first;
  return left >= 32 ? ~0u : (1u << left) - 1;
}
// A lane of the mask, which is not empty.
__device__ inline u32 pick_lane(u32 mask, u32 wish) {
  for (u32 skip = wish % __popc(mask); skip > 0; --skip) mask &= mask - 1;
  return __ffs(mask) - 1;
}
__device__ inline u32 has(u32 mask, u32 lane) {
  return mask >> lane & 1;
}

// A lane that reads one outside the mask would get anything: it gets `other`.
template <class T>
__device__ T shuffle_up(u32 mask, T value, u32 delta, u32 width, T other) {
  const u32 lane = thread_of_block() & 31, place = lane & (width - 1);
  const T got = __shfl_up_sync(mask, value, delta, width);
  return has(mask, place < delta ? lane : lane - delta) ? got : other;
}
template <class T>
__device__ T shuffle_down(u32 mask, T value, u32 delta, u32 width, T other) {
  const u32 lane = thread_of_block() & 31, place = lane & (width - 1);
  const T got = __shfl_down_sync(mask, value, delta, width);
  return has(mask, place + delta >= width ? lane : lane + delta) ? got : other;
}
template <class T>
__device__ T shuffle_xor(u32 mask, T value, u32 change, u32 width, T other) {
  const u32 lane = thread_of_block() & 31, source = lane ^ change;
  const T got = __shfl_xor_sync(mask, value, change, width);
  // A source beyond the lane's own segment is out of range, one in an earlier segment is not.
  return has(mask, source / width > lane / width ? lane : source) ? got : other;
}
template <class T>
__device__ T shuffle(u32 mask, T value, u32 source, u32 width, T other) {
  const u32 lane = thread_of_block() & 31;
  const T got = __shfl_sync(mask, value, source, width);
  return has(mask, (lane & ~(width - 1)) | (source & (width - 1))) ? got : other;
}

// ---- the host's side
// -------------------------------------------------------------------------------------------------

using Kernel = void (*)(const u32* in, u64* out, u64* own, u32* atomics, u64* atomics_64, Parameters parameters,
                        s8 small, u16 half, f64 wide);

struct Case {
  u64 seed;
  Kernel kernel;
  dim3 grid, block;
};
