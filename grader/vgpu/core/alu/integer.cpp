// Integer arithmetic whose result is as wide as its operands (PTX ISA, Integer Arithmetic Instructions).
#include <limits>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

// Wrapping operations are computed on unsigned types: their low bits do not depend on the sign.

/// Multiplication that never promotes to a signed int.
template <class T>
constexpr T wrapping_product(T a, T b) {
  return static_cast<T>(static_cast<std::common_type_t<T, u32>>(a) * static_cast<std::common_type_t<T, u32>>(b));
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct MultiplyLow {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_product(a, b);
  }
};
struct MultiplyAddLow {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(wrapping_product(a, b) + c);
  }
};

s32 saturated(s64 value) {
  constexpr s64 low = std::numeric_limits<s32>::min(), high = std::numeric_limits<s32>::max();
  return static_cast<s32>(value < low ? low : value > high ? high : value);
}
struct SaturatedAdd {
  s32 operator()(s32 a, s32 b) const { return saturated(s64{a} + b); }
};
struct SaturatedSubtract {
  s32 operator()(s32 a, s32 b) const { return saturated(s64{a} - b); }
};

// PTX leaves division by zero open; NVIDIA's GPUs give all ones for the quotient and the dividend for the remainder.
// min / -1 wraps. Narrow operands are divided in 32 bits.
template <class T>
using Dividend = std::conditional_t<sizeof(T) == 8, T, std::conditional_t<std::is_signed_v<T>, s32, u32>>;

struct Divide {
  static constexpr bool is_costly = true;
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
    return static_cast<T>(Dividend<T>{a} / Dividend<T>{b});
  }
};
struct Remainder {
  static constexpr bool is_costly = true;
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(Dividend<T>{a} % Dividend<T>{b});
  }
};

struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
/// min.relu and max.relu: negative results become 0.
template <class Op>
struct Relu {
  s32 operator()(s32 a, s32 b) const {
    const s32 value = Op{}(a, b);
    return value < 0 ? 0 : value;
  }
};

struct Negate {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(T{0} - a);
  }
};
/// |min| wraps to min.
struct Absolute {
  template <class T>
  T operator()(T a) const {
    using U = Unsigned<T>;
    return static_cast<T>(a < 0 ? static_cast<U>(U{0} - static_cast<U>(a)) : static_cast<U>(a));
  }
};
/// sad: c + |a - b|.
struct AddDistance {
  template <class T>
  T operator()(T a, T b, T c) const {
    using U = Unsigned<T>;
    const U distance =
        static_cast<U>(a < b ? static_cast<U>(b) - static_cast<U>(a) : static_cast<U>(a) - static_cast<U>(b));
    return static_cast<T>(static_cast<U>(c) + distance);
  }
};

/// The product of the low 24 bits, signed or not: 48 bits.
template <class T>
s64 product24(T a, T b) {
  const auto low24 = [](T x) { return static_cast<s64>(static_cast<T>(static_cast<u32>(x) << 8) >> 8); };
  return low24(a) * low24(b);
}
struct Multiply24Low {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(product24(a, b));
  }
};
struct Multiply24High {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(product24(a, b) >> 16);
  }
};
template <class Multiply>
struct MultiplyAdd24 {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(static_cast<u32>(Multiply{}(a, b)) + static_cast<u32>(c));
  }
};
struct SaturatedMultiplyAdd24High {
  s32 operator()(s32 a, s32 b, s32 c) const { return saturated(s64{Multiply24High{}(a, b)} + c); }
};

/// Applies `Op` to two 16-bit halves of a register.
template <class Op, class Half>
struct Halves {
  u32 operator()(u32 a, u32 b) const {
    const auto low = static_cast<u16>(Op{}(static_cast<Half>(a), static_cast<Half>(b)));
    const auto high = static_cast<u16>(Op{}(static_cast<Half>(a >> 16), static_cast<Half>(b >> 16)));
    return low | u32{high} << 16;
  }
};
template <class Op>
struct Relu16 {
  s16 operator()(s16 a, s16 b) const {
    const s16 value = Op{}(a, b);
    return value < 0 ? s16{0} : value;
  }
};

Forms integer_forms() {
  Forms forms;
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
    forms.rare<Halves<Add, u16>, u32, u32, u32>("add" + type);
    forms.rare<Halves<Minimum, T>, u32, u32, u32>("min" + type);
    forms.rare<Halves<Maximum, T>, u32, u32, u32>("max" + type);
  });
  forms.rare<Halves<Relu16<Minimum>, s16>, u32, u32, u32>("min.relu.s16x2");
  forms.rare<Halves<Relu16<Maximum>, s16>, u32, u32, u32>("max.relu.s16x2");
  return forms;
}

}  // namespace

std::optional<AluSelection> select_integer(const ptx::Instruction& instruction) {
  static const Forms forms = integer_forms();
  return forms.find(instruction);
}

}  // namespace scanlab::vgpu
