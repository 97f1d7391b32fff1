// f16 and bf16 arithmetic, alone and in pairs (PTX ISA, Half Precision Floating Point Instructions).
//
// Sums and products of f16 have so few bits that rounding them to f32 first changes nothing; fma and everything of bf16
// goes through f64 and rounding to odd. So each result is rounded once.
#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

template <class H>
u16 bits_of_half(H x) {
  return static_cast<u16>(x);
}

template <class H>
bool is_nan(H x) {
  return (bits_of_half(x) & 0x7fffu) > infinity_bits<H>;
}
template <class H>
H canonical_half(H x) {
  return is_nan(x) ? static_cast<H>(canonical_nan_f16) : x;
}

struct Add {
  f16 operator()(f16 a, f16 b) const { return narrow<f16>(widen(a) + widen(b)); }
  bf16 operator()(bf16 a, bf16 b) const { return narrow<bf16>(odd_sum(widen(a), widen(b))); }
};
struct Subtract {
  f16 operator()(f16 a, f16 b) const { return narrow<f16>(widen(a) - widen(b)); }
  bf16 operator()(bf16 a, bf16 b) const { return narrow<bf16>(odd_sum(widen(a), -f64{widen(b)})); }
};
struct Multiply {
  f16 operator()(f16 a, f16 b) const { return narrow<f16>(widen(a) * widen(b)); }
  bf16 operator()(bf16 a, bf16 b) const { return narrow<bf16>(f64{widen(a)} * f64{widen(b)}); }
};
template <Rounding rounding = Rounding::nearest>
struct FusedMultiplyAdd {
  template <class H>
  H operator()(H a, H b, H c) const {
    return narrow<H>(odd_sum(f64{widen(a)} * f64{widen(b)}, f64{widen(c)}), rounding);
  }
};

enum class Clamp : u8 { none, sat, relu };

/// An operation with PTX's modifiers.
template <class Op, bool ftz = false, Clamp clamp = Clamp::none>
struct Modified {
  template <class... H>
  auto operator()(H... operands) const {
    const auto result = flushed_if<ftz>(Op{}(flushed_if<ftz>(operands)...));
    using R = std::remove_const_t<decltype(result)>;
    const bool negative = (bits_of_half(result) & 0x8000u) != 0;
    if constexpr (clamp == Clamp::sat) {
      constexpr u16 one = std::is_same_v<R, f16> ? 0x3c00 : 0x3f80;
      const u16 magnitude = bits_of_half(result);
      return static_cast<R>(is_nan(result) || negative ? u16{0} : magnitude < one ? magnitude : one);
    } else if constexpr (clamp == Clamp::relu) {
      return is_nan(result) ? result : negative ? static_cast<R>(u16{0}) : result;
    } else {
      return result;
    }
  }
};

using Negate = decltype([]<class H>(H a) { return canonical_half(static_cast<H>(bits_of_half(a) ^ 0x8000u)); });
using Absolute = decltype([]<class H>(H a) { return canonical_half(static_cast<H>(bits_of_half(a) & 0x7fffu)); });

enum class NanRule : u8 { number, nan };
enum class SignRule : u8 { plain, xorsign_abs };

/// The bits as an integer that is ordered like the numbers, -0 before +0.
template <class H>
s32 order(H x) {
  const s32 bits = static_cast<s16>(bits_of_half(x));
  return bits < 0 ? bits ^ 0x7fff : bits;
}
template <bool is_minimum, bool ftz = false, NanRule nan_rule = NanRule::number, SignRule sign_rule = SignRule::plain>
struct Extreme {
  template <class H>
  H operator()(H a, H b) const {
    a = flushed_if<ftz>(a);
    b = flushed_if<ftz>(b);
    const u16 sign = sign_rule == SignRule::xorsign_abs ? (bits_of_half(a) ^ bits_of_half(b)) & 0x8000u : 0;
    if constexpr (sign_rule == SignRule::xorsign_abs) {
      a = static_cast<H>(bits_of_half(a) & 0x7fffu);
      b = static_cast<H>(bits_of_half(b) & 0x7fffu);
    }
    const bool takes_a = (order(a) < order(b)) == is_minimum;
    H result = takes_a ? a : b;
    if (is_nan(a))
      result = nan_rule == NanRule::nan ? a : b;
    else if (is_nan(b))
      result = nan_rule == NanRule::nan ? b : a;
    return canonical_half(static_cast<H>(bits_of_half(result) | sign));
  }
};

