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

/// The first step: values from the lanes of a register.
using Reader = void (*)(const void* lanes, void* values);
/// The second step: the active lanes of a register from values, rounded as asked.
using Writer = void (*)(void* lanes, const void* values, Mask active, Rounding to);

/// What holds every value of S exactly.
template <class S>
using ValueOf = std::conditional_t<is_number_format<S>, f64, std::conditional_t<std::is_same_v<S, u64>, u64, s64>>;

/// Values of type ValueOf<S>.
template <class S, class Register, bool ftz>
void read_values(const void* lanes, void* values) {
  const auto* const from = static_cast<const Register*>(lanes);
  auto* const to = static_cast<ValueOf<S>*>(values);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if constexpr (std::is_enum_v<S>)
      to[lane] = widen(from[lane]);
    else if constexpr (std::is_floating_point_v<S>)
      to[lane] = flushed_if<ftz>(from[lane]);
    else
      to[lane] = static_cast<ValueOf<S>>(static_cast<S>(from[lane]));
  }
}

/// A conversion in two steps; Inst::imm points to it.
struct Steps {
  Reader read;
  Writer write;
  Rounding to = Rounding::nearest;
};

// --- the forms -------------------------------------------------------------------------------------------------------

/// The registers' widths belong to the key: cvt takes registers that are wider than the types.
std::string convert_key(const std::string& spelling, ptx::Type d_register, ptx::Type s_register);

/// From where to where: the types that cvt names, and those of the registers.
struct Ends {
  ptx::Type d, s, d_register, s_register;
};
/// `to` is for a handler that reads it at run time (lanewise_rounded).
void add_convert(Forms& forms, const std::string& modifiers, const Ends& ends, Handler run,
                 Rounding to = Rounding::nearest);
void add_convert(Forms& forms, const std::string& modifiers, const Ends& ends, const Steps& steps);

/// The conversions between integers, for the table of all.
void add_integer_conversions(Forms& forms);

/// A type as it lies in registers of a width.
template <class T, class R>
struct In {
  using Type = T;
  using Register = R;
};

}  // namespace scanlab::vgpu
