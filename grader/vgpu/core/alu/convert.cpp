// cvt (PTX ISA, cvt); cvt.pack is in integer.cpp.
//
// The common conversions have a handler each. All others have one that finds out what to do from Inst::imm: it reads
// the source as numbers (f64) or integers of 64 bits, which hold every source value exactly, and writes the
// destination.
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>
#include <utility>

#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"
#include "vgpu/core/decode/frame_layout.hpp"

namespace scanlab::vgpu {

namespace {

/// What is done to a result that is out of range, or negative.
enum class Limit : u8 { none, sat, relu, satfinite, relu_satfinite };

/// Inst::imm.
struct Conversion {
  ptx::Type d = ptx::Type::none, s = ptx::Type::none;
  ptx::Type d_register = ptx::Type::none, s_register = ptx::Type::none;  ///< which may be wider than an integer
  Rounding to = Rounding::nearest;
  bool is_integral = false;  ///< rounds to an integral number
  bool flushes = false;      ///< .ftz
  Limit limit = Limit::none;
};
static_assert(sizeof(Conversion) == sizeof(u64));

bool is_half(ptx::Type type) {
  return type == ptx::Type::f16 || type == ptx::Type::bf16;
}
bool is_number(ptx::Type type) {
  return is_half(type) || type == ptx::Type::f32 || type == ptx::Type::f64;
}
bool is_integer(ptx::Type type) {
  return type >= ptx::Type::u8 && type <= ptx::Type::s64;
}

template <class Visit>
void with_number(ptx::Type type, Visit visit) {
  with_type<f16, bf16, f32, f64>(type, visit);
}
template <class Visit>
void with_integer(ptx::Type type, Visit visit) {
  with_type<u8, s8, u16, s16, u32, s32, u64, s64>(type, visit);
}

// --- to integers -----------------------------------------------------------------------------------------------------

/// An integral number, clamped. NaN becomes 0, or the top bit alone when f64 or a 64-bit integer is involved.
template <class D, class S>
D clamped(S x) {
  constexpr D lowest = std::numeric_limits<D>::min(), highest = std::numeric_limits<D>::max();
  constexpr S above = static_cast<S>(highest / 2 + 1) * 2;  // exact, unlike `highest`
  constexpr bool has_wide = std::is_same_v<S, f64> || sizeof(D) == 8;
  constexpr D for_nan = has_wide ? static_cast<D>(Unsigned<D>{1} << (bits_of<D> - 1)) : D{0};
  const S at_least = x > static_cast<S>(lowest) ? x : static_cast<S>(lowest);  // also for NaN
  const bool fits = at_least < above;
  const D value = static_cast<D>(fits ? at_least : S{0});
  return x == x ? (fits ? value : highest) : for_nan;
}
/// An integer, clamped.
template <class D, std::integral S>
D clamped(S x) {
  constexpr D lowest = std::numeric_limits<D>::min(), highest = std::numeric_limits<D>::max();
  if (std::cmp_less(x, lowest)) return lowest;
  return std::cmp_greater(x, highest) ? highest : static_cast<D>(x);
}

/// The active lanes of a register of `bytes` a lane.
void write_integers(Warp& warp, const Inst* inst, const u64* values, unsigned bytes) {
  std::byte* const to = warp.lanes<std::byte>(inst->op[0]);
  for (const unsigned lane : lanes_in(warp.active)) std::memcpy(to + lane * bytes, &values[lane], bytes);
}

// --- numbers ---------------------------------------------------------------------------------------------------------

/// A 64-bit integer as f64, rounded to odd.
inline f64 to_odd_f64(u64 x) {
  constexpr u64 cut = 0x7ff;
  if ((x >> 53) == 0) return static_cast<f64>(x);
  return static_cast<f64>((x & ~cut) | ((x & cut) != 0 ? cut + 1 : 0));
}
inline f64 to_odd_f64(s64 x) {
  return x < 0 ? -to_odd_f64(u64{0} - static_cast<u64>(x)) : to_odd_f64(static_cast<u64>(x));
}
inline f64 to_odd_f64(f64 x) {
  return x;
}

template <class H>
H narrowed(f64 x, Rounding to, Limit limit) {
  if (limit == Limit::sat) x = saturated(x);
  if ((limit == Limit::relu || limit == Limit::relu_satfinite) && x <= 0) x = 0;
  const u32 bits = static_cast<u16>(narrow<H>(x, to));
  const bool is_too_large = limit >= Limit::satfinite && (bits & 0x7fffu) == infinity_bits<H>;
  return static_cast<H>(is_too_large ? bits - 1 : bits);
}

/// To a floating-point format, rounded once.
template <class D, class Value>
void write_numbers(D* to, const Value* values, const Conversion& c, Mask active) {
  alignas(64) D results[warp_size];
  if constexpr (std::is_enum_v<D>) {
    // 16-bit formats are rounded by integer arithmetic and need the host as it is.
    for (unsigned lane = 0; lane < warp_size; ++lane)
      results[lane] = narrowed<D>(to_odd_f64(values[lane]), c.to, c.limit);
  } else {
    const HostRounding scope(c.to, results);
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const D number = static_cast<D>(values[lane]), kept = c.flushes ? flushed(number) : number;
      results[lane] = c.limit == Limit::sat ? saturated(kept) : canonical(kept);
    }
  }
  merge(to, results, active);
}

/// What op[1] holds, as values of type Value.
template <class Value, class S, class Register>
void read_values(Value* to, const Register* from, bool flushes) {
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if constexpr (std::is_enum_v<S>)
      to[lane] = widen(from[lane]);
    else if constexpr (std::is_floating_point_v<S>)
      to[lane] = flushes ? flushed(from[lane]) : from[lane];
    else
      to[lane] = static_cast<S>(from[lane]);
  }
}