/// The form for H and the form for a pair of them, which counts as one addition too.
template <class Op, class H, std::size_t... k>
[[gnu::cold]] void add_both(Forms& forms, const std::string& name, std::index_sequence<k...>,
                            bool is_addition = false) {
  forms.rare<Op, H, Repeat<H, k>...>(name + type_name<H>(), is_addition);
  forms.rare<Pairwise<Op, H>, u32, Repeat<u32, k>...>(name + type_name<H>() + "x2", is_addition);
}

/// opcode{.rn}{.ftz}{.sat}; bf16 has neither .ftz nor .sat.
template <class Op, class H>
[[gnu::cold]] void add_arithmetic(Forms& forms, const std::string& opcode, bool is_addition) {
  for (const char* rounding : {"", ".rn"}) {
    const std::string name = opcode + rounding;
    add_both<Modified<Op>, H>(forms, name, TwoSources{}, is_addition);
    if constexpr (std::is_same_v<H, f16>) {
      add_both<Modified<Op, true>, H>(forms, name + ".ftz", TwoSources{}, is_addition);
      add_both<Modified<Op, false, Clamp::sat>, H>(forms, name + ".sat", TwoSources{}, is_addition);
      add_both<Modified<Op, true, Clamp::sat>, H>(forms, name + ".ftz.sat", TwoSources{}, is_addition);
    }
  }
}
template <bool is_minimum, bool ftz, class H>
[[gnu::cold]] void add_extremes(Forms& forms, const std::string& name) {
  using enum NanRule;
  using enum SignRule;
  add_both<Extreme<is_minimum, ftz>, H>(forms, name, TwoSources{});
  add_both<Extreme<is_minimum, ftz, nan>, H>(forms, name + ".NaN", TwoSources{});
  add_both<Extreme<is_minimum, ftz, number, xorsign_abs>, H>(forms, name + ".xorsign.abs", TwoSources{});
  add_both<Extreme<is_minimum, ftz, nan, xorsign_abs>, H>(forms, name + ".NaN.xorsign.abs", TwoSources{});
}

}  // namespace

void add_half_forms(Forms& forms) {
  for_types<f16, bf16>([&]<class H>() {
    add_arithmetic<Add, H>(forms, "add", true);
    add_arithmetic<Subtract, H>(forms, "sub", true);
    add_arithmetic<Multiply, H>(forms, "mul", false);
    add_both<Modified<FusedMultiplyAdd<>>, H>(forms, "fma.rn", ThreeSources{}, true);
    add_both<Modified<FusedMultiplyAdd<>, false, Clamp::relu>, H>(forms, "fma.rn.relu", ThreeSources{}, true);
    add_both<Modified<Negate>, H>(forms, "neg", OneSource{});
    add_both<Modified<Absolute>, H>(forms, "abs", OneSource{});
    add_extremes<true, false, H>(forms, "min");
    add_extremes<false, false, H>(forms, "max");
  });
  add_both<Modified<FusedMultiplyAdd<>, true>, f16>(forms, "fma.rn.ftz", ThreeSources{}, true);
  add_both<Modified<FusedMultiplyAdd<>, false, Clamp::sat>, f16>(forms, "fma.rn.sat", ThreeSources{}, true);
  add_both<Modified<FusedMultiplyAdd<>, true, Clamp::sat>, f16>(forms, "fma.rn.ftz.sat", ThreeSources{}, true);
  add_both<Modified<FusedMultiplyAdd<>, true, Clamp::relu>, f16>(forms, "fma.rn.ftz.relu", ThreeSources{}, true);
  add_both<Modified<Negate, true>, f16>(forms, "neg.ftz", OneSource{});
  add_both<Modified<Absolute, true>, f16>(forms, "abs.ftz", OneSource{});
  const auto add_fma = [&]<Rounding rounding>(const std::string& name) {
    using Fma = FusedMultiplyAdd<rounding>;
    add_both<Modified<Fma>, bf16>(forms, name, ThreeSources{}, true);
    add_both<Modified<Fma, false, Clamp::relu>, bf16>(forms, name + ".relu", ThreeSources{}, true);
  };
  add_fma.template operator()<Rounding::zero>("fma.rz");
  add_fma.template operator()<Rounding::down>("fma.rm");
  add_fma.template operator()<Rounding::up>("fma.rp");
  add_extremes<true, true, f16>(forms, "min.ftz");
  add_extremes<false, true, f16>(forms, "max.ftz");
}

}  // namespace scanlab::vgpu
