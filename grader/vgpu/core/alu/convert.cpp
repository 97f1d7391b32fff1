// cvt from and to floating-point formats (PTX ISA, cvt), and the choice of every cvt.
#include <bit>
#include <cmath>
#include <deque>
#include <limits>

#include "vgpu/core/alu/conversions.hpp"

namespace scanlab::vgpu {

using namespace std::string_literals;

namespace {

// --- values ----------------------------------------------------------------------------------------------------------

/// .rni .rzi .rmi .rpi; while the host rounds so, std::nearbyint does the same.
template <Rounding to, class T>
T integral(T x) {
  if constexpr (to == Rounding::nearest) return std::nearbyint(x);
  if constexpr (to == Rounding::zero) return std::trunc(x);
  if constexpr (to == Rounding::down) return std::floor(x);
  return std::ceil(x);
}

/// An integral number as an integer, clamped. NaN becomes 0, or the top bit alone when f64 or a 64-bit integer is
/// involved.
template <class D, class S>
D clamped_integer(S x) {
  constexpr D lowest = std::numeric_limits<D>::min(), highest = std::numeric_limits<D>::max();
  constexpr S above = static_cast<S>(highest / 2 + 1) * 2;  // exact, unlike `highest`
  constexpr bool has_wide = std::is_same_v<S, f64> || sizeof(D) == 8;
  constexpr D for_nan = has_wide ? static_cast<D>(Unsigned<D>{1} << (bits_of<D> - 1)) : D{0};
  const S at_least = x > static_cast<S>(lowest) ? x : static_cast<S>(lowest);  // also for NaN
  const bool fits = at_least < above;
  const D value = static_cast<D>(fits ? at_least : S{0});
  return x == x ? (fits ? value : highest) : for_nan;
}

/// A 64-bit integer as f64, rounded to odd.
inline f64 to_odd_f64(u64 x) {
  constexpr u64 cut = 0x7ff;
  if ((x >> 53) == 0) return static_cast<f64>(x);
  return static_cast<f64>((x & ~cut) | ((x & cut) != 0 ? cut + 1 : 0));
}
inline f64 to_odd_f64(s64 x) {
  return x < 0 ? -to_odd_f64(u64{0} - static_cast<u64>(x)) : to_odd_f64(static_cast<u64>(x));
}

// --- single steps, for the common conversions ------------------------------------------------------------------------

template <class D, Rounding to>
struct FloatToInteger {
  template <class S>
  D operator()(S a) const {
    return clamped_integer<D>(integral<to>(a));
  }
};
template <class D>
struct NearestNumber {
  template <class S>
  D operator()(S a) const {
    return static_cast<D>(a);
  }
};
struct WidenToF64 {
  f64 operator()(f32 a) const { return a; }
};
/// A NaN keeps its sign and the upper part of its payload, as on the host.
struct NarrowToF32 {
  f32 operator()(f64 a) const { return static_cast<f32>(a); }
};
struct HalfToF32 {
  template <class H>
  f32 operator()(H a) const {
    return canonical(widen(a));
  }
};

enum class Finish : u8 { plain, relu, satfinite, relu_satfinite };

/// f32 to a 16-bit format with .relu (negative becomes 0) and .satfinite (no infinity).
template <class H, Rounding to, Finish finish>
H finished(f32 x) {
  constexpr bool relu = finish == Finish::relu || finish == Finish::relu_satfinite;
  constexpr bool satfinite = finish == Finish::satfinite || finish == Finish::relu_satfinite;
  if constexpr (relu) x = x <= 0.0f ? 0.0f : x;
  const u32 bits = static_cast<u16>(narrow<H>(x, to));
  constexpr u32 infinity = std::is_same_v<H, f16> ? 0x7c00 : 0x7f80;
  return static_cast<H>(satfinite && (bits & 0x7fffu) == infinity ? bits - 1 : bits);
}
template <class H, Rounding to, Finish finish>
struct NarrowToHalf {
  H operator()(f32 a) const { return finished<H, to, finish>(a); }
};
/// cvt.….f16x2.f32 d, a, b: a in the high half.
template <class H, Rounding to, Finish finish>
struct NarrowToPair {
  u32 operator()(f32 a, f32 b) const {
    const u32 high = static_cast<u16>(finished<H, to, finish>(a)), low = static_cast<u16>(finished<H, to, finish>(b));
    return high << 16 | low;
  }
};
/// tf32 keeps 10 bits of the fraction, of a NaN's payload too; .rna rounds ties away from zero.
struct NarrowToTf32 {
  u32 operator()(f32 a) const {
    const u32 bits = std::bit_cast<u32>(a);
    if (a != a) return bits & ~0x1fffu;
    const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
    return is_finite ? (bits + 0x1000u) & ~0x1fffu : bits;
  }
};

/// .satfinite: the largest number instead of infinity, the canonical NaN.
struct NarrowToFiniteTf32 {
  u32 operator()(f32 a) const {
    const u32 result = NarrowToTf32{}(a);
    if (a != a) return canonical_nan_f32;
    return (result & 0x7f800000u) == 0x7f800000u ? (result & 0x80000000u) | 0x7f7fe000u : result;
  }
};

// --- the second of two steps ---------------------------------------------------------------------------------------

/// What a writer does to a value of type D before it is stored.
enum class Limit : u8 { none, sat };

/// To a floating-point format, rounded once.
template <class D, Limit limit, bool ftz, class Value>
D rounded_number(Value x, Rounding to) {
  if constexpr (std::is_enum_v<D>) {
    f64 number;
    if constexpr (std::is_integral_v<Value>)
      number = to_odd_f64(x);
    else
      number = x;
    return narrow<D>(limit == Limit::sat ? saturated(number) : number, to);
  } else {
    const D number = flushed_if<ftz>(static_cast<D>(x));
    return limit == Limit::sat ? saturated(number) : canonical(number);
  }
}
template <class D, Limit limit, bool ftz, class Value>
void write_number(void* lanes, const void* values, Mask active, Rounding to) {
  alignas(64) D results[warp_size];
  {
    // 16-bit formats are rounded by integer arithmetic and need the host as it is.
    const HostRounding scope(std::is_enum_v<D> ? Rounding::nearest : to, results);
    for (unsigned lane = 0; lane < warp_size; ++lane)
      results[lane] = rounded_number<D, limit, ftz>(static_cast<const Value*>(values)[lane], to);
  }
  merge(static_cast<D*>(lanes), results, active);
}
/// To integral numbers, as f64.
void to_integral(f64* results, const void* values, Rounding to) {
  const HostRounding scope(to, results);
  for (unsigned lane = 0; lane < warp_size; ++lane)
    results[lane] = std::nearbyint(static_cast<const f64*>(values)[lane]);
}
/// To an integral number of a floating-point format.
template <class D, Limit limit, bool ftz>
void write_integral(void* lanes, const void* values, Mask active, Rounding to) {
  alignas(64) f64 whole[warp_size];
  to_integral(whole, values, to);
  write_number<D, limit, ftz, f64>(lanes, whole, active, Rounding::nearest);
}
/// To an integer, clamped. `from_f64` says whether the source was one, for NaN.
template <class D, class Register, bool from_f64>
void write_integer(void* lanes, const void* values, Mask active, Rounding to) {
  alignas(64) f64 whole[warp_size];
  to_integral(whole, values, to);
  alignas(64) Register results[warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const bool is_zero = !from_f64 && sizeof(D) < 8 && whole[lane] != whole[lane];
    results[lane] = static_cast<Register>(is_zero ? D{0} : clamped_integer<D>(whole[lane]));
  }
  merge(static_cast<Register*>(lanes), results, active);
}

const Inst* convert(Warp& warp, const Inst* inst) {
  const auto& steps = *std::bit_cast<const Steps*>(inst->imm);
  alignas(64) u64 values[warp_size];  // or s64, or f64
  steps.read(warp.lanes<std::byte>(inst->op[1]), values);
  steps.write(warp.lanes<std::byte>(inst->op[0]), values, warp.active, steps.to);
  return proceed(warp, inst + 1);
}

// --- the forms -------------------------------------------------------------------------------------------------------

/// The integer types in registers of their own width (8 bits in 16), and the narrow ones also in 32 bits.
template <class Visit>
void for_integers(Visit visit) {
  for_types<In<u8, u16>, In<u8, u32>, In<s8, u16>, In<s8, u32>, In<u16, u16>, In<u16, u32>, In<s16, u16>, In<s16, u32>,
            In<u32, u32>, In<s32, u32>, In<u64, u64>, In<s64, u64>>(visit);
}
/// The same and narrow types in 64 bits, which only inline PTX has.
template <class Visit>
void for_all_integers(Visit visit) {
  for_integers(visit);
  for_types<In<u8, u64>, In<s8, u64>, In<u16, u64>, In<s16, u64>, In<u32, u64>, In<s32, u64>>(visit);
}
template <class Visit>
void for_numbers(Visit visit) {
  for_types<f16, bf16, f32, f64>(visit);
}
template <class Visit>
[[gnu::always_inline]] inline void for_roundings(Visit visit) {
  visit.template operator()<Rounding::nearest>(0u);
  visit.template operator()<Rounding::zero>(1u);
  visit.template operator()<Rounding::down>(2u);
  visit.template operator()<Rounding::up>(3u);
}
struct NamedRounding {
  const char* name;
  Rounding to;
};
constexpr NamedRounding number_roundings[] = {
    {".rn", Rounding::nearest}, {".rz", Rounding::zero}, {".rm", Rounding::down}, {".rp", Rounding::up}};
constexpr NamedRounding integral_roundings[] = {
    {".rni", Rounding::nearest}, {".rzi", Rounding::zero}, {".rmi", Rounding::down}, {".rpi", Rounding::up}};

/// `nearest` runs the common one, which rounds to nearest, if there is such a handler.
void add_integer_to_number(Forms& forms, const Ends& ends, Reader read, Writer write, Writer write_sat,
                           Handler nearest) {
  for (const auto& [rounding, to] : number_roundings) {
    // No integer becomes a subnormal number.
    for (const char* flush : {"", ".ftz"}) {
      if (*flush != 0 && ends.d != ptx::Type::f32) continue;
      const std::string modifiers = std::string(rounding) + flush;
      if (nearest && to == Rounding::nearest)
        add_convert(forms, modifiers, ends, nearest);
      else
        add_convert(forms, modifiers, ends, Steps{read, write, to});
      add_convert(forms, modifiers + ".sat", ends, Steps{read, write_sat, to});
    }
  }
}
template <class D, class S>
void add_integer_to_number(Forms& forms) {
  using SType = typename S::Type;
  using SRegister = typename S::Register;
  using Value = ValueOf<SType>;
  Handler nearest = nullptr;
  if constexpr (sizeof(SType) == 4 && sizeof(SRegister) == 4 && !std::is_enum_v<D>)
    nearest = lanewise<NearestNumber<D>, D, SType>;
  add_integer_to_number(forms, {type_of<D>, type_of<SType>, type_of<D>, type_of<SRegister>},
                        read_values<SType, SRegister, false>, write_number<D, Limit::none, false, Value>,
                        write_number<D, Limit::sat, false, Value>, nearest);
}

/// `common` has a handler for each rounding, or none.
void add_number_to_integer(Forms& forms, const Ends& ends, const std::string& flush, Reader read, Writer write,
                           const Handler (&common)[4]) {
  for (unsigned k = 0; k < 4; ++k) {
    for (const char* sat : {"", ".sat"}) {  // it saturates anyway
      const std::string modifiers = integral_roundings[k].name + flush + sat;
      if (common[k])
        add_convert(forms, modifiers, ends, common[k]);
      else
        add_convert(forms, modifiers, ends, Steps{read, write, integral_roundings[k].to});
    }
  }
}
template <class D, class S, bool ftz>
void add_number_to_integer(Forms& forms) {
  using DType = typename D::Type;
  using DRegister = typename D::Register;
  Handler common[4] = {};
  if constexpr (!ftz && sizeof(DType) == 4 && sizeof(DRegister) == 4 && std::is_floating_point_v<S>)
    for_roundings([&]<Rounding to>(unsigned k) { common[k] = lanewise<FloatToInteger<DType, to>, DType, S>; });
  add_number_to_integer(forms, {type_of<DType>, type_of<S>, type_of<DRegister>, type_of<S>}, ftz ? ".ftz" : "",
                        read_values<S, S, ftz>, write_integer<DType, DRegister, std::is_same_v<S, f64>>, common);
}

/// Between floating-point formats. A rounding is written where D cannot hold every S; to the same format there may be
/// one to integral numbers.
template <class D, class S, bool ftz>
[[gnu::cold]] void add_number_to_number(Forms& forms) {
  // An H200 does not flush a subnormal f32 that becomes an f16, which shows where it rounds away from zero.
  constexpr bool flushes = ftz && !(std::is_enum_v<D> && std::is_same_v<S, f32>);
  constexpr Reader read = read_values<S, S, flushes>;
  constexpr Ends ends = {type_of<D>, type_of<S>, type_of<D>, type_of<S>};
  constexpr bool is_same = std::is_same_v<D, S>;
  constexpr bool is_exact = sizeof(D) > sizeof(S) || is_same;
  constexpr Writer write = write_number<D, Limit::none, ftz, f64>, write_sat = write_number<D, Limit::sat, ftz, f64>;
  const std::string flush = ftz ? ".ftz" : "";
  if constexpr (is_exact) {
    const auto add_plain = [&](const std::string& modifiers) {
      if constexpr (!ftz && std::is_same_v<D, f64> && std::is_same_v<S, f32>)
        add_convert(forms, modifiers, ends, lanewise<WidenToF64, f64, f32>);
      else if constexpr (!ftz && std::is_same_v<D, f32> && std::is_enum_v<S>)
        add_convert(forms, modifiers, ends, lanewise<HalfToF32, f32, S>);
      else
        add_convert(forms, modifiers, ends, Steps{read, write});
    };
    add_plain(flush);
    add_convert(forms, flush + ".sat", ends, Steps{read, write_sat});
    if constexpr (!ftz && std::is_same_v<D, f32> && std::is_same_v<S, bf16>) {  // a rounding may be written, too
      for (const auto& rounding : number_roundings) add_plain(rounding.name);
    }
  } else {
    for_roundings([&]<Rounding to>(unsigned k) {
      const std::string modifiers = number_roundings[k].name + flush;
      if constexpr (!ftz && std::is_same_v<D, f32> && to == Rounding::nearest)
        add_convert(forms, modifiers, ends, lanewise<NarrowToF32, f32, f64>);
      else if constexpr (!ftz && std::is_same_v<D, f32>)
        add_convert(forms, modifiers, ends, lanewise_rounded<NarrowToF32, f32, f64>, to);
      else if constexpr (!ftz && std::is_enum_v<D> && std::is_same_v<S, f32>)
        add_convert(forms, modifiers, ends, lanewise<NarrowToHalf<D, to, Finish::plain>, D, f32>);
      else
        add_convert(forms, modifiers, ends, Steps{read, write, to});
      add_convert(forms, modifiers + ".sat", ends, Steps{read, write_sat, to});
    });
  }
  if constexpr (is_same) {
    for (const auto& [rounding, to] : integral_roundings) {
      add_convert(forms, rounding + flush, ends, Steps{read, write_integral<D, Limit::none, ftz>, to});
      add_convert(forms, rounding + flush + ".sat", ends, Steps{read, write_integral<D, Limit::sat, ftz>, to});
    }
  }
}

/// cvt.{rn,rz}{.relu}{.satfinite}.{f16,bf16}{x2}.f32; without modifiers only the pairs, the rest is done above.
template <class H, Rounding to>
[[gnu::cold]] void add_finished(Forms& forms, const std::string& rounding) {
  constexpr ptx::Type f = ptx::Type::f32, h = type_of<H>;
  constexpr ptx::Type pair = std::is_same_v<H, f16> ? ptx::Type::f16x2 : ptx::Type::bf16x2;
  const auto add = [&]<Finish finish>(const std::string& modifiers) {
    if (finish != Finish::plain) {
      add_convert(forms, rounding + modifiers, {h, f, h, f}, lanewise<NarrowToHalf<H, to, finish>, H, f32>);
    }
    forms.add("cvt" + rounding + modifiers + name_of(pair) + ".f32",
              lanewise<NarrowToPair<H, to, finish>, u32, f32, f32>, {pair, f, f});
  };
  add.template operator()<Finish::plain>("");
  add.template operator()<Finish::relu>(".relu");
  add.template operator()<Finish::satfinite>(".satfinite");
  add.template operator()<Finish::relu_satfinite>(".relu.satfinite");
}

Forms convert_forms() {
  Forms forms;
  add_integer_conversions(forms);
  for_numbers([&]<class N>() {
    for_all_integers([&]<class I>() { add_integer_to_number<N, I>(forms); });
    for_all_integers([&]<class I>() { add_number_to_integer<I, N, false>(forms); });
  });
  for_all_integers([&]<class I>() { add_number_to_integer<I, f32, true>(forms); });
  for_numbers([&]<class D>() { for_numbers([&]<class S>() { add_number_to_number<D, S, false>(forms); }); });
  // .ftz is for conversions from or to f32; a 16-bit number never becomes a subnormal f32, but may be one.
  for_numbers([&]<class N>() {
    add_number_to_number<f32, N, true>(forms);
    if constexpr (!std::is_same_v<N, f32>) add_number_to_number<N, f32, true>(forms);
  });

  add_finished<f16, Rounding::nearest>(forms, ".rn");
  add_finished<f16, Rounding::zero>(forms, ".rz");
  add_finished<bf16, Rounding::nearest>(forms, ".rn");
  add_finished<bf16, Rounding::zero>(forms, ".rz");
  constexpr Ends to_tf32 = {ptx::Type::tf32, ptx::Type::f32, ptx::Type::b32, ptx::Type::f32};
  add_convert(forms, ".rna", to_tf32, lanewise<NarrowToTf32, u32, f32>);
  add_convert(forms, ".rna.satfinite", to_tf32, lanewise<NarrowToFiniteTf32, u32, f32>);
  return forms;
}

/// The type under which a register of `declared` is looked up; an immediate has the instruction's own.
ptx::Type register_type(const ptx::Operand& operand, ptx::Type written, Registers registers) {
  using enum ptx::Type;
  const bool is_number = written == f16 || written == bf16 || written == f32 || written == f64;
  if (is_number) return written;
  if (operand.kind != ptx::Operand::Kind::reg) return written == u8 || written == s8 ? u16 : written;
  if (operand.reg < 0 || static_cast<std::size_t>(operand.reg) >= registers.size()) return none;
  switch (registers[static_cast<std::size_t>(operand.reg)].type) {
    case b8:
    case u8:
    case s8:
    case b16:
    case u16:
    case s16:
    case f16:
    case bf16:
      return u16;
    case b32:
    case u32:
    case s32:
    case f16x2:
    case bf16x2:
    case tf32:
    case f32:
      return written == tf32 ? b32 : u32;
    case b64:
    case u64:
    case s64:
    case f64:
      return u64;
    default:
      return none;
  }
}

}  // namespace

std::string convert_key(const std::string& spelling, ptx::Type d_register, ptx::Type s_register) {
  return spelling + " " + name_of(d_register) + name_of(s_register);
}

static AluSelection& add(Forms& forms, const std::string& modifiers, const Ends& ends, Handler run) {
  const std::string spelling = "cvt" + modifiers + name_of(ends.d) + name_of(ends.s);
  return forms.add(convert_key(spelling, ends.d_register, ends.s_register), run, {ends.d_register, ends.s_register});
}
void add_convert(Forms& forms, const std::string& modifiers, const Ends& ends, Handler run, Rounding to) {
  add(forms, modifiers, ends, run).aux = static_cast<u32>(to);
}
void add_convert(Forms& forms, const std::string& modifiers, const Ends& ends, const Steps& steps) {
  static std::deque<Steps> all;  // handlers have their addresses
  add(forms, modifiers, ends, convert).imm = std::bit_cast<u64>(&all.emplace_back(steps));
}

std::optional<AluSelection> select_convert(const ptx::Instruction& instruction, Registers registers) {
  if (instruction.opcode != "cvt" || instruction.modifiers.size() < 2) return std::nullopt;
  // ptxas takes .relu and .satfinite in either order.
  const auto& words = instruction.modifiers;
  for (std::size_t k = 0; k + 1 < words.size(); ++k) {
    if (words[k] != "satfinite" || words[k + 1] != "relu") continue;
    ptx::Instruction ordered = instruction;
    std::swap(ordered.modifiers[k], ordered.modifiers[k + 1]);
    return select_convert(ordered, registers);
  }
  static const Forms forms = convert_forms();
  if (const auto found = forms.find(instruction)) return found;
  if (instruction.operands.size() != 2) return std::nullopt;
  const auto& modifiers = instruction.modifiers;
  const auto type = [](const std::string& name) {
    for (int k = 0; k <= static_cast<int>(ptx::Type::f64); ++k) {
      if (name == name_of(static_cast<ptx::Type>(k)) + (k != 0)) return static_cast<ptx::Type>(k);
    }
    return ptx::Type::none;
  };
  const ptx::Type d = register_type(instruction.operands[0], type(modifiers[modifiers.size() - 2]), registers);
  const ptx::Type s = register_type(instruction.operands[1], type(modifiers.back()), registers);
  return forms.find(instruction, convert_key(spelling_of(instruction), d, s));
}

}  // namespace scanlab::vgpu
