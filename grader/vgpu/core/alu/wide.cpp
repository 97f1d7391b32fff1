// Products with more bits than their factors, and arithmetic that carries (PTX ISA: mul, mad, Extended-Precision).
#include <bit>
#include <limits>
#include <tuple>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;
/// The integer with twice the bits of T.
template <class T>
using Twice = std::conditional_t<std::is_signed_v<T>,
                                 std::tuple_element_t<std::bit_width(sizeof(T)), std::tuple<s8, s16, s32, s64, s128>>,
                                 std::tuple_element_t<std::bit_width(sizeof(T)), std::tuple<u8, u16, u32, u64, u128>>>;

using MultiplyWide = decltype([]<class T>(T a, T b) {
  return static_cast<Twice<T>>(static_cast<Twice<T>>(a) * Twice<T>{b});
});
using MultiplyHigh = decltype([]<class T>(T a, T b) { return static_cast<T>(MultiplyWide{}(a, b) >> bits_of<T>); });
using MultiplyAddHigh = decltype([]<class T>(T a, T b, T c) {
  using U = Unsigned<T>;
  return static_cast<T>(static_cast<U>(MultiplyHigh{}(a, b)) + static_cast<U>(c));
});
using MultiplyAddWide = decltype([]<class T>(T a, T b, Twice<T> c) {
  using U = Unsigned<Twice<T>>;
  return static_cast<Twice<T>>(static_cast<U>(MultiplyWide{}(a, b)) + static_cast<U>(c));
});
using SaturatedMultiplyAddHigh = decltype([](s32 a, s32 b, s32 c) {
  constexpr s64 low = std::numeric_limits<s32>::min(), high = std::numeric_limits<s32>::max();
  const s64 sum = s64{MultiplyHigh{}(a, b)} + c;
  return static_cast<s32>(sum < low ? low : sum > high ? high : sum);
});

// --- arithmetic with carry -------------------------------------------------------------------------------------------

/// What an operation with carry gives: the result and the carry out.
template <class T>
struct Carried {
  T value;
  bool carry;
};

struct AddCarry {
  static constexpr bool initial_carry = false;
  template <class U>
  Carried<U> operator()(U a, U b, bool carry) const {
    const U partial = static_cast<U>(a + b), sum = static_cast<U>(partial + carry);
    return {sum, partial < a || sum < partial};
  }
};
/// A GPU subtracts by adding the complement, so the flag is 1 when there is no borrow. The PTX manual calls the flag a
/// borrow, which is the same within a chain of subtractions; but nvcc's own 128-bit division reads it with addc.
struct SubtractCarry {
  static constexpr bool initial_carry = true;
  template <class U>
  Carried<U> operator()(U a, U b, bool carry) const {
    return AddCarry{}(a, static_cast<U>(~b), carry);
  }
};
/// mad with carry: the carry is that of adding c to one half of the product.
struct MultiplyLowAddCarry {
  static constexpr bool initial_carry = false;
  template <class T>
  Carried<Unsigned<T>> operator()(T a, T b, T c, bool carry) const {
    using U = Unsigned<T>;
    using Factor = std::common_type_t<U, u32>;  // 16-bit factors must not become signed ints
    const auto product = static_cast<Factor>(static_cast<U>(a)) * static_cast<Factor>(static_cast<U>(b));
    return AddCarry{}(static_cast<U>(product), static_cast<U>(c), carry);
  }
};
struct MultiplyHighAddCarry {
  static constexpr bool initial_carry = false;
  template <class T>
  Carried<Unsigned<T>> operator()(T a, T b, T c, bool carry) const {
    using U = Unsigned<T>;
    return AddCarry{}(static_cast<U>(MultiplyHigh{}(a, b)), static_cast<U>(c), carry);
  }
};

/// Which side of the condition code an instruction touches: addc reads CC.CF, add.cc writes it, addc.cc does both.
enum class Carry : u8 { in, out, in_out };

