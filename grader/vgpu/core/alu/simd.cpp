// Small vectors within a 32-bit register: dot products (dp4a, dp2a) and the video instructions on bytes and half-words
// without selectors or masks (vadd2, vsub4 …; PTX ISA, SIMD Video Instructions).
#include <limits>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

/// Field `k` of the register as Part, extended by its sign or by zeros.
template <class Part>
s32 field(u32 x, unsigned k) {
  return static_cast<Part>(x >> (k * bits_of<Part>));
}

template <class A, class B>
struct DotBytes {
  u32 operator()(u32 a, u32 b, u32 c) const {
    for (unsigned k = 0; k < 4; ++k) c += static_cast<u32>(field<A>(a, k) * field<B>(b, k));
    return c;
  }
};
/// dp2a: two half-words of a times two bytes of b, from byte `first` on.
template <class A, class B, unsigned first>
struct DotHalves {
  u32 operator()(u32 a, u32 b, u32 c) const {
    for (unsigned k = 0; k < 2; ++k) c += static_cast<u32>(field<A>(a, k)) * static_cast<u32>(field<B>(b, first + k));
    return c;
  }
};

struct Add {
  s32 operator()(s32 a, s32 b) const { return a + b; }
};
struct Subtract {
  s32 operator()(s32 a, s32 b) const { return a - b; }
};
struct Distance {
  s32 operator()(s32 a, s32 b) const { return a < b ? b - a : a - b; }
};
struct Minimum {
  s32 operator()(s32 a, s32 b) const { return a < b ? a : b; }
};
struct Maximum {
  s32 operator()(s32 a, s32 b) const { return a < b ? b : a; }
};
/// vavrg: the mean, halves rounded away from zero.
struct Average {
  s32 operator()(s32 a, s32 b) const {
    const s32 sum = a + b;
    return (sum + (sum >= 0 ? 1 : 0)) >> 1;
  }
};

enum class Mode : u8 { merge, sat, add };  ///< the plain form, the clamped one, the one that adds the fields to c

/// One operation on all fields. D, A, B are the types of one field of d, a and b.
template <class Op, class D, class A, class B, Mode mode>
struct Fields {
  u32 operator()(u32 a, u32 b, u32 c) const {
    using U = Unsigned<D>;
    u32 packed = 0;
    for (unsigned k = 0; k < 4 / sizeof(D); ++k) {
      s32 value = Op{}(field<A>(a, k), field<B>(b, k));
      constexpr s32 lowest = std::numeric_limits<D>::min(), highest = std::numeric_limits<D>::max();
      if (mode == Mode::sat) value = value < lowest ? lowest : value > highest ? highest : value;
      packed |= static_cast<u32>(static_cast<U>(value)) << (k * bits_of<D>);
      c += static_cast<u32>(value);
    }
    return mode == Mode::add ? c : packed;
  }
};

template <class Op, class D, class A, class B>
[[gnu::cold]] void add_fields(Forms& forms, const std::string& name, const std::string& types) {
  forms.rare<Fields<Op, D, A, B, Mode::merge>, u32, u32, u32, u32>(name + types);
  forms.rare<Fields<Op, D, A, B, Mode::sat>, u32, u32, u32, u32>(name + types + ".sat");
  forms.rare<Fields<Op, D, A, B, Mode::add>, u32, u32, u32, u32>(name + types + ".add");
}
/// Operands of one signedness, results of the same: what the intrinsics use.
template <class Op>
[[gnu::cold]] void add_video(Forms& forms, const std::string& name) {
  add_fields<Op, u16, u16, u16>(forms, name + "2", ".u32.u32.u32");
  add_fields<Op, s16, s16, s16>(forms, name + "2", ".s32.s32.s32");
  add_fields<Op, u8, u8, u8>(forms, name + "4", ".u32.u32.u32");
  add_fields<Op, s8, s8, s8>(forms, name + "4", ".s32.s32.s32");
}

Forms simd_forms() {
  Forms forms;
  forms.rare<DotBytes<u8, u8>, u32, u32, u32, u32>("dp4a.u32.u32");
  forms.rare<DotBytes<u8, s8>, u32, u32, u32, u32>("dp4a.u32.s32");
  forms.rare<DotBytes<s8, u8>, u32, u32, u32, u32>("dp4a.s32.u32");
  forms.rare<DotBytes<s8, s8>, u32, u32, u32, u32>("dp4a.s32.s32");
  for_types<u16, s16>([&]<class A>() {
    for_types<u8, s8>([&]<class B>() {
      const std::string types =
          std::string(std::is_signed_v<A> ? ".s32" : ".u32") + (std::is_signed_v<B> ? ".s32" : ".u32");
      forms.rare<DotHalves<A, B, 0>, u32, u32, u32, u32>("dp2a.lo" + types);
      forms.rare<DotHalves<A, B, 2>, u32, u32, u32, u32>("dp2a.hi" + types);
    });
  });
  add_video<Add>(forms, "vadd");
  add_video<Subtract>(forms, "vsub");
  add_video<Average>(forms, "vavrg");
  add_video<Distance>(forms, "vabsdiff");
  add_video<Minimum>(forms, "vmin");
  add_video<Maximum>(forms, "vmax");
  return forms;
}

}  // namespace

std::optional<AluSelection> select_simd(const ptx::Instruction& instruction) {
  static const Forms forms = simd_forms();
  return forms.find(instruction);
}

}  // namespace scanlab::vgpu
