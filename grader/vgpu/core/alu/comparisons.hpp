// What setp and set have in common: comparing lanes, and combining the result with a predicate.
#pragma once

#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

// Comparisons take and give whole vectors: -1 in the lanes where they hold.

struct Equal {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a == b; }
};
struct NotEqual {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a != b; }
};
struct Less {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a < b; }
};
struct LessOrEqual {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a <= b; }
};
struct Greater {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a > b; }
};
struct GreaterOrEqual {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = a >= b; }
};
/// For floating-point numbers: neither operand is NaN.
struct Ordered {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = (a == a) & (b == b); }
};
/// ne of floating-point numbers is false for NaN, unlike C's !=.
struct OrderedNotEqual {
  void operator()(auto& holds, const auto& a, const auto& b) const { holds = (a < b) | (a > b); }
};
/// equ is not ne, ltu is not ge, and so on; nan is not num.
template <class Opposite>
struct Unordered {
  void operator()(auto& holds, const auto& a, const auto& b) const {
    Opposite{}(holds, a, b);
    holds = ~holds;
  }
};

/// Which lanes of two arrays compare so.
template <class Compare, class T>
[[gnu::always_inline]] inline Mask compared_lanes(const T* a, const T* b) {
  return mask_where<T>(
      [&](Vector<Signed<T>>& holds, unsigned chunk) { Compare{}(holds, vector_at(a, chunk), vector_at(b, chunk)); });
}
/// What is not compared as it is, is compared as f32.
template <class Compare>
[[gnu::noinline]] Mask compared_as_f32(const f32* a, const f32* b) {
  return compared_lanes<Compare>(a, b);
}
template <class H, bool ftz>
f32 operand_value(H x) {
  if constexpr (std::is_enum_v<H>)
    return ftz && (static_cast<u16>(x) & 0x7c00u) == 0 ? 0.0f : widen(x);
  else
    return flushed_if<ftz>(x);
}
template <class H, bool ftz>
[[gnu::noinline]] void to_f32(f32* to, const H* from) {
  SCANLAB_LANES_INDEPENDENT
  for (unsigned lane = 0; lane < warp_size; ++lane) to[lane] = operand_value<H, ftz>(from[lane]);
}
/// One half of each pair: k = 0 is the low one.
template <class H, bool ftz, unsigned k>
[[gnu::noinline]] void half_to_f32(f32* to, const u32* from) {
  SCANLAB_LANES_INDEPENDENT
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    to[lane] = operand_value<H, ftz>(static_cast<H>(static_cast<u16>(from[lane] >> (16 * k))));
  }
}

/// Which lanes of op[1] and op[2] compare so; T is what is compared.
template <class Compare, class T, bool ftz = false>
[[gnu::always_inline]] inline Mask compared(Warp& warp, const Inst* inst) {
  const T *const a = lanes_at<T>(warp, inst->op[1]), *const b = lanes_at<T>(warp, inst->op[2]);
  if constexpr (ftz || std::is_enum_v<T>) {
    alignas(64) f32 first[warp_size], second[warp_size];
    to_f32<T, ftz>(first, a);
    to_f32<T, ftz>(second, b);
    return compared_as_f32<Compare>(first, second);
  } else {
    return compared_lanes<Compare>(a, b);
  }
}
template <class Compare, class T, bool ftz>
[[gnu::noinline]] Mask compared_apart(Warp& warp, const Inst* inst) {
  return compared<Compare, T, ftz>(warp, inst);
}

/// How a comparison is combined with the predicate op[3].
enum class Logic : u8 { none, and_, or_, xor_ };
enum class Sense : u8 { plain, negated };  ///< of that predicate

/// What Inst::imm holds of a form.
struct CombinedForm {
  Logic logic = Logic::none;
  Sense sense = Sense::plain;
  u16 comparison = 0;  ///< which one, for a handler that serves them all
  u32 value = 0;  ///< set: what is written where the comparison holds; setp: 1 if there is a second destination, op[4]
};
static_assert(sizeof(CombinedForm) == sizeof(u64));

inline Mask combined(Warp& warp, const Inst* inst, const CombinedForm& form, Mask holds) {
  if (form.logic == Logic::none) return holds;
  const Mask given = warp.predicate(inst->op[3]);
  const Mask other = form.sense == Sense::negated ? ~given : given;
  if (form.logic == Logic::and_) return holds & other;
  return form.logic == Logic::or_ ? holds | other : holds ^ other;
}