// --- one handler for all ---------------------------------------------------------------------------------------------

const Inst* convert_number(Warp& warp, const Inst* inst, Conversion c) {
  alignas(64) f64 values[warp_size];
  // An H200 does not flush a subnormal f32 that becomes an f16, which shows where it rounds away from zero.
  const bool flushes = c.flushes && !is_half(c.d);
  with_number(c.s, [&]<class S>() { read_values<f64, S>(values, warp.lanes<S>(inst->op[1]), flushes); });
  if (c.is_integral) {
    const HostRounding scope(std::exchange(c.to, Rounding::nearest), values);
    for (f64& x : values) x = std::nearbyint(x);
  }
  with_number(c.d, [&]<class D>() { write_numbers(warp.lanes<D>(inst->op[0]), values, c, warp.active); });
  with_integer(c.d, [&]<class D>() {
    u64 results[warp_size];
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const bool is_zero = values[lane] != values[lane] && c.s != ptx::Type::f64 && sizeof(D) < 8;
      results[lane] = is_zero ? 0 : static_cast<u64>(clamped<D>(values[lane]));
    }
    write_integers(warp, inst, results, ptx::size_of(c.d_register));
  });
  return proceed(warp, inst + 1);
}

template <class Value>
const Inst* convert_integer(Warp& warp, const Inst* inst, Conversion c) {
  c.flushes = false;  // no integer becomes a subnormal number
  alignas(64) Value values[warp_size];
  with_integer(c.s, [&]<class S>() {
    with_type<u16, u32, u64>(c.s_register,
                             [&]<class R>() { read_values<Value, S>(values, warp.lanes<R>(inst->op[1]), false); });
  });
  with_number(c.d, [&]<class D>() { write_numbers(warp.lanes<D>(inst->op[0]), values, c, warp.active); });
  with_integer(c.d, [&]<class D>() {
    u64 results[warp_size];
    for (unsigned lane = 0; lane < warp_size; ++lane)
      results[lane] = static_cast<u64>(c.limit == Limit::sat ? clamped<D>(values[lane]) : static_cast<D>(values[lane]));
    write_integers(warp, inst, results, ptx::size_of(c.d_register));
  });
  return proceed(warp, inst + 1);
}

const Inst* convert(Warp& warp, const Inst* inst) {
  const auto c = std::bit_cast<Conversion>(inst->imm);
  if (is_number(c.s)) return convert_number(warp, inst, c);
  return ptx::is_signed(c.s) ? convert_integer<s64>(warp, inst, c) : convert_integer<u64>(warp, inst, c);
}

