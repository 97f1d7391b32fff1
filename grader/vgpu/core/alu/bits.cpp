// Logic, shifts, and instructions on bit fields (PTX ISA, Logic and Shift Instructions; bfe … szext of the integer
// ones).
#include <bit>
#include <functional>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

using And = std::bit_and<>;
using Or = std::bit_or<>;
using Xor = std::bit_xor<>;
using Not = std::bit_not<>;
/// cnot: C's !a.
using LogicalNot = std::logical_not<>;

// --- predicates ------------------------------------------------------------------------------------------------------

/// Logic on predicates works on all lanes at once. `not_a`, `not_b`: the sources are negated.
template <class Op, bool not_a, bool not_b>
const Inst* predicate_logic(Warp& warp, const Inst* inst) {
  const Mask a = warp.predicate(inst->op[1]), b = warp.predicate(inst->op[2]);
  write_predicate(warp, inst->op[0], Op{}(not_a ? ~a : a, not_b ? ~b : b));
  return proceed(warp, inst + 1);
}
template <bool not_a>
const Inst* move_predicate(Warp& warp, const Inst* inst) {
  const Mask a = warp.predicate(inst->op[1]);
  write_predicate(warp, inst->op[0], not_a ? ~a : a);
  return proceed(warp, inst + 1);
}

/// lop3 by its truth table: bit 4a+2b+c of the table is the result for those three bits.
using ThreeInputLogic = decltype([](u32 a, u32 b, u32 c, u32 table) {
  const auto row = [table](unsigned k) { return u32{0} - ((table >> k) & 1u); };
  const auto pick = [](u32 condition, u32 one, u32 zero) { return (condition & one) | (~condition & zero); };
  const u32 a0 = pick(b, pick(c, row(3), row(2)), pick(c, row(1), row(0)));
  const u32 a1 = pick(b, pick(c, row(7), row(6)), pick(c, row(5), row(4)));
  return pick(a, a1, a0);
});

/// lop3.or and lop3.and d|p, a, b, c, table, q: p is (d != 0) combined with q, which is op[5]; p is op[6].
template <class Op, bool not_q>
const Inst* logic_with_predicate(Warp& warp, const Inst* inst) {
  const u32 *const a = lanes_at<u32>(warp, inst->op[1]), *const b = lanes_at<u32>(warp, inst->op[2]);
  const u32 *const c = lanes_at<u32>(warp, inst->op[3]), *const table = lanes_at<u32>(warp, inst->op[4]);
  alignas(64) u32 results[warp_size];
  Mask is_set = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    results[lane] = ThreeInputLogic{}(a[lane], b[lane], c[lane], table[lane]);
    is_set |= Mask{results[lane] != 0} << lane;
  }
  const Mask q = warp.predicate(inst->op[5]);
  merge(lanes_at<u32>(warp, inst->op[0]), results, warp.active);
  write_predicate(warp, inst->op[6], Op{}(is_set, not_q ? ~q : q));
  return inst + 1;
}

// --- shifts ----------------------------------------------------------------------------------------------------------

// Shift counts are 32-bit and clamp at the width: nothing of a is left, except its sign in shr.s.
using ShiftLeft = decltype([]<class U>(U a, u32 count) {
  return count < bits_of<U> ? static_cast<U>(a << (count & (bits_of<U> - 1))) : U{0};
});
using ShiftRight = decltype([]<class T>(T a, u32 count) {
  constexpr u32 last = bits_of<T> - 1;
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> (count < last ? count : last));
  else
    return count <= last ? static_cast<T>(a >> (count & last)) : T{0};
});

enum class Excess : u8 { clamp, wrap };  ///< what becomes of a count past the width

