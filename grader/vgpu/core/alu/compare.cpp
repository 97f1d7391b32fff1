// setp and set: comparisons whose result is a predicate or a value (PTX ISA, Comparison and Selection Instructions).
#include <algorithm>
#include <span>
#include <string_view>

#include "vgpu/core/alu/comparisons.hpp"
#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

// --- comparing -------------------------------------------------------------------------------------------------------

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
/// What lies in registers of type R, from bit `shift` on, as f32.
template <class T, bool ftz, class R>
[[gnu::noinline]] void to_f32(f32* to, const R* from, unsigned shift) {
  SCANLAB_LANES_INDEPENDENT
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if constexpr (std::is_enum_v<T>) {
      to[lane] = widen(flushed_if<ftz>(static_cast<T>(static_cast<u16>(from[lane] >> shift))));
    } else {
      to[lane] = flushed_if<ftz>(from[lane]);
    }
  }
}
template <class Compare, class T, bool ftz, class R>
Mask compared_as_f32(Warp& warp, const Inst* inst, unsigned shift) {
  alignas(64) f32 first[warp_size], second[warp_size];
  to_f32<T, ftz>(first, lanes_at<R>(warp, inst->op[1]), shift);
  to_f32<T, ftz>(second, lanes_at<R>(warp, inst->op[2]), shift);
  return compared_as_f32<Compare>(first, second);
}

/// Which lanes of op[1] and op[2] compare so; T is what is compared.
template <class Compare, class T, bool ftz>
[[gnu::noinline]] Mask compared(Warp& warp, const Inst* inst) {
  if constexpr (std::is_enum_v<T>)
    return compared_as_f32<Compare, T, ftz, u16>(warp, inst, 0);
  else if constexpr (ftz)
    return compared_as_f32<Compare, T, ftz, T>(warp, inst, 0);
  else
    return compared_lanes<Compare>(lanes_at<T>(warp, inst->op[1]), lanes_at<T>(warp, inst->op[2]));
}

// --- what becomes of the result --------------------------------------------------------------------------------------

/// How a comparison is combined with the predicate op[3].
enum class Logic : u8 { none, and_, or_, xor_ };

/// What Inst::imm holds.
struct CombinedForm {
  Logic logic = Logic::none;
  bool is_negated = false;  ///< that predicate
  u16 unused = 0;
  u32 value = 0;  ///< set: what is written where the comparison holds; setp: 1 if there is a second destination, op[4]
};
static_assert(sizeof(CombinedForm) == sizeof(u64));

Mask combined(Warp& warp, const Inst* inst, const CombinedForm& form, Mask holds) {
  if (form.logic == Logic::none) return holds;
  const Mask given = warp.predicate(inst->op[3]);
  const Mask other = form.is_negated ? ~given : given;
  if (form.logic == Logic::and_) return holds & other;
  return form.logic == Logic::or_ ? holds | other : holds ^ other;
}

/// setp without logic.
template <class Compare, class T>
const Inst* setp(Warp& warp, const Inst* inst) {
  const T *const a = lanes_at<T>(warp, inst->op[1]), *const b = lanes_at<T>(warp, inst->op[2]);
  write_predicate(warp, inst->op[0], compared_lanes<Compare>(a, b));
  return proceed(warp, inst + 1);
}
/// p is the comparison combined with c, q its opposite combined with c.
const Inst* set_predicates(Warp& warp, const Inst* inst, Mask holds) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask p = combined(warp, inst, form, holds);
  const Mask q = combined(warp, inst, form, ~holds);
  write_predicate(warp, inst->op[0], p);
  if (form.value != 0) write_predicate(warp, inst->op[4], q);
  return proceed(warp, inst + 1);
}
template <auto compare>
const Inst* setp_combined(Warp& warp, const Inst* inst) {
  return set_predicates(warp, inst, compare(warp, inst));
}

/// One value in the active lanes of op[0] where `which` is set, zero in the others.
template <class U>
[[gnu::noinline]] void write_where(Warp& warp, const Inst* inst, Mask which, U value) {
  U* const to = lanes_at<U>(warp, inst->op[0]);
  for (unsigned chunk = 0; chunk < VectorOf<U>::count; ++chunk) {
    Vector<Signed<U>> chosen, active;
    expand<Signed<U>>(chosen, which, chunk);
    expand<Signed<U>>(active, warp.active, chunk);
    Vector<U>& old = vector_at(to, chunk);
    const Vector<U> values = Vector<U>{} + value;
    old = active ? (chosen ? values : Vector<U>{}) : old;
  }
}
template <auto compare, class U>
const Inst* set(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  write_where(warp, inst, combined(warp, inst, form, compare(warp, inst)), static_cast<U>(form.value));
  return proceed(warp, inst + 1);
}

