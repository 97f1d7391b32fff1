// f32 and f64 arithmetic that IEEE 754 defines to the last bit (PTX ISA, Floating Point Instructions).
//
// Directed roundings are the host's own, switched for the 32 lanes of one instruction (HostRounding). The remaining
// forms of div, rcp and sqrt are in approx.cpp.
#include <cmath>
#include <functional>
#include <limits>

#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

using Add = std::plus<>;
using Subtract = std::minus<>;
using Multiply = std::multiplies<>;
using Divide = std::divides<>;
using FusedMultiplyAdd = decltype([](auto a, auto b, auto c) { return std::fma(a, b, c); });
using Reciprocal = decltype([]<class T>(T a) { return T{1} / a; });
using SquareRoot = decltype([](auto a) { return std::sqrt(a); });

/// Of several f64 operands that are NaN the second is kept, else the first, else the third (seen on an H200); the
/// host's choice is the compiler's.
inline f64 with_payload(f64 result, f64 a, f64 b) {
  return b != b ? b : a != a ? a : result;
}
inline f64 with_payload(f64 result, f64 a, f64 b, f64 c) {
  return b != b ? b : c != c ? c : a != a ? a : result;
}

/// Whether .ftz flushes a product or a quotient although it rounds up to the smallest normal number: a result counts as
/// subnormal when it is below that number rounded to 24 bits whatever its exponent (seen on an H200). Found out 64
/// binades further up; an overflow there is never about a small result.
inline bool is_tiny(Multiply, f32 a, f32 b) {
  return std::fabs(a * 0x1p64f * b) < 0x1p-62f;
}
inline bool is_tiny(Divide, f32 a, f32 b) {
  return std::fabs(a * 0x1p64f / b) < 0x1p-62f;
}
inline bool is_tiny(FusedMultiplyAdd, f32 a, f32 b, f32 c) {
  return std::fabs(std::fma(a * 0x1p64f, b, c * 0x1p64f)) < 0x1p-62f;
}

template <class Op, class... Others>
inline constexpr bool is_one_of = (std::is_same_v<Op, Others> || ...);
template <class Op>
inline constexpr bool may_be_tiny = is_one_of<Op, Multiply, Divide, FusedMultiplyAdd>;
template <class Op>
inline constexpr bool keeps_payload = is_one_of<Op, Add, Subtract, Multiply, FusedMultiplyAdd>;

/// An IEEE operation with PTX's modifiers.
template <class Op, bool ftz = false, bool sat = false>
struct Modified {
  template <class... T>
  auto operator()(T... operands) const {
    auto result = flushed_if<ftz>(Op{}(flushed_if<ftz>(operands)...));
    using Result = decltype(result);
    if constexpr (ftz && may_be_tiny<Op> && std::is_same_v<Result, f32>)
      result = is_tiny(Op{}, flushed(operands)...) ? std::copysign(0.0f, result) : result;
    if constexpr (keeps_payload<Op> && std::is_same_v<Result, f64>) result = with_payload(result, operands...);
    if constexpr (sat)
      return saturated(result);
    else
      return canonical(result);
  }
};

// min and max: of a number and a NaN the number; -0 is less than +0. With .NaN any NaN wins. With .xorsign.abs the
// magnitudes are compared and the signs multiplied.

enum class NanRule : u8 { number, nan };
enum class SignRule : u8 { plain, xorsign_abs };

template <class T>
T bits_as(Unsigned<T> bits) {
  return std::bit_cast<T>(bits);
}
template <class T>
Unsigned<T> bits(T x) {
  return std::bit_cast<Unsigned<T>>(x);
}
template <class T>
inline constexpr Unsigned<T> sign_bit = Unsigned<T>{1} << (bits_of<T> - 1);