template <Excess excess>
u32 funnel_count(u32 count) {
  return excess == Excess::wrap ? count & 31u : (count < 32u ? count : 32u);
}
/// shf: the 64 bits b:a shifted, and the half that stays.
template <Excess excess>
struct FunnelLeft {
  u32 operator()(u32 a, u32 b, u32 count) const {
    return static_cast<u32>(((u64{b} << 32 | a) << funnel_count<excess>(count)) >> 32);
  }
};
template <Excess excess>
struct FunnelRight {
  u32 operator()(u32 a, u32 b, u32 count) const {
    return static_cast<u32>((u64{b} << 32 | a) >> funnel_count<excess>(count));
  }
};

// --- bit fields ------------------------------------------------------------------------------------------------------

/// `length` ones at the right end; all ones from the width on.
template <class U>
U low_ones(u32 length) {
  return length < bits_of<U> ? static_cast<U>((U{1} << length) - 1) : static_cast<U>(~U{0});
}

/// bfe: bits from `start`, `length` of them; beyond the top there is the sign (or 0).
using ExtractField = decltype([]<class T>(T a, u32 start, u32 length) {
  start &= 0xffu;
  length &= 0xffu;
  const T shifted = ShiftRight{}(a, start);
  if constexpr (std::is_signed_v<T>) {
    if (length == 0) return T{0};
    const u32 unused = length < bits_of<T> ? bits_of<T> - length : 0;
    return static_cast<T>(static_cast<T>(static_cast<Unsigned<T>>(shifted) << unused) >> unused);
  } else {
    return static_cast<T>(shifted & low_ones<T>(length));
  }
});
/// bfi: the low bits of a put into b.
using InsertField = decltype([]<class U>(U a, U b, u32 start, u32 length) {
  start &= 0xffu;
  length &= 0xffu;
  const U field = ShiftLeft{}(low_ones<U>(length), start);
  return static_cast<U>((b & ~field) | (ShiftLeft{}(a, start) & field));
});
/// bfind: the place of the highest bit that differs from the sign, or how far it is from the top.
template <bool as_shift>
struct FindHighest {
  static constexpr bool is_costly = true;
  template <class T>
  u32 operator()(T a) const {
    const auto bits = static_cast<Unsigned<T>>(std::is_signed_v<T> && a < 0 ? ~a : a);
    if (bits == 0) return ~0u;
    const u32 zeros = static_cast<u32>(std::countl_zero(bits));
    return as_shift ? zeros : bits_of<T> - 1 - zeros;
  }
};
using CountLeadingZeros = Costly<decltype([](auto a) { return static_cast<u32>(std::countl_zero(a)); })>;
/// Written out so that it runs on vectors.
using CountOnes = decltype([]<class U>(U a) {
  constexpr U fives = static_cast<U>(~U{0}) / 3, threes = static_cast<U>(~U{0}) / 5,
              nibbles = static_cast<U>(~U{0}) / 17;
  a = a - ((a >> 1) & fives);
  a = (a & threes) + ((a >> 2) & threes);
  a = (a + (a >> 4)) & nibbles;
  a += a >> 8;
  a += a >> 16;
  if constexpr (sizeof(U) == 8) a += a >> 32;
  return static_cast<u32>(a & 0x7fu);
});
using Reverse = decltype([]<class U>(U a) {
  constexpr U ones = static_cast<U>(~U{0});
  a = ((a >> 1) & (ones / 3)) | ((a & (ones / 3)) << 1);
  a = ((a >> 2) & (ones / 5)) | ((a & (ones / 5)) << 2);
  a = ((a >> 4) & (ones / 17)) | ((a & (ones / 17)) << 4);
  a = ((a >> 8) & (ones / 257)) | ((a & (ones / 257)) << 8);
  if constexpr (sizeof(U) == 8) a = ((a >> 16) & (ones / 65537)) | ((a & (ones / 65537)) << 16);
  return static_cast<U>((a >> (bits_of<U> / 2)) | (a << (bits_of<U> / 2)));
});
/// fns: the n-th set bit from `base`, upwards for n > 0 and downwards for n < 0; n = 0 asks for `base` itself.
using FindNthSet = Costly<decltype([](u32 mask, u32 base, s32 n) {
  if (base > 31) return ~0u;
  if (n == 0) return (mask >> base) & 1u ? base : ~0u;
  s64 left = (n > 0 ? s64{n} : -s64{n}) - 1;
  const s32 step = n > 0 ? 1 : -1;
  for (auto place = static_cast<s32>(base); place >= 0 && place < 32; place += step) {
    if (((mask >> place) & 1u) && left-- == 0) return static_cast<u32>(place);
  }
  return ~0u;
})>;
/// szext: the low `width` bits of a, extended by their sign or by zeros.
template <Excess excess, class T>
struct ExtendField {
  u32 operator()(u32 a, u32 width) const {
    if (excess == Excess::clamp && width >= 32) return a;
    width &= 31u;
    if (width == 0) return 0;
    const u32 unused = 32 - width;
    return static_cast<u32>(static_cast<T>(a << unused) >> unused);
  }
};
/// bmsk: `width` ones from bit `start`.
template <Excess excess>
struct MakeMask {
  u32 operator()(u32 start, u32 width) const {
    if (excess == Excess::clamp) return ShiftLeft{}(low_ones<u32>(width), start);
    return low_ones<u32>(width & 31u) << (start & 31u);
  }
};