/// cvt.….f16x2.f32 d, a, b: a in the high half.
template <class H>
const Inst* convert_to_pair(Warp& warp, const Inst* inst) {
  const auto c = std::bit_cast<Conversion>(inst->imm);
  const f32 *const a = lanes_at<f32>(warp, inst->op[1]), *const b = lanes_at<f32>(warp, inst->op[2]);
  const auto half = [&](f32 x) { return u32{static_cast<u16>(narrowed<H>(x, c.to, c.limit))}; };
  for (const unsigned lane : lanes_in(warp.active))
    warp.lanes<u32>(inst->op[0])[lane] = half(a[lane]) << 16 | half(b[lane]);
  return proceed(warp, inst + 1);
}

// --- the common conversions ------------------------------------------------------------------------------------------

/// .rni .rzi .rmi .rpi; while the host rounds so, std::nearbyint does the same.
template <Rounding to, class T>
T integral(T x) {
  if constexpr (to == Rounding::nearest) return std::nearbyint(x);
  if constexpr (to == Rounding::zero) return std::trunc(x);
  if constexpr (to == Rounding::down) return std::floor(x);
  return std::ceil(x);
}
template <class D, Rounding to>
struct FloatToInteger {
  template <class S>
  D operator()(S a) const {
    return clamped<D>(integral<to>(a));
  }
};
template <class D, class S>
Handler float_to_integer(Rounding to) {
  constexpr Handler by_rounding[] = {
      lanewise<FloatToInteger<D, Rounding::nearest>, D, S>, lanewise<FloatToInteger<D, Rounding::zero>, D, S>,
      lanewise<FloatToInteger<D, Rounding::down>, D, S>, lanewise<FloatToInteger<D, Rounding::up>, D, S>};
  return by_rounding[static_cast<u8>(to)];
}

/// A number as another type. A NaN keeps its sign and the upper part of its payload, as on the host.
template <class D>
struct As {
  template <class S>
  D operator()(S a) const {
    return static_cast<D>(a);
  }
};
using HalfToF32 = decltype([](auto a) { return canonical(widen(a)); });
template <class H>
struct NarrowToHalf {
  H operator()(f32 a) const { return narrow<H>(a); }
};

/// tf32 keeps 10 bits of the fraction, of a NaN's payload too; .rna rounds ties away from zero.
using NarrowToTf32 = decltype([](f32 a) {
  const u32 bits = std::bit_cast<u32>(a);
  if (a != a) return bits & ~0x1fffu;
  const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
  return is_finite ? (bits + 0x1000u) & ~0x1fffu : bits;
});
/// .satfinite: the largest number instead of infinity, the canonical NaN.
using NarrowToFiniteTf32 = decltype([](f32 a) {
  const u32 result = NarrowToTf32{}(a);
  if (a != a) return canonical_nan_f32;
  return (result & 0x7f800000u) == 0x7f800000u ? (result & 0x80000000u) | 0x7f7fe000u : result;
});

/// Integers: the low bits of the source register as V, extended by V's sign to the destination register.
Handler extend(ptx::Type v, const Conversion& c) {
  Handler run = nullptr;
  with_integer(v, [&]<class V>() {
    with_type<u16, u32, u64>(c.d_register, [&]<class D>() {
      with_type<u16, u32, u64>(c.s_register, [&]<class S>() {
        if constexpr (sizeof(D) >= sizeof(V) && sizeof(S) >= sizeof(V)) run = lanewise<As<V>, D, S>;
      });
    });
  });
  return run;
}

