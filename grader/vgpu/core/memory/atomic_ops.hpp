// What atom and red compute: f(old, b, c), by operation and type (PTX ISA, "atom").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// Every form that PTX has: name, type, type of the host, function.
#define SCANLAB_ATOMICS(FORM)                                      \
  FORM("add", u32, std::uint32_t, add<std::uint32_t>)              \
  FORM("add", s32, std::uint32_t, add<std::uint32_t>)              \
  FORM("add", u64, std::uint64_t, add<std::uint64_t>)              \
  FORM("add", s64, std::uint64_t, add<std::uint64_t>)              \
  FORM("add", f32, float, add_f32)                                 \
  FORM("add", f64, double, add_f64)                                \
  FORM("add.noftz", f16, std::uint16_t, add_half<f16>)             \
  FORM("add.noftz", bf16, std::uint16_t, add_half<bf16>)           \
  FORM("add.noftz", f16x2, std::uint32_t, add_pair<f16>)           \
  FORM("add.noftz", bf16x2, std::uint32_t, add_pair<bf16>)         \
  FORM("and", b32, std::uint32_t, bit_and<std::uint32_t>)          \
  FORM("and", b64, std::uint64_t, bit_and<std::uint64_t>)          \
  FORM("or", b32, std::uint32_t, bit_or<std::uint32_t>)            \
  FORM("or", b64, std::uint64_t, bit_or<std::uint64_t>)            \
  FORM("xor", b32, std::uint32_t, bit_xor<std::uint32_t>)          \
  FORM("xor", b64, std::uint64_t, bit_xor<std::uint64_t>)          \
  FORM("exch", b32, std::uint32_t, exchange<std::uint32_t>)        \
  FORM("exch", b64, std::uint64_t, exchange<std::uint64_t>)        \
  FORM("cas", b16, std::uint16_t, compare_and_swap<std::uint16_t>) \
  FORM("cas", b32, std::uint32_t, compare_and_swap<std::uint32_t>) \
  FORM("cas", b64, std::uint64_t, compare_and_swap<std::uint64_t>) \
  FORM("min", u32, std::uint32_t, least<std::uint32_t>)            \
  FORM("min", s32, std::int32_t, least<std::int32_t>)              \
  FORM("min", u64, std::uint64_t, least<std::uint64_t>)            \
  FORM("min", s64, std::int64_t, least<std::int64_t>)              \
  FORM("max", u32, std::uint32_t, greatest<std::uint32_t>)         \
  FORM("max", s32, std::int32_t, greatest<std::int32_t>)           \
  FORM("max", u64, std::uint64_t, greatest<std::uint64_t>)         \
  FORM("max", s64, std::int64_t, greatest<std::int64_t>)           \
  FORM("inc", u32, std::uint32_t, increment<std::uint32_t>)        \
  FORM("dec", u32, std::uint32_t, decrement<std::uint32_t>)

/// `Select::handler<T, Op>` for an operation's name and type, or null when PTX has no such combination.
template <class Select>
Handler select_atomic(std::string_view operation, ptx::Type type) {
  using namespace atomic_ops;
#define SCANLAB_FORM(NAME, TYPE, T, ...) \
  if (operation == NAME && type == ptx::Type::TYPE) return Select::template handler<T, __VA_ARGS__>;
  SCANLAB_ATOMICS(SCANLAB_FORM)
#undef SCANLAB_FORM
  return nullptr;
}

/// The place of a form in the list, from 1; 0: there is none.
constexpr unsigned atomic_form(std::string_view operation, ptx::Type type) {
  unsigned number = 0;
#define SCANLAB_FORM(NAME, TYPE, T, ...) \
  ++number;                              \
  if (operation == NAME && type == ptx::Type::TYPE) return number;
  SCANLAB_ATOMICS(SCANLAB_FORM)
#undef SCANLAB_FORM
  return 0;
}
constexpr bool is_compare_and_swap(unsigned form) {
  return form != 0 && (form == atomic_form("cas", ptx::Type::b16) || form == atomic_form("cas", ptx::Type::b32) ||
                       form == atomic_form("cas", ptx::Type::b64));
}

/// Does the atomic of that form put another value there than `old`?
inline bool atomic_changes(unsigned form, const std::byte* old, const std::byte* b, const std::byte* c) {
  using namespace atomic_ops;
  const auto changes = [&]<class T>(T (*compute)(T, T, T)) {
    T values[3];
    std::memcpy(&values[0], old, sizeof(T));
    std::memcpy(&values[1], b, sizeof(T));
    std::memcpy(&values[2], c, sizeof(T));
    const T now = compute(values[0], values[1], values[2]);
    return std::memcmp(&values[0], &now, sizeof(T)) != 0;
  };
  unsigned number = 0;
#define SCANLAB_FORM(NAME, TYPE, T, ...) \
  if (form == ++number) return changes.template operator()<T>(&__VA_ARGS__);
  SCANLAB_ATOMICS(SCANLAB_FORM)
#undef SCANLAB_FORM
  return true;
}

}  // namespace scanlab::vgpu