// --- prmt ------------------------------------------------------------------------------------------------------------

/// Byte `select & 7` of b:a, or its sign in all bits when bit 3 is set.
u32 permuted_byte(u64 bytes, u32 select) {
  const u32 byte = static_cast<u32>(bytes >> (8 * (select & 7u))) & 0xffu;
  return (select & 8u) ? (byte & 0x80u ? 0xffu : 0u) : byte;
}
using Permute = decltype([](u32 a, u32 b, u32 select) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (unsigned k = 0; k < 4; ++k) result |= permuted_byte(bytes, (select >> (4 * k)) & 15u) << (8 * k);
  return result;
});
/// The special modes of prmt: a row of four byte numbers (as a selector, lowest byte last) for each of four controls.
template <u16 control0, u16 control1, u16 control2, u16 control3>
struct PermuteMode {
  u32 operator()(u32 a, u32 b, u32 control) const {
    const u32 low = control & 1u ? control1 : control0, high = control & 1u ? control3 : control2;
    return Permute{}(a, b, control & 2u ? high : low);
  }
};

// --- the forms -------------------------------------------------------------------------------------------------------

void add_predicate_forms(Forms& forms) {
  using enum ptx::Type;
  const auto add_logic = [&]<class Op>(Op, const std::string& spelling) {
    forms.add(spelling, predicate_logic<Op, false, false>, {pred, pred, pred});
    forms.add(spelling + " !1", predicate_logic<Op, true, false>, {pred, pred, pred});
    forms.add(spelling + " !2", predicate_logic<Op, false, true>, {pred, pred, pred});
    forms.add(spelling + " !1 !2", predicate_logic<Op, true, true>, {pred, pred, pred});
  };
  add_logic(And{}, "and.pred");
  add_logic(Or{}, "or.pred");
  add_logic(Xor{}, "xor.pred");
  forms.add("mov.pred", move_predicate<false>, {pred, pred});
  forms.add("mov.pred !1", move_predicate<true>, {pred, pred});
  forms.add("not.pred", move_predicate<true>, {pred, pred});
  forms.add("not.pred !1", move_predicate<false>, {pred, pred});

  const auto add_combined = [&](const std::string& spelling, Handler run) {
    AluSelection& made = forms.add(spelling, run, {b32, b32, b32, b32, b32, pred});
    made.second = 6;
    made.type[made.second] = pred;
  };
  add_combined("lop3.or.b32 |", logic_with_predicate<Or, false>);
  add_combined("lop3.or.b32 | !5", logic_with_predicate<Or, true>);
  add_combined("lop3.and.b32 |", logic_with_predicate<And, false>);
  add_combined("lop3.and.b32 | !5", logic_with_predicate<And, true>);
}

}  // namespace

