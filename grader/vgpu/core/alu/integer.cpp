// Integer arithmetic whose result is as wide as its operands, and dot products of the parts of a register (PTX ISA,
// Integer Arithmetic Instructions); cvt.pack.
#include <algorithm>
#include <functional>
#include <limits>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

// Wrapping operations are computed on unsigned types: their low bits do not depend on the sign.

using Add = std::plus<>;
using Subtract = std::minus<>;

/// Multiplication that never promotes to a signed int.
template <class T>
constexpr T wrapping_product(T a, T b) {
  return static_cast<T>(static_cast<std::common_type_t<T, u32>>(a) * static_cast<std::common_type_t<T, u32>>(b));
}
using MultiplyLow = decltype([](auto a, auto b) { return wrapping_product(a, b); });
using MultiplyAddLow = decltype([](auto a, auto b, auto c) { return wrapping_product(a, b) + c; });

s32 saturated(s64 value) {
  return static_cast<s32>(std::clamp<s64>(value, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max()));
}
using SaturatedAdd = decltype([](s32 a, s32 b) { return saturated(s64{a} + b); });
using SaturatedSubtract = decltype([](s32 a, s32 b) { return saturated(s64{a} - b); });

// PTX leaves division by zero open; NVIDIA's GPUs give all ones for the quotient and the dividend for the remainder.
// min / -1 wraps. Narrow operands are divided in 32 bits.
template <class T>
using Dividend = std::conditional_t<sizeof(T) == 8, T, std::conditional_t<std::is_signed_v<T>, s32, u32>>;

using Divide = Costly<decltype([]<class T>(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
  return static_cast<T>(Dividend<T>{a} / Dividend<T>{b});
})>;
using Remainder = Costly<decltype([]<class T>(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T{0};
  return static_cast<T>(Dividend<T>{a} % Dividend<T>{b});
})>;

using Minimum = decltype([](auto a, auto b) { return b < a ? b : a; });
using Maximum = decltype([](auto a, auto b) { return a < b ? b : a; });
/// min.relu and max.relu: negative results become 0.
template <class Op>
struct Relu {
  template <class T>
  T operator()(T a, T b) const {
    const T value = Op{}(a, b);
    return value < 0 ? T{0} : value;
  }
};

using Negate = decltype([]<class U>(U a) { return U{0} - a; });
/// |min| wraps to min.
using Absolute = decltype([]<class T>(T a) {
  using U = Unsigned<T>;
  return static_cast<T>(a < 0 ? static_cast<U>(U{0} - static_cast<U>(a)) : static_cast<U>(a));
});
/// sad: c + |a - b|.
using AddDistance = decltype([]<class T>(T a, T b, T c) {
  using U = Unsigned<T>;
  const U distance = static_cast<U>(a < b ? U(b) - U(a) : U(a) - U(b));
  return static_cast<T>(static_cast<U>(c) + distance);
});

/// The product of the low 24 bits, signed or not: 48 bits.
template <class T>
s64 product24(T a, T b) {
  const auto low24 = [](T x) { return static_cast<s64>(static_cast<T>(static_cast<u32>(x) << 8) >> 8); };
  return low24(a) * low24(b);
}
using Multiply24Low = decltype([]<class T>(T a, T b) { return static_cast<T>(product24(a, b)); });
using Multiply24High = decltype([]<class T>(T a, T b) { return static_cast<T>(product24(a, b) >> 16); });
template <class Multiply>
struct MultiplyAdd24 {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(static_cast<u32>(Multiply{}(a, b)) + static_cast<u32>(c));
  }
};
using SaturatedMultiplyAdd24High = decltype([](s32 a, s32 b, s32 c) {
  return saturated(s64{Multiply24High{}(a, b)} + c);
});

// --- parts of a register ---------------------------------------------------------------------------------------------

/// Part `k` of the register, extended by its sign or by zeros.
template <class Part>
u32 part(u32 x, unsigned k) {
  return static_cast<u32>(s32{static_cast<Part>(x >> (k * bits_of<Part>))});
}
/// dp4a: four bytes times four bytes; dp2a: two half-words of a times two bytes of b, from byte `first` on.
template <class A, class B, unsigned first = 0>
struct DotProduct {
  u32 operator()(u32 a, u32 b, u32 c) const {
    for (unsigned k = 0; k < 4 / sizeof(A); ++k) c += part<A>(a, k) * part<B>(b, first + k);
    return c;
  }
};

/// cvt.pack: a and b clamped to `bits` bits, b lowest, and above them the low bits of c.
template <unsigned bits, bool is_signed>
struct PackIntegers {
  static u32 field(s32 x) {
    constexpr s32 lowest = is_signed ? -(1 << (bits - 1)) : 0;
    constexpr s32 highest = (1 << (is_signed ? bits - 1 : bits)) - 1;
    return static_cast<u32>(std::clamp(x, lowest, highest)) & ((1u << bits) - 1);
  }
  u32 operator()(s32 a, s32 b, u32 c = 0) const {
    return static_cast<u32>(u64{c} << (2 * bits)) | field(a) << bits | field(b);
  }
};