/// Of equal numbers only the zeros differ, and -0 has a bit more.
using Less = decltype([]<class T>(T a, T b) {
  const T smaller = a < b ? a : b;
  return a == b ? bits_as<T>(bits(a) | bits(b)) : smaller;
});
using Greater = decltype([]<class T>(T a, T b) {
  const T larger = a > b ? a : b;
  return a == b ? bits_as<T>(bits(a) & bits(b)) : larger;
});
template <class Pick, bool ftz = false, NanRule nan_rule = NanRule::number, SignRule sign_rule = SignRule::plain>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    a = flushed_if<ftz>(a);
    b = flushed_if<ftz>(b);
    const Unsigned<T> sign = (bits(a) ^ bits(b)) & sign_bit<T>;
    if constexpr (sign_rule == SignRule::xorsign_abs) {
      a = bits_as<T>(bits(a) & ~sign_bit<T>);
      b = bits_as<T>(bits(b) & ~sign_bit<T>);
    }
    const T picked = Pick{}(a, b);
    const bool a_is_number = a == a, b_is_number = b == b;
    T result = a_is_number ? (b_is_number ? picked : a) : b;
    if constexpr (nan_rule == NanRule::nan) result = a_is_number ? (b_is_number ? picked : b) : a;
    if constexpr (sign_rule == SignRule::xorsign_abs) result = bits_as<T>(bits(result) | sign);
    return canonical(result);
  }
};

/// The sign of a NaN stays (f64), or is the canonical one's (f32).
template <bool ftz>
struct Absolute {
  template <class T>
  T operator()(T a) const {
    return canonical(a == a ? bits_as<T>(bits(flushed_if<ftz>(a)) & ~sign_bit<T>) : a);
  }
};
template <bool ftz>
struct Negate {
  template <class T>
  T operator()(T a) const {
    return canonical(a == a ? bits_as<T>(bits(flushed_if<ftz>(a)) ^ sign_bit<T>) : a);
  }
};
/// copysign: the sign of a on the magnitude of b.
using CopySign = decltype([]<class T>(T a, T b) {
  return bits_as<T>((bits(a) & sign_bit<T>) | (bits(b) & ~sign_bit<T>));
});

// --- testp -----------------------------------------------------------------------------------------------------------

template <class T>
Unsigned<T> magnitude(T x) {
  return bits(x) & ~sign_bit<T>;
}
template <class T>
const Unsigned<T> infinity = bits(std::numeric_limits<T>::infinity());
template <class T>
const Unsigned<T> smallest_normal = bits(std::numeric_limits<T>::min());

using IsFinite = decltype([]<class T>(T x) { return magnitude(x) < infinity<T>; });
using IsInfinite = decltype([]<class T>(T x) { return magnitude(x) == infinity<T>; });
using IsNumber = decltype([]<class T>(T x) { return magnitude(x) <= infinity<T>; });
using IsNotANumber = decltype([]<class T>(T x) { return magnitude(x) > infinity<T>; });
using IsSubnormal = decltype([]<class T>(T x) { return magnitude(x) != 0 && magnitude(x) < smallest_normal<T>; });
/// Zeros count as normal.
using IsNormal = decltype([]<class T>(T x) { return IsFinite{}(x) && !IsSubnormal{}(x); });

template <class Test, class T>
const Inst* test(Warp& warp, const Inst* inst) {
  const T* const a = lanes_at<T>(warp, inst->op[1]);
  Mask passed = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) passed |= static_cast<Mask>(Test{}(a[lane])) << lane;
  write_predicate(warp, inst->op[0], passed);
  return proceed(warp, inst + 1);
}

// --- the forms -------------------------------------------------------------------------------------------------------

enum class Saturation : u8 { none, offered };

struct NamedRounding {
  const char* name;
  Rounding to;
};
constexpr NamedRounding directed_roundings[] = {
    {".rz", Rounding::zero}, {".rm", Rounding::down}, {".rp", Rounding::up}};

