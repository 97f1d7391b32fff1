// cvt between integers, and cvt.pack (PTX ISA, cvt).
#include <limits>
#include <utility>

#include "vgpu/core/alu/conversions.hpp"

namespace scanlab::vgpu {

namespace {

/// Integers without .sat: the low bits of the source register as V, extended by V's sign to the destination register.
template <class V, class DRegister>
struct Extend {
  template <class SRegister>
  DRegister operator()(SRegister a) const {
    return static_cast<DRegister>(static_cast<V>(a));
  }
};
template <class S, class D, class DRegister>
struct ExtendTwice {
  template <class SRegister>
  DRegister operator()(SRegister a) const {
    return static_cast<DRegister>(static_cast<D>(static_cast<S>(a)));
  }
};
template <class D, class S>
D clamped(S x) {
  constexpr D lowest = std::numeric_limits<D>::min(), highest = std::numeric_limits<D>::max();
  if (std::cmp_less(x, lowest)) return lowest;
  return std::cmp_greater(x, highest) ? highest : static_cast<D>(x);
}

template <class D, class Register, class Value>
void write_clamped(void* lanes, const void* values, Mask active, Rounding) {
  alignas(64) Register results[warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane)
    results[lane] = static_cast<Register>(clamped<D>(static_cast<const Value*>(values)[lane]));
  merge(static_cast<Register*>(lanes), results, active);
}

// --- cvt.pack --------------------------------------------------------------------------------------------------------

/// a and b clamped to `bits` bits, b lowest, and above them the low bits of c.
template <unsigned bits, bool is_signed>
struct PackIntegers {
  static u32 field(s32 x) {
    constexpr s32 lowest = is_signed ? -(1 << (bits - 1)) : 0;
    constexpr s32 highest = (1 << (is_signed ? bits - 1 : bits)) - 1;
    return static_cast<u32>(x < lowest ? lowest : x > highest ? highest : x) & ((1u << bits) - 1);
  }
  u32 operator()(s32 a, s32 b) const { return field(a) << bits | field(b); }
  u32 operator()(s32 a, s32 b, u32 c) const {
    return static_cast<u32>(u64{c} << (2 * bits)) | field(a) << bits | field(b);
  }
};

// --- the forms -------------------------------------------------------------------------------------------------------

/// Calls `visit.template operator()<In<T, Register>>()` for integer types and all registers that can hold them.
template <class Visit>
void for_integers(Visit visit) {
  for_types<In<u8, u16>, In<u8, u32>, In<u8, u64>, In<s8, u16>, In<s8, u32>, In<s8, u64>, In<u16, u16>, In<u16, u32>,
            In<u16, u64>, In<s16, u16>, In<s16, u32>, In<s16, u64>, In<u32, u32>, In<u32, u64>, In<s32, u32>,
            In<s32, u64>, In<u64, u64>, In<s64, u64>>(visit);
}
template <class D, class S>
[[gnu::cold]] void add_integer_to_integer(Forms& forms) {
  using DType = typename D::Type;
  using SType = typename S::Type;
  using DRegister = typename D::Register;
  using SRegister = typename S::Register;
  // Narrowing keeps the low bits, whatever the source's sign. Widening extends by the source's sign up to D; that the
  // destination register goes on by D's sign matters only for a negative source and an unsigned D in a wider register.
  Handler extend;
  if constexpr (sizeof(DType) <= sizeof(SType)) {
    extend = lanewise<Extend<DType, DRegister>, DRegister, SRegister>;
  } else if constexpr (std::is_signed_v<SType> && !std::is_signed_v<DType> && sizeof(DType) < sizeof(DRegister)) {
    extend = lanewise<ExtendTwice<SType, DType, DRegister>, DRegister, SRegister>;
  } else {
    extend = lanewise<Extend<SType, DRegister>, DRegister, SRegister>;
  }
  constexpr Ends ends = {type_of<DType>, type_of<SType>, type_of<DRegister>, type_of<SRegister>};
  add_convert(forms, "", ends, extend);
  add_convert(forms, ".sat", ends,
              Steps{read_values<SType, SRegister, false>, write_clamped<DType, DRegister, ValueOf<SType>>});
}

}  // namespace

void add_integer_conversions(Forms& forms) {
  for_integers([&]<class D>() { for_integers([&]<class S>() { add_integer_to_integer<D, S>(forms); }); });
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