// Of pairs of 16-bit numbers each half is compared, and combined with c.

/// Which lanes compare so in the low and in the high half.
template <class Compare, class H, bool ftz>
std::pair<Mask, Mask> compared_halves(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask low = compared_as_f32<Compare, H, ftz, u32>(warp, inst, 0);
  const Mask high = compared_as_f32<Compare, H, ftz, u32>(warp, inst, 16);
  return {combined(warp, inst, form, low), combined(warp, inst, form, high)};
}
/// p is for the low half, q for the high one.
template <class Compare, class H, bool ftz>
const Inst* setp_pair(Warp& warp, const Inst* inst) {
  const auto [low, high] = compared_halves<Compare, H, ftz>(warp, inst);
  write_predicate(warp, inst->op[0], low);
  write_predicate(warp, inst->op[4], high);
  return proceed(warp, inst + 1);
}
template <class Compare, class H, bool ftz>
const Inst* set_pair(Warp& warp, const Inst* inst) {
  const auto [low, high] = compared_halves<Compare, H, ftz>(warp, inst);
  const u32 value = std::bit_cast<CombinedForm>(inst->imm).value;
  u32* const to = lanes_at<u32>(warp, inst->op[0]);
  for (const unsigned lane : lanes_in(warp.active)) {  // clang below 16
    to[lane] = ((low >> lane) & 1u ? value : 0u) | ((high >> lane) & 1u ? value << 16 : 0u);
  }
  return proceed(warp, inst + 1);
}

// --- the forms -------------------------------------------------------------------------------------------------------

/// The handlers of one comparison of one type.
struct Comparison {
  ptx::Type type = ptx::Type::none;
  Handler setp_bare = nullptr;  ///< without logic, if there is one
  Handler setp = nullptr, set_u16 = nullptr, set_u32 = nullptr;
  Handler setp_pair = nullptr, set_pair = nullptr;  ///< of two 16-bit numbers
};
template <class Compare, class T, bool ftz = false>
Comparison comparison() {
  constexpr auto mask = compared<Compare, T, ftz>;
  Comparison made = {type_of<T>, nullptr, setp_combined<mask>, set<mask, u16>, set<mask, u32>};
  if constexpr (std::is_enum_v<T>) {
    made.setp_pair = setp_pair<Compare, T, ftz>;
    made.set_pair = set_pair<Compare, T, ftz>;
  } else if constexpr (!ftz) {
    made.setp_bare = setp<Compare, T>;
  }
  return made;
}

/// By "lt.ftz.f32".
using Comparisons = std::unordered_map<std::string, Comparison>;

template <class T>
void add_integer_comparisons(Comparisons& all, const std::string& type) {
  all.emplace("eq" + type, comparison<Equal, T>());
  all.emplace("ne" + type, comparison<NotEqual, T>());
  all.emplace("lt" + type, comparison<Less, T>());
  all.emplace("le" + type, comparison<LessOrEqual, T>());
  all.emplace("gt" + type, comparison<Greater, T>());
  all.emplace("ge" + type, comparison<GreaterOrEqual, T>());
}

template <class Compare>
void add_float_comparison(Comparisons& all, const std::string& name) {
  all.emplace(name + ".f32", comparison<Compare, f32>());
  all.emplace(name + ".ftz.f32", comparison<Compare, f32, true>());
  all.emplace(name + ".f64", comparison<Compare, f64>());
  all.emplace(name + ".f16", comparison<Compare, f16>());
  all.emplace(name + ".ftz.f16", comparison<Compare, f16, true>());
  all.emplace(name + ".bf16", comparison<Compare, bf16>());
}

Comparisons all_comparisons() {
  Comparisons all;
  for_types<u16, u32, u64, s16, s32, s64>([&]<class T>() { add_integer_comparisons<T>(all, type_name<T>()); });
  for_types<u16, u32, u64>([&]<class U>() {
    const std::string type = type_name<U>(), bits = bits_name<U>();
    for (const auto& [name, same] : {std::pair("lo", "lt"), {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}})
      all.emplace(name + type, all.at(same + type));
    for (const std::string name : {"eq", "ne"}) all.emplace(name + bits, all.at(name + type));
  });
  add_float_comparison<Equal>(all, "eq");
  add_float_comparison<OrderedNotEqual>(all, "ne");
  add_float_comparison<Less>(all, "lt");
  add_float_comparison<LessOrEqual>(all, "le");
  add_float_comparison<Greater>(all, "gt");
  add_float_comparison<GreaterOrEqual>(all, "ge");
  add_float_comparison<Unordered<OrderedNotEqual>>(all, "equ");
  add_float_comparison<NotEqual>(all, "neu");
  add_float_comparison<Unordered<GreaterOrEqual>>(all, "ltu");
  add_float_comparison<Unordered<Greater>>(all, "leu");
  add_float_comparison<Unordered<LessOrEqual>>(all, "gtu");
  add_float_comparison<Unordered<Less>>(all, "geu");
  add_float_comparison<Ordered>(all, "num");
  add_float_comparison<Unordered<Ordered>>(all, "nan");
  return all;
}