/// opcode.rnd{.ftz}.f32 and opcode.rnd.f64; opcode.rnd{.ftz}.sat.f32 where it is offered.
template <class Op, std::size_t... k>
void add_arithmetic(Forms& forms, const std::string& opcode, std::index_sequence<k...>, Saturation saturation,
                    bool is_addition) {
  const auto add = [&]<class T, bool ftz, bool sat>(const std::string& tail) {
    using Operation = Modified<Op, ftz, sat>;
    forms.lanes<Operation, T, Repeat<T, k>...>(opcode + ".rn" + tail, is_addition);
    for (const auto& [rounding, to] : directed_roundings)
      forms.rounded<Operation, T, Repeat<T, k>...>(opcode + rounding + tail, to, is_addition);
  };
  add.template operator()<f32, false, false>(".f32");
  add.template operator()<f32, true, false>(".ftz.f32");
  add.template operator()<f64, false, false>(".f64");
  if (saturation == Saturation::none) return;
  add.template operator()<f32, false, true>(".sat.f32");
  add.template operator()<f32, true, true>(".ftz.sat.f32");
}
/// add, sub, mul: also without a rounding, which is to nearest. ptxas may contract such a mul and add; here that is
/// never done.
template <class Op>
void add_basic(Forms& forms, const std::string& opcode, bool is_addition) {
  add_arithmetic<Op>(forms, opcode, TwoSources{}, Saturation::offered, is_addition);
  forms.lanes<Modified<Op>, f32, f32, f32>(opcode + ".f32", is_addition);
  forms.lanes<Modified<Op, true>, f32, f32, f32>(opcode + ".ftz.f32", is_addition);
  forms.lanes<Modified<Op>, f64, f64, f64>(opcode + ".f64", is_addition);
  forms.lanes<Modified<Op, false, true>, f32, f32, f32>(opcode + ".sat.f32", is_addition);
  forms.lanes<Modified<Op, true, true>, f32, f32, f32>(opcode + ".ftz.sat.f32", is_addition);
}

template <class Pick>
void add_extremes(Forms& forms, const std::string& name) {
  const auto add = [&]<bool ftz>(const std::string& prefix) {
    using enum NanRule;
    using enum SignRule;
    forms.lanes<Extreme<Pick, ftz>, f32, f32, f32>(prefix + ".f32");
    forms.rare<Extreme<Pick, ftz, nan>, f32, f32, f32>(prefix + ".NaN.f32");
    forms.rare<Extreme<Pick, ftz, number, xorsign_abs>, f32, f32, f32>(prefix + ".xorsign.abs.f32");
    forms.rare<Extreme<Pick, ftz, nan, xorsign_abs>, f32, f32, f32>(prefix + ".NaN.xorsign.abs.f32");
  };
  add.template operator()<false>(name);
  add.template operator()<true>(name + ".ftz");
  forms.lanes<Extreme<Pick>, f64, f64, f64>(name + ".f64");
}

template <class Test>
void add_test(Forms& forms, const std::string& property) {
  forms.add("testp." + property + ".f32", test<Test, f32>, {ptx::Type::pred, ptx::Type::f32});
  forms.add("testp." + property + ".f64", test<Test, f64>, {ptx::Type::pred, ptx::Type::f64});
}

}  // namespace

void add_float_forms(Forms& forms) {
  add_basic<Add>(forms, "add", true);
  add_basic<Subtract>(forms, "sub", true);
  add_basic<Multiply>(forms, "mul", false);
  add_arithmetic<FusedMultiplyAdd>(forms, "fma", ThreeSources{}, Saturation::offered, true);
  add_arithmetic<FusedMultiplyAdd>(forms, "mad", ThreeSources{}, Saturation::offered, true);
  add_arithmetic<Divide>(forms, "div", TwoSources{}, Saturation::none, false);
  add_arithmetic<Reciprocal>(forms, "rcp", OneSource{}, Saturation::none, false);
  add_arithmetic<SquareRoot>(forms, "sqrt", OneSource{}, Saturation::none, false);
  add_extremes<Less>(forms, "min");
  add_extremes<Greater>(forms, "max");
  forms.lanes<Absolute<false>, f32, f32>("abs.f32");
  forms.lanes<Absolute<true>, f32, f32>("abs.ftz.f32");
  forms.lanes<Absolute<false>, f64, f64>("abs.f64");
  forms.lanes<Negate<false>, f32, f32>("neg.f32");
  forms.lanes<Negate<true>, f32, f32>("neg.ftz.f32");
  forms.lanes<Negate<false>, f64, f64>("neg.f64");
  forms.rare<CopySign, f32, f32, f32>("copysign.f32");
  forms.rare<CopySign, f64, f64, f64>("copysign.f64");
  add_test<IsFinite>(forms, "finite");
  add_test<IsInfinite>(forms, "infinite");
  add_test<IsNumber>(forms, "number");
  add_test<IsNotANumber>(forms, "notanumber");
  add_test<IsNormal>(forms, "normal");
  add_test<IsSubnormal>(forms, "subnormal");
}

}  // namespace scanlab::vgpu