// --- pairs of 16-bit numbers -----------------------------------------------------------------------------------------

/// Which lanes compare so in half `k` of a pair; H is f16 or bf16.
template <class Compare, class H, bool ftz, unsigned k>
[[gnu::noinline]] Mask compared_half(Warp& warp, const Inst* inst) {
  alignas(64) f32 first[warp_size], second[warp_size];
  half_to_f32<H, ftz, k>(first, lanes_at<u32>(warp, inst->op[1]));
  half_to_f32<H, ftz, k>(second, lanes_at<u32>(warp, inst->op[2]));
  return compared_as_f32<Compare>(first, second);
}
// --- the forms -------------------------------------------------------------------------------------------------------

/// Forms with op[3] as it is, and with op[3] negated.
struct LogicForms {
  Forms plain, negated;

  /// Adds head{.and|.or|.xor}tail, where d and s are the types of the destination and of a and b; `bare` runs the one
  /// without logic, if there is such a handler.
  [[gnu::cold]] void add(const std::string& head, const std::string& tail, Handler run, u16 comparison, u32 value,
                         ptx::Type d, ptx::Type s, Handler bare = nullptr) {
    constexpr ptx::Type p = ptx::Type::pred;
    const auto imm = [=](Logic logic, Sense sense) {
      return std::bit_cast<u64>(CombinedForm{logic, sense, comparison, value});
    };
    plain.add(head + tail, bare ? bare : run, {d, s, s}, false, imm(Logic::none, Sense::plain));
    for (const auto& [name, logic] : {std::pair{".and", Logic::and_}, {".or", Logic::or_}, {".xor", Logic::xor_}}) {
      plain.add(head + name + tail, run, {d, s, s, p}, false, imm(logic, Sense::plain));
      negated.add(head + name + tail, run, {d, s, s, p}, false, imm(logic, Sense::negated));
    }
  }
  /// Forms know plain operands only: !c is looked up as c, in the table for it.
  std::optional<AluSelection> find(ptx::Instruction instruction) const {
    if (instruction.operands.size() == 4 && instruction.operands[3].kind != ptx::Operand::Kind::reg)
      return std::nullopt;
    const bool negates = instruction.operands.size() == 4 && std::exchange(instruction.operands[3].negated, false);
    return (negates ? negated : plain).find(instruction);
  }
};

/// Calls `visit.template operator()<Compare, T>(compare, type)` for every comparison of integers and untyped bits.
template <class Visit>
void for_integer_compares(Visit visit) {
  for_types<u16, u32, u64, s16, s32, s64>([&]<class T>() {
    const std::string type = type_name<T>();
    visit.template operator()<Equal, T>("eq", type);
    visit.template operator()<NotEqual, T>("ne", type);
    visit.template operator()<Less, T>("lt", type);
    visit.template operator()<LessOrEqual, T>("le", type);
    visit.template operator()<Greater, T>("gt", type);
    visit.template operator()<GreaterOrEqual, T>("ge", type);
  });
  for_types<u16, u32, u64>([&]<class U>() {
    const std::string type = type_name<U>(), bits = bits_name<U>();
    visit.template operator()<Less, U>("lo", type);
    visit.template operator()<LessOrEqual, U>("ls", type);
    visit.template operator()<Greater, U>("hi", type);
    visit.template operator()<GreaterOrEqual, U>("hs", type);
    visit.template operator()<Equal, U>("eq", bits);
    visit.template operator()<NotEqual, U>("ne", bits);
  });
}
/// Calls `visit.template operator()<Compare>(compare)` for every comparison of floating-point numbers.
template <class Visit>
void for_float_compares(Visit visit) {
  visit.template operator()<Equal>("eq");
  visit.template operator()<OrderedNotEqual>("ne");
  visit.template operator()<Less>("lt");
  visit.template operator()<LessOrEqual>("le");
  visit.template operator()<Greater>("gt");
  visit.template operator()<GreaterOrEqual>("ge");
  visit.template operator()<Unordered<OrderedNotEqual>>("equ");
  visit.template operator()<NotEqual>("neu");
  visit.template operator()<Unordered<GreaterOrEqual>>("ltu");
  visit.template operator()<Unordered<Greater>>("leu");
  visit.template operator()<Unordered<LessOrEqual>>("gtu");
  visit.template operator()<Unordered<Less>>("geu");
  visit.template operator()<Ordered>("num");
  visit.template operator()<Unordered<Ordered>>("nan");
}

}  // namespace scanlab::vgpu