/// What set writes, by the type of its result.
struct SetResult {
  std::string_view name;
  Handler run;
  u32 value;  ///< where the comparison holds
};
std::vector<SetResult> results_of_set(const Comparison& with, bool is_of_pairs) {
  constexpr u32 one_f16 = 0x3c00, one_bf16 = 0x3f80, one_f32 = 0x3f800000;
  const bool is_half = with.set_pair, is_f16 = with.type == ptx::Type::f16;
  const u32 one = is_f16 ? one_f16 : one_bf16;
  if (is_of_pairs)
    return {{"u32", with.set_pair, 0xffff},
            {"s32", with.set_pair, 0xffff},
            {is_f16 ? "f16x2" : "bf16x2", with.set_pair, one}};
  std::vector<SetResult> results = {{"u32", with.set_u32, ~0u}, {"s32", with.set_u32, ~0u}};
  if (!is_half) {
    results.push_back({"f32", with.set_u32, one_f32});
    results.push_back({"f16", with.set_u16, one_f16});
  } else {
    results.push_back({"u16", with.set_u16, 0xffff});
    results.push_back({"s16", with.set_u16, 0xffff});
    results.push_back({ptx::name_of(with.type), with.set_u16, one});
  }
  return results;
}

}  // namespace

/// setp.compare{.logic}{.ftz}.type p{|q}, a, b{, {!}c}; set.compare{.logic}{.ftz}.result.type d, a, b{, {!}c}.
std::optional<AluSelection> select_compare(const ptx::Instruction& instruction) {
  static const Comparisons comparisons = all_comparisons();
  const bool is_set = instruction.opcode == "set";
  if ((!is_set && instruction.opcode != "setp") || !has_plain_operands(instruction)) return std::nullopt;
  std::span<const std::string> words = instruction.modifiers;
  CombinedForm form;
  if (words.empty()) return std::nullopt;
  std::string name = words.front();
  words = words.subspan(1);
  for (const auto& [word, logic] : {std::pair("and", Logic::and_), {"or", Logic::or_}, {"xor", Logic::xor_}})
    if (form.logic == Logic::none && take(words, word)) form.logic = logic;
  if (take(words, "ftz")) name += ".ftz";
  if (words.size() != (is_set ? 2 : 1)) return std::nullopt;
  std::string_view type = words.back();
  const bool is_of_pairs = type.ends_with("x2");
  if (is_of_pairs) type.remove_suffix(2);
  const auto found = comparisons.find(name.append(".").append(type));
  const bool has_logic = form.logic != Logic::none;
  const std::vector<ptx::Operand>& operands = instruction.operands;
  if (found == comparisons.end() || operands.size() != (has_logic ? 4 : 3)) return std::nullopt;
  if (operands[1].negated || operands[2].negated) return std::nullopt;
  form.is_negated = has_logic && operands[3].negated;

  const Comparison& with = found->second;
  AluSelection selection;
  selection.type[0] = selection.type[3] = selection.type[4] = ptx::Type::pred;
  selection.type[1] = selection.type[2] = is_of_pairs ? ptx::Type::f16x2 : with.type;
  if (is_set) {
    const std::vector<SetResult> results = results_of_set(with, is_of_pairs);
    const auto result = std::ranges::find(results, words.front(), &SetResult::name);
    if (result == results.end() || operands[0].kind == ptx::Operand::Kind::pair) return std::nullopt;
    selection.run = result->run;
    selection.type[0] = is_of_pairs ? ptx::Type::f16x2 : ptx::type_from_suffix(result->name);
    form.value = result->value;
  } else if (is_of_pairs) {
    if (!has_second_destination(instruction)) return std::nullopt;
    selection.run = with.setp_pair;
  } else {
    form.value = has_second_destination(instruction);
    selection.run = with.setp_bare && !form.value && !has_logic ? with.setp_bare : with.setp;
  }
  if (!selection.run) return std::nullopt;
  selection.imm = std::bit_cast<u64>(form);
  return selection;
}

}  // namespace scanlab::vgpu
