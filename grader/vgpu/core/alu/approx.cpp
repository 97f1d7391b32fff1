// The approximate functions (PTX ISA: div, rcp, sqrt and rsqrt with .approx, div.full, ex2, lg2, sin, cos, tanh).
//
// PTX bounds their errors and fixes special values; here they are correctly rounded from f64 (the trigonometric ones up
// to the host library's error), which every bound allows. They need not have a GPU's bits.
#include <cmath>
#include <functional>
#include <limits>

#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

/// div.approx is a·(1/b): for |b| above 2^126 the reciprocal is 0, so that the quotient is 0, or NaN for an infinite a.
using DivideApprox = decltype([](f32 a, f32 b) {
  const f32 magnitude = std::fabs(b);
  const bool vanishes = magnitude > 0x1p126f && magnitude <= std::numeric_limits<f32>::max();
  return vanishes ? a * std::copysign(0.0f, b) : a / b;
});
using DivideFull = std::divides<>;
using Reciprocal = decltype([](f32 a) { return 1.0f / a; });
using SquareRoot = decltype([](f32 a) { return std::sqrt(a); });
using ReciprocalRoot = decltype([]<class T>(T a) { return static_cast<T>(1.0 / std::sqrt(f64{a})); });
using PowerOfTwo = Costly<decltype([](f32 a) { return static_cast<f32>(std::exp2(f64{a})); })>;
using BinaryLogarithm = Costly<decltype([](f32 a) { return static_cast<f32>(std::log2(f64{a})); })>;
using Sine = Costly<decltype([](f32 a) { return static_cast<f32>(std::sin(f64{a})); })>;
using Cosine = Costly<decltype([](f32 a) { return static_cast<f32>(std::cos(f64{a})); })>;
using HyperbolicTangent = Costly<decltype([](f32 a) { return static_cast<f32>(std::tanh(f64{a})); })>;

template <class Op, bool ftz>
struct Flushed {
  template <class... T>
  auto operator()(T... operands) const {
    return canonical(flushed_if<ftz>(Op{}(flushed_if<ftz>(operands)...)));
  }
};
template <class Op, bool ftz>
using Approx = std::conditional_t<is_costly<Op>(), Costly<Flushed<Op, ftz>>, Flushed<Op, ftz>>;

/// The 16-bit forms, through f32.
template <class Op, class H, bool ftz>
struct ApproxHalf {
  static constexpr bool is_costly = true;
  H operator()(H a) const { return flushed_if<ftz>(narrow<H>(Op{}(widen(flushed_if<ftz>(a))))); }
};
template <class Op, class H, bool ftz>
using ApproxPair = Costly<Pairwise<ApproxHalf<Op, H, ftz>, H>>;

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 look at the upper 32 bits of the operand only and give the upper 32 bits
/// of a result whose lower half is zero.
f64 upper_half(f64 x) {
  return std::bit_cast<f64>(std::bit_cast<u64>(x) & 0xffffffff00000000ull);
}
/// The nearest such number.
f64 rounded_to_upper_half(f64 x) {
  const u64 bits = std::bit_cast<u64>(x);
  return std::isfinite(x) ? upper_half(std::bit_cast<f64>(bits + 0x80000000ull)) : x;
}
using GrossReciprocal = decltype([](f64 a) {
  return canonical(rounded_to_upper_half(flushed(1.0 / flushed(upper_half(a)))));
});
using GrossReciprocalRoot = decltype([](f64 a) {
  return canonical(rounded_to_upper_half(1.0 / std::sqrt(flushed(upper_half(a)))));
});

template <class Op, std::size_t... k>
[[gnu::cold]] void add_f32(Forms& forms, const std::string& name, std::index_sequence<k...>) {
  forms.lanes<Approx<Op, false>, f32, Repeat<f32, k>...>(name + ".f32");
  forms.lanes<Approx<Op, true>, f32, Repeat<f32, k>...>(name + ".ftz.f32");
}

}  // namespace

void add_approx_forms(Forms& forms) {
  add_f32<DivideApprox>(forms, "div.approx", TwoSources{});
  add_f32<DivideFull>(forms, "div.full", TwoSources{});
  add_f32<Reciprocal>(forms, "rcp.approx", OneSource{});
  add_f32<SquareRoot>(forms, "sqrt.approx", OneSource{});
  add_f32<ReciprocalRoot>(forms, "rsqrt.approx", OneSource{});
  add_f32<PowerOfTwo>(forms, "ex2.approx", OneSource{});
  add_f32<BinaryLogarithm>(forms, "lg2.approx", OneSource{});
  add_f32<Sine>(forms, "sin.approx", OneSource{});
  add_f32<Cosine>(forms, "cos.approx", OneSource{});
  forms.rare<Approx<HyperbolicTangent, false>, f32, f32>("tanh.approx.f32");
  forms.rare<Approx<ReciprocalRoot, false>, f64, f64>("rsqrt.approx.f64");
  forms.rare<GrossReciprocal, f64, f64>("rcp.approx.ftz.f64");
  forms.rare<GrossReciprocalRoot, f64, f64>("rsqrt.approx.ftz.f64");
  forms.rare<ApproxHalf<PowerOfTwo, f16, false>, f16, f16>("ex2.approx.f16");
  forms.rare<ApproxPair<PowerOfTwo, f16, false>, u32, u32>("ex2.approx.f16x2");
  forms.rare<ApproxHalf<PowerOfTwo, bf16, true>, bf16, bf16>("ex2.approx.ftz.bf16");
  forms.rare<ApproxPair<PowerOfTwo, bf16, true>, u32, u32>("ex2.approx.ftz.bf16x2");
  forms.rare<ApproxHalf<HyperbolicTangent, f16, false>, f16, f16>("tanh.approx.f16");
  forms.rare<ApproxPair<HyperbolicTangent, f16, false>, u32, u32>("tanh.approx.f16x2");
  forms.rare<ApproxHalf<HyperbolicTangent, bf16, false>, bf16, bf16>("tanh.approx.bf16");
  forms.rare<ApproxPair<HyperbolicTangent, bf16, false>, u32, u32>("tanh.approx.bf16x2");
}

}  // namespace scanlab::vgpu
