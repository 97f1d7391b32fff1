// Selection by a comparison, a predicate or a sign (PTX ISA, Comparison and Selection Instructions): set, selp, slct.
#include "vgpu/core/alu/comparisons.hpp"

namespace scanlab::vgpu {

namespace {

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
template <auto compare, Logic logic, Sense sense, auto value>
const Inst* set(Warp& warp, const Inst* inst) {
  write_where(warp, inst, combined<logic, sense>(warp, inst, compare(warp, inst)), value);
  return proceed(warp, inst + 1);
}

/// The same for the rarer types, which find the logic and the value in Inst::imm.
template <auto compare, class U>
const Inst* set_by_form(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  write_where(warp, inst, combined(warp, inst, form, compare(warp, inst)), static_cast<U>(form.value));
  return inst + 1;
}

/// `value` in each half where its mask is set.
[[gnu::noinline]] void write_pair_where(Warp& warp, const Inst* inst, Mask low, Mask high, u32 value) {
  u32* const to = lanes_at<u32>(warp, inst->op[0]);
  for_each_lane(warp.active, [&](unsigned lane) {
    to[lane] = ((low >> lane) & 1u ? value : 0u) | ((high >> lane) & 1u ? value << 16 : 0u);
  });
}
/// set of a pair.
template <class Compare, class H, bool ftz>
const Inst* set_pair(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask low = combined(warp, inst, form, compared_half<Compare, H, ftz, 0>(warp, inst));
  const Mask high = combined(warp, inst, form, compared_half<Compare, H, ftz, 1>(warp, inst));
  write_pair_where(warp, inst, low, high, form.value);
  return proceed(warp, inst + 1);
}

/// selp: op[3] is a predicate.
template <class U>
[[gnu::always_inline]] inline void choose(U* to, const U* a, const U* b, Mask choice, Mask active) {
  for (unsigned chunk = 0; chunk < VectorOf<U>::count; ++chunk) {
    Vector<Signed<U>> takes_a;
    expand<Signed<U>>(takes_a, choice, chunk);
    const Vector<U> chosen = takes_a ? vector_at(a, chunk) : vector_at(b, chunk);
    Vector<U>& result = vector_at(to, chunk);
    if (active == full_mask) [[likely]] {
      result = chosen;
    } else {
      Vector<Signed<U>> writes;
      expand<Signed<U>>(writes, active, chunk);
      result = writes ? chosen : result;
    }
  }
}
template <class U, Sense sense>
const Inst* selp(Warp& warp, const Inst* inst) {
  const Mask flip = sense == Sense::negated ? full_mask : 0;
  choose(lanes_at<U>(warp, inst->op[0]), lanes_at<U>(warp, inst->op[1]), lanes_at<U>(warp, inst->op[2]),
         warp.predicate(inst->op[3]) ^ flip, warp.active);
  return proceed(warp, inst + 1);
}
template <class U, Sense sense>
const Step* selp_in_lockstep(Lockstep& l, const Step* s) {
  const Mask flip = sense == Sense::negated ? full_mask : 0;
  const OperandRef d = s->inst->op[0], a = s->inst->op[1], b = s->inst->op[2], p = s->inst->op[3];
  for (unsigned k = 0; k < l.count; ++k) {
    const Mask choice = predicate_at(l, k, p) ^ flip;
    choose(lanes_at<U>(l, k, d), lanes_at<U>(l, k, a), lanes_at<U>(l, k, b), choice, l.active[k]);
  }
  return s + 1;
}

/// slct: by the sign of c; -0 counts as not negative, NaN as negative.
template <bool ftz>
struct SelectBySign {
  template <class U, class C>
  U operator()(U a, U b, C c) const {
    return flushed_if<ftz>(c) >= C{0} ? a : b;
  }
};

// --- the forms -------------------------------------------------------------------------------------------------------

constexpr u32 one_f16 = 0x3c00, one_bf16 = 0x3f80;

template <auto compare, auto value>
constexpr Combinations set_combinations() {
  using enum Logic;
  using enum Sense;
  return {set<compare, none, plain, value>,
          {set<compare, and_, plain, value>, set<compare, or_, plain, value>, set<compare, xor_, plain, value>},
          {set<compare, and_, negated, value>, set<compare, or_, negated, value>, set<compare, xor_, negated, value>}};
}

[[gnu::cold]] void add_set(LogicForms& forms, const std::string& compare, const std::string& flush,
                           const std::string& type, const Combinations& ones, const Combinations& one_f32,
                           ptx::Type s) {
  forms.add("set." + compare, flush + ".u32" + type, ones, ptx::Type::u32, s);
  forms.add("set." + compare, flush + ".s32" + type, ones, ptx::Type::s32, s);
  forms.add("set." + compare, flush + ".f32" + type, one_f32, ptx::Type::f32, s);
}
template <class Compare, class T, bool ftz = false>
[[gnu::cold]] void add_compare(LogicForms& forms, const char* compare, const std::string& type) {
  constexpr auto mask = compared_apart<Compare, T, ftz>;
  static constexpr Combinations ones = set_combinations<mask, ~u32{0}>();
  static constexpr Combinations one_f32 = set_combinations<mask, u32{0x3f800000}>();
  add_set(forms, compare, ftz ? ".ftz" : "", type, ones, one_f32, type_of<T>);
  forms.add(std::string("set.") + compare, (ftz ? ".ftz.f16" : ".f16") + type, set_by_form<mask, u16>, one_f16,
            ptx::Type::f16, type_of<T>);
}

/// set of 16-bit numbers and of pairs of them: 1.0 in the same type, or all bits of an integer.
template <class Compare, class H, bool ftz>
[[gnu::cold]] void add_half_compare(LogicForms& forms, const char* compare) {
  constexpr auto mask = compared_apart<Compare, H, ftz>;
  constexpr u32 one = std::is_same_v<H, f16> ? one_f16 : one_bf16;
  const std::string head = std::string("set.") + compare, flush = ftz ? ".ftz" : "", type = type_name<H>();
  constexpr ptx::Type h = type_of<H>, pair = ptx::Type::f16x2;
  forms.add(head, flush + type + type, set_by_form<mask, u16>, one, h, h);
  forms.add(head, flush + ".u16" + type, set_by_form<mask, u16>, 0xffff, ptx::Type::u16, h);
  forms.add(head, flush + ".s16" + type, set_by_form<mask, u16>, 0xffff, ptx::Type::s16, h);
  forms.add(head, flush + ".u32" + type, set_by_form<mask, u32>, ~u32{0}, ptx::Type::u32, h);
  forms.add(head, flush + ".s32" + type, set_by_form<mask, u32>, ~u32{0}, ptx::Type::s32, h);
  forms.add(head, flush + type + "x2" + type + "x2", set_pair<Compare, H, ftz>, one, pair, pair);
  forms.add(head, flush + ".u32" + type + "x2", set_pair<Compare, H, ftz>, 0xffff, ptx::Type::u32, pair);
  forms.add(head, flush + ".s32" + type + "x2", set_pair<Compare, H, ftz>, 0xffff, ptx::Type::s32, pair);
}

LogicForms select_forms() {
  LogicForms forms;
  for_integer_compares([&]<class Compare, class T>(const char* compare, const std::string& type) {
    add_compare<Compare, T>(forms, compare, type);
  });
  for_float_compares([&]<class Compare>(const char* compare) {
    add_compare<Compare, f32>(forms, compare, ".f32");
    add_compare<Compare, f32, true>(forms, compare, ".f32");
    add_compare<Compare, f64>(forms, compare, ".f64");
    add_half_compare<Compare, f16, false>(forms, compare);
    add_half_compare<Compare, f16, true>(forms, compare);
    add_half_compare<Compare, bf16, false>(forms, compare);
  });
  for_types<u16, u32, u64>([&]<class U>() {
    constexpr ptx::Type t = type_of<U>;
    const auto add = [&](const std::string& type) {
      forms.plain.add("selp" + type, selp<U, Sense::plain>, {t, t, t, ptx::Type::pred}).in_lockstep =
          selp_in_lockstep<U, Sense::plain>;
      forms.negated.add("selp" + type, selp<U, Sense::negated>, {t, t, t, ptx::Type::pred}).in_lockstep =
          selp_in_lockstep<U, Sense::negated>;
      forms.plain.lanes<SelectBySign<false>, U, U, U, s32>("slct" + type + ".s32");
      forms.plain.lanes<SelectBySign<false>, U, U, U, f32>("slct" + type + ".f32");
      forms.plain.lanes<SelectBySign<true>, U, U, U, f32>("slct.ftz" + type + ".f32");
    };
    add(bits_name<U>());
    add(type_name<U>());
    add(type_name<Signed<U>>());
    if (sizeof(U) >= 4) add(sizeof(U) == 4 ? ".f32" : ".f64");
  });
  return forms;
}

}  // namespace

std::optional<AluSelection> select_selection(const ptx::Instruction& instruction) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "slct" || opcode == "selp" || opcode == "set") {
    static const LogicForms forms = select_forms();
    return opcode == "slct" ? forms.plain.find(instruction) : forms.find(instruction);
  }
  return std::nullopt;
}

}  // namespace scanlab::vgpu