/// ".u32" or ".s32", for parts of that sign.
template <class Part>
const char* sign_name() {
  return std::is_signed_v<Part> ? ".s32" : ".u32";
}

}  // namespace

void add_integer_forms(Forms& forms) {
  for_types<u16, u32, u64, s16, s32, s64>([&]<class T>() {
    const std::string type = type_name<T>();
    using U = Unsigned<T>;
    forms.lanes<Add, U, U, U>("add" + type);
    forms.lanes<Subtract, U, U, U>("sub" + type);
    forms.lanes<MultiplyLow, U, U, U>("mul.lo" + type);
    forms.lanes<MultiplyAddLow, U, U, U, U>("mad.lo" + type);
    forms.lanes<Divide, T, T, T>("div" + type);
    forms.lanes<Remainder, T, T, T>("rem" + type);
    forms.lanes<Minimum, T, T, T>("min" + type);
    forms.lanes<Maximum, T, T, T>("max" + type);
    forms.rare<AddDistance, T, T, T, T>("sad" + type);
  });
  for_types<s16, s32, s64>([&]<class T>() {
    forms.lanes<Absolute, T, T>("abs" + type_name<T>());
    forms.lanes<Negate, Unsigned<T>, Unsigned<T>>("neg" + type_name<T>());
  });
  forms.rare<SaturatedAdd, s32, s32, s32>("add.sat.s32");
  forms.rare<SaturatedSubtract, s32, s32, s32>("sub.sat.s32");
  forms.rare<Relu<Minimum>, s32, s32, s32>("min.relu.s32");
  forms.rare<Relu<Maximum>, s32, s32, s32>("max.relu.s32");
  for_types<u32, s32>([&]<class T>() {
    forms.rare<Multiply24Low, T, T, T>("mul24.lo" + type_name<T>());
    forms.rare<Multiply24High, T, T, T>("mul24.hi" + type_name<T>());
    forms.rare<MultiplyAdd24<Multiply24Low>, T, T, T, T>("mad24.lo" + type_name<T>());
    forms.rare<MultiplyAdd24<Multiply24High>, T, T, T, T>("mad24.hi" + type_name<T>());
  });
  forms.rare<SaturatedMultiplyAdd24High, s32, s32, s32, s32>("mad24.hi.sat.s32");

  for_types<u16, s16>([&]<class T>() {
    const std::string type = type_name<T>() + "x2";
    forms.rare<Pairwise<Add, u16>, u32, u32, u32>("add" + type);
    forms.rare<Pairwise<Minimum, T>, u32, u32, u32>("min" + type);
    forms.rare<Pairwise<Maximum, T>, u32, u32, u32>("max" + type);
  });
  forms.rare<Pairwise<Relu<Minimum>, s16>, u32, u32, u32>("min.relu.s16x2");
  forms.rare<Pairwise<Relu<Maximum>, s16>, u32, u32, u32>("max.relu.s16x2");
  for_types<u8, s8>([&]<class B>() {
    for_types<u8, s8>([&]<class A>() {
      forms.rare<DotProduct<A, B>, u32, u32, u32, u32>(std::string("dp4a") + sign_name<A>() + sign_name<B>());
    });
    for_types<u16, s16>([&]<class A>() {
      forms.rare<DotProduct<A, B, 0>, u32, u32, u32, u32>(std::string("dp2a.lo") + sign_name<A>() + sign_name<B>());
      forms.rare<DotProduct<A, B, 2>, u32, u32, u32, u32>(std::string("dp2a.hi") + sign_name<A>() + sign_name<B>());
    });
  });
  forms.rare<PackIntegers<16, false>, u32, s32, s32>("cvt.pack.sat.u16.s32");
  forms.rare<PackIntegers<16, true>, u32, s32, s32>("cvt.pack.sat.s16.s32");
  forms.rare<PackIntegers<8, false>, u32, s32, s32, u32>("cvt.pack.sat.u8.s32.b32");
  forms.rare<PackIntegers<8, true>, u32, s32, s32, u32>("cvt.pack.sat.s8.s32.b32");
  forms.rare<PackIntegers<4, false>, u32, s32, s32, u32>("cvt.pack.sat.u4.s32.b32");
  forms.rare<PackIntegers<4, true>, u32, s32, s32, u32>("cvt.pack.sat.s4.s32.b32");
  forms.rare<PackIntegers<2, false>, u32, s32, s32, u32>("cvt.pack.sat.u2.s32.b32");
  forms.rare<PackIntegers<2, true>, u32, s32, s32, u32>("cvt.pack.sat.s2.s32.b32");
}

}  // namespace scanlab::vgpu