/// The handler of a common conversion, or null.
Handler common_handler(const Conversion& c) {
  using enum ptx::Type;
  const bool is_plain = !c.flushes && c.limit == Limit::none;
  const bool is_nearest = c.to == Rounding::nearest && !c.is_integral;
  const unsigned d_bytes = ptx::size_of(c.d), s_bytes = ptx::size_of(c.s);
  if (is_integer(c.d) && is_integer(c.s)) {
    if (!is_plain) return nullptr;
    // Narrowing keeps the low bits, whatever the source's sign. Widening extends by the source's sign up to D; that the
    // destination register goes on by D's sign matters only for a negative source and an unsigned D in a wider
    // register.
    if (d_bytes <= s_bytes) return extend(c.d, c);
    const bool extends_twice = ptx::is_signed(c.s) && !ptx::is_signed(c.d) && d_bytes < ptx::size_of(c.d_register);
    return extends_twice ? nullptr : extend(c.s, c);
  }
  Handler run = nullptr;
  if (c.s_register == u32 && is_nearest && c.limit == Limit::none)
    with_type<vgpu::f32, vgpu::f64>(
        c.d, [&]<class D>() { with_type<vgpu::s32, vgpu::u32>(c.s, [&]<class S>() { run = lanewise<As<D>, D, S>; }); });
  if (c.d_register == u32 && !c.flushes)  // it saturates anyway
    with_type<vgpu::s32, vgpu::u32>(c.d, [&]<class D>() {
      with_type<vgpu::f32, vgpu::f64>(c.s, [&]<class S>() { run = float_to_integer<D, S>(c.to); });
    });
  if (run || !is_plain) return run;
  if (c.d == f64 && c.s == f32) return lanewise<As<vgpu::f64>, vgpu::f64, vgpu::f32>;
  if (c.d == f32 && c.s == f64 && is_nearest) return lanewise<As<vgpu::f32>, vgpu::f32, vgpu::f64>;
  if (c.d == f32 && c.s == f64) return lanewise_rounded<As<vgpu::f32>, vgpu::f32, vgpu::f64>;
  with_type<vgpu::f16, vgpu::bf16>(c.s, [&]<class H>() {
    if (c.d == f32) run = lanewise<HalfToF32, vgpu::f32, H>;
  });
  with_type<vgpu::f16, vgpu::bf16>(c.d, [&]<class H>() {
    if (c.s == f32 && is_nearest) run = lanewise<NarrowToHalf<H>, H, vgpu::f32>;
  });
  return run;
}

// --- spelling --------------------------------------------------------------------------------------------------------

enum class RoundingWord : u8 { none, number, integral, away };

/// The words before the types: {.rounding}{.ftz}{.sat | .relu and .satfinite in either order}. Nothing for others.
std::optional<RoundingWord> read_words(std::span<const std::string> words, Conversion& c) {
  RoundingWord rounding = RoundingWord::none;
  for (const auto& [word, to] :
       {std::pair("rn", Rounding::nearest), {"rz", Rounding::zero}, {"rm", Rounding::down}, {"rp", Rounding::up}}) {
    const bool is_number = rounding == RoundingWord::none && take(words, word);
    const bool is_integral = rounding == RoundingWord::none && !is_number && take(words, std::string(word) + "i");
    if (!is_number && !is_integral) continue;
    rounding = is_number ? RoundingWord::number : RoundingWord::integral;
    c.to = to;
  }
  if (rounding == RoundingWord::none && take(words, "rna")) rounding = RoundingWord::away;
  c.is_integral = rounding == RoundingWord::integral;
  c.flushes = take(words, "ftz");
  if (take(words, "sat")) {
    c.limit = Limit::sat;
  } else {
    bool has_relu = take(words, "relu");
    const bool is_finite = take(words, "satfinite");
    has_relu = has_relu || take(words, "relu");
    c.limit = has_relu ? (is_finite ? Limit::relu_satfinite : Limit::relu) : is_finite ? Limit::satfinite : Limit::none;
  }
  return words.empty() ? std::optional(rounding) : std::nullopt;
}