template <class Op, class T, std::size_t... k>
[[gnu::always_inline]] inline void compute_carry(Warp& warp, const Inst* inst, Unsigned<T>* values,
                                                 Unsigned<T>* carries, Mask carry_in, std::index_sequence<k...>) {
  using U = Unsigned<T>;
  alignas(64) U incoming[warp_size];
  for (unsigned chunk = 0; chunk < VectorOf<U>::count; ++chunk) {
    Vector<Signed<U>> set;
    expand<Signed<U>>(set, carry_in, chunk);
    vector_at(reinterpret_cast<Signed<U>*>(incoming), chunk) = set;
  }
  SCANLAB_LANES_INDEPENDENT
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const Carried<U> result =
        Op{}(static_cast<T>(lanes_at<T>(warp, inst->op[k + 1])[lane])..., static_cast<bool>(incoming[lane] & 1u));
    values[lane] = result.value;
    carries[lane] = result.carry ? static_cast<U>(~U{0}) : U{0};
  }
}

template <class Op, Carry carry, class T, std::size_t sources>
const Inst* with_carry(Warp& warp, const Inst* inst) {
  using U = Unsigned<T>;
  alignas(64) U values[warp_size], carries[warp_size];
  const Mask carry_in = carry != Carry::out ? warp.carry : Op::initial_carry ? ~Mask{0} : Mask{0};
  compute_carry<Op, T>(warp, inst, values, carries, carry_in, std::make_index_sequence<sources>{});
  merge(lanes_at<U>(warp, inst->op[0]), values, warp.active);
  if (carry != Carry::in) {
    const Mask out = mask_where<U>([&](Vector<Signed<U>>& result, unsigned chunk) {
      result = vector_at(reinterpret_cast<const Signed<U>*>(carries), chunk);
    });
    warp.carry = (warp.carry & ~warp.active) | (out & warp.active);
  }
  return proceed(warp, inst + 1);
}

/// The three forms of an operation with carry, `half` being ".lo", ".hi" or "": add.cc, addc and addc.cc. `T` is the
/// type computed in, `type` the one written.
template <class Op, class T, std::size_t sources>
void add_carry_forms(Forms& forms, const std::string& opcode, const std::string& half, const std::string& type) {
  const auto add = [&](const std::string& spelling, Handler run) {
    constexpr ptx::Type t = type_of<T>;
    if constexpr (sources == 2) forms.add(spelling, run, {t, t, t});
    if constexpr (sources == 3) forms.add(spelling, run, {t, t, t, t});
  };
  add(opcode + half + ".cc" + type, with_carry<Op, Carry::out, T, sources>);
  add(opcode + "c" + half + type, with_carry<Op, Carry::in, T, sources>);
  add(opcode + "c" + half + ".cc" + type, with_carry<Op, Carry::in_out, T, sources>);
}

}  // namespace

void add_wide_forms(Forms& forms) {
  for_types<u16, s16, u32, s32, u64, s64>([&]<class T>() {
    forms.lanes<MultiplyHigh, T, T, T>("mul.hi" + type_name<T>());
    forms.rare<MultiplyAddHigh, T, T, T, T>("mad.hi" + type_name<T>());
  });
  for_types<u16, s16, u32, s32>([&]<class T>() {
    forms.lanes<MultiplyWide, Twice<T>, T, T>("mul.wide" + type_name<T>());
    forms.lanes<MultiplyAddWide, Twice<T>, T, T, Twice<T>>("mad.wide" + type_name<T>());
  });
  forms.rare<SaturatedMultiplyAddHigh, s32, s32, s32, s32>("mad.hi.sat.s32");
  for_types<u16, s16, u32, s32, u64, s64>([&]<class T>() {
    using U = Unsigned<T>;
    const std::string type = type_name<T>();
    add_carry_forms<AddCarry, U, 2>(forms, "add", "", type);
    add_carry_forms<SubtractCarry, U, 2>(forms, "sub", "", type);
    add_carry_forms<MultiplyLowAddCarry, U, 3>(forms, "mad", ".lo", type);
    add_carry_forms<MultiplyHighAddCarry, T, 3>(forms, "mad", ".hi", type);
  });
}

}  // namespace scanlab::vgpu
