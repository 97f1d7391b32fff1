// What atom and red compute: f(old, b, c), by operation and type (PTX ISA, "atom").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <tuple>

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

/// add.noftz of 16-bit numbers, rounded once.
struct AddOnce {
  template <class H>
  H operator()(H a, H b) const {
    return narrow<H>(odd_sum(f64{widen(a)}, f64{widen(b)}));
  }
};
template <class H>
u16 add_half(u16 old, u16 b, u16) {
  return static_cast<u16>(AddOnce{}(static_cast<H>(old), static_cast<H>(b)));
}
template <class H>
u32 add_pair(u32 old, u32 b, u32) {
  return Pairwise<AddOnce, H>{}(old, b);
}

}  // namespace atomic_ops

/// What PTX calls an operation on a type, and what it computes.
template <class T, T (*compute)(T, T, T)>
struct AtomicForm {
  std::string_view operation;
  ptx::Type type;
};

/// Every form that PTX has.
inline constexpr std::tuple atomic_forms{
    AtomicForm<u32, atomic_ops::add>{"add", ptx::Type::u32},
    AtomicForm<u32, atomic_ops::add>{"add", ptx::Type::s32},
    AtomicForm<u64, atomic_ops::add>{"add", ptx::Type::u64},
    AtomicForm<u64, atomic_ops::add>{"add", ptx::Type::s64},
    AtomicForm<f32, atomic_ops::add_f32>{"add", ptx::Type::f32},
    AtomicForm<f64, atomic_ops::add>{"add", ptx::Type::f64},
    AtomicForm<u16, atomic_ops::add_half<f16>>{"add.noftz", ptx::Type::f16},
    AtomicForm<u16, atomic_ops::add_half<bf16>>{"add.noftz", ptx::Type::bf16},
    AtomicForm<u32, atomic_ops::add_pair<f16>>{"add.noftz", ptx::Type::f16x2},
    AtomicForm<u32, atomic_ops::add_pair<bf16>>{"add.noftz", ptx::Type::bf16x2},
    AtomicForm<u32, atomic_ops::bit_and>{"and", ptx::Type::b32},
    AtomicForm<u64, atomic_ops::bit_and>{"and", ptx::Type::b64},
    AtomicForm<u32, atomic_ops::bit_or>{"or", ptx::Type::b32},
    AtomicForm<u64, atomic_ops::bit_or>{"or", ptx::Type::b64},
    AtomicForm<u32, atomic_ops::bit_xor>{"xor", ptx::Type::b32},
    AtomicForm<u64, atomic_ops::bit_xor>{"xor", ptx::Type::b64},
    AtomicForm<u32, atomic_ops::exchange>{"exch", ptx::Type::b32},
    AtomicForm<u64, atomic_ops::exchange>{"exch", ptx::Type::b64},
    AtomicForm<u16, atomic_ops::compare_and_swap>{"cas", ptx::Type::b16},
    AtomicForm<u32, atomic_ops::compare_and_swap>{"cas", ptx::Type::b32},
    AtomicForm<u64, atomic_ops::compare_and_swap>{"cas", ptx::Type::b64},
    AtomicForm<u32, atomic_ops::least>{"min", ptx::Type::u32},
    AtomicForm<s32, atomic_ops::least>{"min", ptx::Type::s32},
    AtomicForm<u64, atomic_ops::least>{"min", ptx::Type::u64},
    AtomicForm<s64, atomic_ops::least>{"min", ptx::Type::s64},
    AtomicForm<u32, atomic_ops::greatest>{"max", ptx::Type::u32},
    AtomicForm<s32, atomic_ops::greatest>{"max", ptx::Type::s32},
    AtomicForm<u64, atomic_ops::greatest>{"max", ptx::Type::u64},
    AtomicForm<s64, atomic_ops::greatest>{"max", ptx::Type::s64},
    AtomicForm<u32, atomic_ops::increment>{"inc", ptx::Type::u32},
    AtomicForm<u32, atomic_ops::decrement>{"dec", ptx::Type::u32},
};

/// Calls visit(form, number) for each, from 1.
template <class Visit>
constexpr void for_each_atomic_form(Visit visit) {
  unsigned number = 0;
  std::apply([&](const auto&... form) { (visit(form, ++number), ...); }, atomic_forms);
}

/// The number of a form; 0: there is none.
constexpr unsigned atomic_form(std::string_view operation, ptx::Type type) {
  unsigned found = 0;
  for_each_atomic_form([&](const auto& form, unsigned number) {
    if (form.operation == operation && form.type == type) found = number;
  });
  return found;
}
/// What PTX calls the operation of a form.
constexpr std::string_view atomic_operation(unsigned form) {
  std::string_view operation;
  for_each_atomic_form([&](const auto& one, unsigned number) {
    if (number == form) operation = one.operation;
  });
  return operation;
}
constexpr bool is_compare_and_swap(unsigned form) {
  return form >= atomic_form("cas", ptx::Type::b16) && form <= atomic_form("cas", ptx::Type::b64);
}

/// `Select::handler<T, compute>` for a form.
template <class Select>
Handler select_atomic(unsigned form) {
  Handler run = nullptr;
  for_each_atomic_form([&]<class T, T (*compute)(T, T, T)>(const AtomicForm<T, compute>&, unsigned number) {
    if (number == form) run = Select::template handler<T, compute>;
  });
  return run;
}

/// Does the atomic of that form put another value there than `old`?
inline bool atomic_changes(unsigned form, const std::byte* old, const std::byte* b, const std::byte* c) {
  bool changes = true;
  for_each_atomic_form([&]<class T, T (*compute)(T, T, T)>(const AtomicForm<T, compute>&, unsigned number) {
    if (number != form) return;
    T values[3];
    std::memcpy(&values[0], old, sizeof(T));
    std::memcpy(&values[1], b, sizeof(T));
    std::memcpy(&values[2], c, sizeof(T));
    const T now = compute(values[0], values[1], values[2]);
    changes = std::memcmp(&values[0], &now, sizeof(T)) != 0;
  });
  return changes;
}

}  // namespace scanlab::vgpu
