// Floating-point numbers as NVIDIA's GPUs treat them: NaN, subnormals, saturation, and the 16-bit formats.
//
// What follows is the GPU's where IEEE 754 leaves a choice: f32 and 16-bit results that are NaN are always the
// canonical NaN (0x7fffffff, 0x7fff); f64 results keep the payload of a NaN operand and are quiet, invalid operations
// give 0xfff8000000000000. For f64 that is also what the host does.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

inline constexpr u32 canonical_nan_f32 = 0x7fffffffu;
inline constexpr u16 canonical_nan_f16 = 0x7fffu;

/// The number, or the canonical NaN for any NaN.
inline f32 canonical(f32 x) {
  return x == x ? x : std::bit_cast<f32>(canonical_nan_f32);
}
/// A NaN made quiet; the rest as it is.
inline f64 canonical(f64 x) {
  return x == x ? x : std::bit_cast<f64>(std::bit_cast<u64>(x) | 0x0008000000000000ull);
}

/// .ftz: a subnormal number becomes a zero of its sign.
inline f32 flushed(f32 x) {
  const u32 bits = std::bit_cast<u32>(x);
  return std::bit_cast<f32>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
inline f64 flushed(f64 x) {
  const u64 bits = std::bit_cast<u64>(x);
  return std::bit_cast<f64>((bits & 0x7ff0000000000000ull) == 0 ? bits & 0x8000000000000000ull : bits);
}
/// .sat: clamped to [0, 1]; NaN becomes +0.
template <class T>
inline T saturated(T x) {
  const T low = x > T{0} ? x : T{0};
  return low < T{1} ? low : T{1};
}

// --- the 16-bit formats ----------------------------------------------------------------------------------------------

template <class H>
inline constexpr u16 infinity_bits = std::is_same_v<H, f16> ? 0x7c00 : 0x7f80;

template <class H>
requires std::is_enum_v<H>
inline H flushed(H x) {
  const u16 bits = static_cast<u16>(x);
  return static_cast<H>((bits & infinity_bits<H>) == 0 ? bits & 0x8000u : bits);
}
/// An operand or result under .ftz, or not; integers stay as they are.
template <bool ftz, class T>
inline T flushed_if(T x) {
  if constexpr (ftz && !std::is_integral_v<T>)
    return flushed(x);
  else
    return x;
}

/// Exact; a NaN stays some NaN.
inline f32 widen(f16 h) {
  const u32 bits = static_cast<u16>(h);
  const u32 magnitude = (bits & 0x7fffu) << 13;
  const u32 finite = std::bit_cast<u32>(std::bit_cast<f32>(magnitude) * 0x1p112f);
  const u32 value = (bits & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite;
  return std::bit_cast<f32>(value | (bits & 0x8000u) << 16);
}
inline f32 widen(bf16 h) {
  return std::bit_cast<f32>(u32{static_cast<u16>(h)} << 16);
}

/// Whether a magnitude that was cut off has to be one larger: `rest` was cut off and `half` is half of the last place.
[[gnu::always_inline]] inline u32 rounds_away(u32 kept, u32 rest, u32 half, bool negative, Rounding to) {
  if (to == Rounding::nearest) return rest > half || (rest == half && (kept & 1u)) ? 1u : 0u;
  if (to == Rounding::up) return rest != 0 && !negative ? 1u : 0u;
  if (to == Rounding::down) return rest != 0 && negative ? 1u : 0u;
  return 0;
}

/// Rounds to a 16-bit format, once. Overflow gives infinity or the largest number as the rounding asks; NaN the
/// canonical.
template <class H>
[[gnu::always_inline]] inline H narrow(f32 x, Rounding to = Rounding::nearest) {
  const u32 bits = std::bit_cast<u32>(x), magnitude = bits & 0x7fffffffu;
  const bool negative = (bits >> 31) != 0;
  u32 result;
  if constexpr (std::is_same_v<H, bf16>) {
    const u32 kept = magnitude >> 16;
    result = kept + (magnitude < 0x7f800000u ? rounds_away(kept, magnitude & 0xffffu, 0x8000u, negative, to) : 0u);
  } else {
    // A normal half keeps 10 of the 23 bits; below, each exponent loses one more, until nothing but a rest is left.
    const u32 exponent = magnitude >> 23;
    const u32 loss = 126u - exponent;
    const u32 shift = exponent >= 113u ? 13u : loss < 31u ? loss : 31u;
    const u32 fraction = (magnitude & 0x007fffffu) | (magnitude != 0 ? 0x00800000u : 0u);
    const u32 number = exponent >= 113u ? magnitude - 0x38000000u : fraction;
    const u32 kept = number >> shift;
    const u32 rounded = kept + rounds_away(kept, number & ((1u << shift) - 1), 1u << (shift - 1), negative, to);
    const bool to_infinity =
        to == Rounding::nearest || (to == Rounding::up && !negative) || (to == Rounding::down && negative);
    const u32 overflowed = to_infinity || magnitude == 0x7f800000u ? 0x7c00u : 0x7bffu;
    result = magnitude >= 0x47800000u || rounded >= 0x7c00u ? overflowed : rounded;
  }
  const u32 with_sign = result | (bits >> 31) << 15;
  return static_cast<H>(magnitude > 0x7f800000u ? canonical_nan_f16 : with_sign);
}

/// Rounds to f32 so that a later rounding to fewer bits comes out as if it had been the only one (round to odd).
[[gnu::always_inline]] inline f32 to_odd_f32(f64 x) {
  const f32 near = static_cast<f32>(x);
  const f64 back = near;
  u32 bits = std::bit_cast<u32>(near);
  if (std::fabs(back) > std::fabs(x)) --bits;
  if (back < x || back > x) bits |= 1u;
  return std::bit_cast<f32>(bits);
}
/// The sum rounded to odd.
[[gnu::always_inline]] inline f64 odd_sum(f64 a, f64 b) {
  const f64 sum = a + b;
  const f64 b_part = sum - a, a_part = sum - b_part;
  const f64 error = (a - a_part) + (b - b_part);
  u64 bits = std::bit_cast<u64>(sum);
  if ((error < 0 || error > 0) && (bits & 1u) == 0) bits += (error > 0) == (sum > 0) ? u64{1} : ~u64{0};
  return std::bit_cast<f64>(bits);
}
template <class H>
[[gnu::always_inline]] inline H narrow(f64 x, Rounding to = Rounding::nearest) {
  return narrow<H>(to_odd_f32(x), to);
}

}  // namespace scanlab::vgpu