/// Does PTX have it?
bool is_known(const Conversion& c, RoundingWord rounding) {
  using enum ptx::Type;
  const bool to_number = is_number(c.d), from_number = is_number(c.s);
  if (c.d == tf32)
    return c.s == f32 && rounding == RoundingWord::away && !c.flushes &&
           (c.limit == Limit::none || c.limit == Limit::satfinite);
  if ((!to_number && !is_integer(c.d)) || (!from_number && !is_integer(c.s))) return false;
  if (c.flushes && c.d != f32 && c.s != f32) return false;
  if (c.limit > Limit::sat)
    return is_half(c.d) && c.s == f32 && rounding == RoundingWord::number && c.to <= Rounding::zero && !c.flushes;
  if (!to_number && !from_number) return rounding == RoundingWord::none;
  if (!from_number) return rounding == RoundingWord::number;
  if (!to_number) return rounding == RoundingWord::integral;
  // A rounding is written where D cannot hold every S; to the same format there may be one to integral numbers.
  const bool is_exact = ptx::size_of(c.d) > ptx::size_of(c.s) || c.d == c.s;
  switch (rounding) {
    case RoundingWord::none:
      return is_exact;
    case RoundingWord::number:
      return !is_exact || (c.d == f32 && c.s == bf16 && !c.flushes && c.limit == Limit::none);
    case RoundingWord::integral:
      return c.d == c.s;
    case RoundingWord::away:
      return false;
  }
  return false;
}

/// The type as which the operand's register is read or written; `none` when it cannot hold a value of that type.
ptx::Type register_type(const ptx::Operand& operand, ptx::Type type, Registers registers) {
  if (type == ptx::Type::tf32) return ptx::Type::b32;
  if (!is_integer(type)) return type;
  std::uint32_t bytes = lane_bytes(type);
  if (operand.kind == ptx::Operand::Kind::reg) {
    if (operand.reg < 0 || static_cast<std::size_t>(operand.reg) >= registers.size()) return ptx::Type::none;
    bytes = lane_bytes(registers[static_cast<std::size_t>(operand.reg)].type);
  }
  ptx::Type found = ptx::Type::none;
  for_types<u16, u32, u64>([&]<class R>() {
    if (bytes == sizeof(R) && bytes >= ptx::size_of(type)) found = type_of<R>;
  });
  return found;
}

}  // namespace

std::optional<AluSelection> select_convert(const ptx::Instruction& instruction, Registers registers) {
  const std::span<const std::string> words = instruction.modifiers;
  if (instruction.opcode != "cvt" || words.size() < 2 || !has_plain_operands(instruction)) return std::nullopt;
  const std::vector<ptx::Operand>& operands = instruction.operands;
  for (const ptx::Operand& operand : operands)
    if (operand.negated || operand.kind == ptx::Operand::Kind::pair) return std::nullopt;
  Conversion c;
  c.d = ptx::type_from_suffix(words[words.size() - 2]);
  c.s = ptx::type_from_suffix(words.back());
  const auto rounding = read_words(words.first(words.size() - 2), c);
  if (!rounding) return std::nullopt;
  AluSelection selection;
  const bool is_pair = c.d == ptx::Type::f16x2 || c.d == ptx::Type::bf16x2;
  if (operands.size() != (is_pair ? 3 : 2)) return std::nullopt;
  c.d_register = register_type(operands[0], c.d, registers);
  c.s_register = register_type(operands[1], c.s, registers);
  if (is_pair) {
    const bool is_nearest_or_zero = *rounding == RoundingWord::number && c.to <= Rounding::zero;
    if (!is_nearest_or_zero || c.flushes || c.limit == Limit::sat || c.s != ptx::Type::f32) return std::nullopt;
    selection.run = c.d == ptx::Type::f16x2 ? convert_to_pair<f16> : convert_to_pair<bf16>;
  } else if (!is_known(c, *rounding) || c.d_register == ptx::Type::none || c.s_register == ptx::Type::none) {
    return std::nullopt;
  } else if (c.d == ptx::Type::tf32) {
    selection.run = c.limit == Limit::none ? lanewise<NarrowToTf32, u32, f32> : lanewise<NarrowToFiniteTf32, u32, f32>;
  } else {
    const Handler common = common_handler(c);
    selection.run = common ? common : convert;
  }
  selection.type[0] = c.d_register;
  selection.type[1] = selection.type[2] = c.s_register;
  selection.imm = std::bit_cast<u64>(c);
  selection.aux = static_cast<u32>(c.to);  // for lanewise_rounded
  return selection;
}

}  // namespace scanlab::vgpu