void add_bits_forms(Forms& forms) {
  add_predicate_forms(forms);
  for_types<u16, u32, u64>([&]<class U>() {
    const std::string type = bits_name<U>();
    using S = Signed<U>;
    forms.lanes<And, U, U, U>("and" + type);
    forms.lanes<Or, U, U, U>("or" + type);
    forms.lanes<Xor, U, U, U>("xor" + type);
    forms.lanes<Not, U, U>("not" + type);
    forms.rare<LogicalNot, U, U>("cnot" + type);
    forms.lanes<ShiftLeft, U, U, u32>("shl" + type);
    forms.lanes<ShiftRight, U, U, u32>("shr" + type);
    forms.lanes<ShiftRight, U, U, u32>("shr" + type_name<U>());
    forms.lanes<ShiftRight, S, S, u32>("shr" + type_name<S>());
  });
  forms.lanes<FunnelLeft<Excess::clamp>, u32, u32, u32, u32>("shf.l.clamp.b32");
  forms.lanes<FunnelLeft<Excess::wrap>, u32, u32, u32, u32>("shf.l.wrap.b32");
  forms.lanes<FunnelRight<Excess::clamp>, u32, u32, u32, u32>("shf.r.clamp.b32");
  forms.lanes<FunnelRight<Excess::wrap>, u32, u32, u32, u32>("shf.r.wrap.b32");
  forms.lanes<ThreeInputLogic, u32, u32, u32, u32, u32>("lop3.b32");

  for_types<u32, s32, u64, s64>([&]<class T>() {
    const std::string type = type_name<T>();
    forms.lanes<ExtractField, T, T, u32, u32>("bfe" + type);
    forms.rare<FindHighest<false>, u32, T>("bfind" + type);
    forms.rare<FindHighest<true>, u32, T>("bfind.shiftamt" + type);
  });
  for_types<u32, u64>([&]<class U>() {
    const std::string type = bits_name<U>();
    forms.lanes<InsertField, U, U, U, u32, u32>("bfi" + type);
    forms.lanes<CountOnes, u32, U>("popc" + type);
    forms.lanes<CountLeadingZeros, u32, U>("clz" + type);
    forms.rare<Reverse, U, U>("brev" + type);
  });
  forms.rare<FindNthSet, u32, u32, u32, s32>("fns.b32");
  forms.rare<ExtendField<Excess::clamp, u32>, u32, u32, u32>("szext.clamp.u32");
  forms.rare<ExtendField<Excess::clamp, s32>, u32, u32, u32>("szext.clamp.s32");
  forms.rare<ExtendField<Excess::wrap, u32>, u32, u32, u32>("szext.wrap.u32");
  forms.rare<ExtendField<Excess::wrap, s32>, u32, u32, u32>("szext.wrap.s32");
  forms.rare<MakeMask<Excess::clamp>, u32, u32, u32>("bmsk.clamp.b32");
  forms.rare<MakeMask<Excess::wrap>, u32, u32, u32>("bmsk.wrap.b32");

  forms.lanes<Permute, u32, u32, u32, u32>("prmt.b32");
  const auto mode = [&]<class Op>(Op, const char* spelling) { forms.rare<Op, u32, u32, u32, u32>(spelling); };
  mode(PermuteMode<0x3210, 0x4321, 0x5432, 0x6543>{}, "prmt.b32.f4e");   // forward four of eight
  mode(PermuteMode<0x5670, 0x6701, 0x7012, 0x0123>{}, "prmt.b32.b4e");   // backward four
  mode(PermuteMode<0x0000, 0x1111, 0x2222, 0x3333>{}, "prmt.b32.rc8");   // one byte four times
  mode(PermuteMode<0x3210, 0x3211, 0x3222, 0x3333>{}, "prmt.b32.ecl");   // edge clamp left
  mode(PermuteMode<0x0000, 0x1110, 0x2210, 0x3210>{}, "prmt.b32.ecr");   // edge clamp right
  mode(PermuteMode<0x1010, 0x3232, 0x1010, 0x3232>{}, "prmt.b32.rc16");  // one half twice
}

}  // namespace scanlab::vgpu
