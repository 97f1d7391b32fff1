// What atom and red compute: f(old, b, c), by operation and type (PTX ISA, "atom").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/decode/inst.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {
namespace atomic_ops {

template <class T>
T add(T old, T b, T) {
  return static_cast<T>(old + b);
}
template <class T>
T bit_and(T old, T b, T) {
  return old & b;
}
template <class T>
T bit_or(T old, T b, T) {
  return old | b;
}
template <class T>
T bit_xor(T old, T b, T) {
  return old ^ b;
}
template <class T>
T exchange(T, T b, T) {
  return b;
}
template <class T>
T compare_and_swap(T old, T b, T c) {
  return old == b ? c : old;
}
template <class T>
T least(T old, T b, T) {
  return std::min(old, b);
}
template <class T>
T greatest(T old, T b, T) {
  return std::max(old, b);
}
template <class T>
T increment(T old, T b, T) {
  return old >= b ? T{0} : static_cast<T>(old + 1);
}
template <class T>
T decrement(T old, T b, T) {
  return old == 0 || old > b ? b : static_cast<T>(old - 1);
}

/// atom.add.f32 flushes subnormal inputs and results to zero in global memory; see the PTX ISA. (.f64 keeps them.)
inline float add_f32(float old, float b, float) {
  const auto flush = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; };
  return flush(flush(old) + flush(b));
}
/// In shared memory it keeps them.
inline float add_f32_shared(float old, float b) {
  return canonical(old + b);
}
inline double add_f64(double old, double b, double) {
  return old + b;
}

/// add.noftz of 16-bit numbers, rounded once.
template <class H>
std::uint16_t add_half(std::uint16_t old, std::uint16_t b, std::uint16_t) {
  const H sum = narrow<H>(odd_sum(double{widen(static_cast<H>(old))}, double{widen(static_cast<H>(b))}));
  return static_cast<std::uint16_t>(sum);
}
template <class H>
std::uint32_t add_pair(std::uint32_t old, std::uint32_t b, std::uint32_t) {
  const auto low = [](std::uint32_t x) { return static_cast<std::uint16_t>(x); };
  const auto high = [](std::uint32_t x) { return static_cast<std::uint16_t>(x >> 16); };
  return add_half<H>(low(old), low(b), 0) | std::uint32_t{add_half<H>(high(old), high(b), 0)} << 16;
}

}  // namespace atomic_ops

/// `Select::handler<T, Op>` for an operation's name and type, or null when PTX has no such combination.
template <class Select>
Handler select_atomic(std::string_view operation, ptx::Type type) {
  using namespace atomic_ops;
  using ptx::Type;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  using s32 = std::int32_t;
  using s64 = std::int64_t;
#define SCANLAB_ATOMIC(NAME, TYPE, T, OP) \
  if (operation == NAME && type == TYPE) return Select::template handler<T, OP>
  SCANLAB_ATOMIC("add", Type::u32, u32, add<u32>);
  SCANLAB_ATOMIC("add", Type::s32, u32, add<u32>);
  SCANLAB_ATOMIC("add", Type::u64, u64, add<u64>);
  SCANLAB_ATOMIC("add", Type::s64, u64, add<u64>);
  SCANLAB_ATOMIC("add", Type::f32, float, add_f32);
  SCANLAB_ATOMIC("add", Type::f64, double, add_f64);
  SCANLAB_ATOMIC("add.noftz", Type::f16, u16, add_half<f16>);
  SCANLAB_ATOMIC("add.noftz", Type::bf16, u16, add_half<bf16>);
  SCANLAB_ATOMIC("add.noftz", Type::f16x2, u32, add_pair<f16>);
  SCANLAB_ATOMIC("add.noftz", Type::bf16x2, u32, add_pair<bf16>);
  SCANLAB_ATOMIC("and", Type::b32, u32, bit_and<u32>);
  SCANLAB_ATOMIC("and", Type::b64, u64, bit_and<u64>);
  SCANLAB_ATOMIC("or", Type::b32, u32, bit_or<u32>);
  SCANLAB_ATOMIC("or", Type::b64, u64, bit_or<u64>);
  SCANLAB_ATOMIC("xor", Type::b32, u32, bit_xor<u32>);
  SCANLAB_ATOMIC("xor", Type::b64, u64, bit_xor<u64>);
  SCANLAB_ATOMIC("exch", Type::b32, u32, exchange<u32>);
  SCANLAB_ATOMIC("exch", Type::b64, u64, exchange<u64>);
  SCANLAB_ATOMIC("cas", Type::b16, u16, compare_and_swap<u16>);
  SCANLAB_ATOMIC("cas", Type::b32, u32, compare_and_swap<u32>);
  SCANLAB_ATOMIC("cas", Type::b64, u64, compare_and_swap<u64>);
  SCANLAB_ATOMIC("min", Type::u32, u32, least<u32>);
  SCANLAB_ATOMIC("min", Type::s32, s32, least<s32>);
  SCANLAB_ATOMIC("min", Type::u64, u64, least<u64>);
  SCANLAB_ATOMIC("min", Type::s64, s64, least<s64>);
  SCANLAB_ATOMIC("max", Type::u32, u32, greatest<u32>);
  SCANLAB_ATOMIC("max", Type::s32, s32, greatest<s32>);
  SCANLAB_ATOMIC("max", Type::u64, u64, greatest<u64>);
  SCANLAB_ATOMIC("max", Type::s64, s64, greatest<s64>);
  SCANLAB_ATOMIC("inc", Type::u32, u32, increment<u32>);
  SCANLAB_ATOMIC("dec", Type::u32, u32, decrement<u32>);
#undef SCANLAB_ATOMIC
  return nullptr;
}

}  // namespace scanlab::vgpu
