// What the conversions have in common: the table's keys, and conversions that go in two steps.
//
// The common conversions have a handler each. The many others go through lanes of s64, u64 or f64, which hold every
// source value exactly: a function reads the source, another writes the destination.
#pragma once

#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

template <class T>
inline constexpr bool is_number_format =
    std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// --- two steps -------------------------------------------------------------------------------------------------------

template <class Value>
using Reader = void (*)(const void* lanes, Value* values);
template <class Value>
using Writer = void (*)(void* lanes, const Value* values, Mask active);

/// What holds every value of S exactly.
template <class S>
using ValueOf = std::conditional_t<is_number_format<S>, f64, std::conditional_t<std::is_same_v<S, u64>, u64, s64>>;

template <class S, class Register, bool ftz>
[[gnu::noinline]] void read_values(const void* lanes, ValueOf<S>* values) {
  const auto* const from = static_cast<const Register*>(lanes);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if constexpr (std::is_enum_v<S>)
      values[lane] = widen(from[lane]);
    else if constexpr (std::is_floating_point_v<S>)
      values[lane] = flushed_if<ftz>(from[lane]);
    else
      values[lane] = static_cast<ValueOf<S>>(static_cast<S>(from[lane]));
  }
}

template <class Value, Reader<Value> read, Writer<Value> write>
const Inst* convert(Warp& warp, const Inst* inst) {
  alignas(64) Value values[warp_size];
  read(warp.lanes<std::byte>(inst->op[1]), values);
  write(warp.lanes<std::byte>(inst->op[0]), values, warp.active);
  return proceed(warp, inst + 1);
}

// --- the forms -------------------------------------------------------------------------------------------------------

/// The registers' widths belong to the key: cvt takes registers that are wider than the types.
std::string convert_key(const std::string& spelling, ptx::Type d_register, ptx::Type s_register);
void add_convert(Forms& forms, const std::string& modifiers, ptx::Type d, ptx::Type s, ptx::Type d_register,
                 ptx::Type s_register, Handler run);

/// The conversions between integers, for the table of all.
void add_integer_conversions(Forms& forms);

/// A type as it lies in registers of a width.
template <class T, class R>
struct In {
  using Type = T;
  using Register = R;
};

}  // namespace scanlab::vgpu
