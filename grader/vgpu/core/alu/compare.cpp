// setp: comparisons whose result is a predicate (PTX ISA, Comparison and Selection Instructions).
#include "vgpu/core/alu/comparisons.hpp"

namespace scanlab::vgpu {

namespace {

enum class Second : u8 { absent, present };  ///< a second destination, op[4]

/// setp: p is the comparison combined with c, q its opposite combined with c.
template <Logic logic, Sense sense, Second second>
[[gnu::always_inline]] inline const Inst* set_predicates(Warp& warp, const Inst* inst, Mask holds) {
  const Mask p = combined<logic, sense>(warp, inst, holds);
  if constexpr (second == Second::present) {
    const Mask q = combined<logic, sense>(warp, inst, ~holds);
    write_predicate(warp, inst->op[0], p);
    write_predicate(warp, inst->op[4], q);
  } else {
    write_predicate(warp, inst->op[0], p);
  }
  return proceed(warp, inst + 1);
}
template <class Compare, class T, bool ftz>
const Inst* setp(Warp& warp, const Inst* inst) {
  return set_predicates<Logic::none, Sense::plain, Second::absent>(warp, inst, compared<Compare, T, ftz>(warp, inst));
}
template <auto compare, Logic logic, Sense sense, Second second>
const Inst* setp_combined(Warp& warp, const Inst* inst) {
  return set_predicates<logic, sense, second>(warp, inst, compare(warp, inst));
}

/// setp of a pair: p is for the low half, q for the high one; each is combined with c.
template <class Compare, class H, bool ftz>
const Inst* setp_pair(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask low = combined(warp, inst, form, compared_half<Compare, H, ftz, 0>(warp, inst));
  const Mask high = combined(warp, inst, form, compared_half<Compare, H, ftz, 1>(warp, inst));
  write_predicate(warp, inst->op[0], low);
  write_predicate(warp, inst->op[4], high);
  return proceed(warp, inst + 1);
}

// --- the forms -------------------------------------------------------------------------------------------------------

struct SetpForms {
  LogicForms one;  ///< one destination
  LogicForms two;  ///< p|q
};

template <auto compare, Second second>
constexpr Combinations setp_combinations() {
  using enum Logic;
  using enum Sense;
  return {setp_combined<compare, none, plain, second>,
          {setp_combined<compare, and_, plain, second>, setp_combined<compare, or_, plain, second>,
           setp_combined<compare, xor_, plain, second>},
          {setp_combined<compare, and_, negated, second>, setp_combined<compare, or_, negated, second>,
           setp_combined<compare, xor_, negated, second>}};
}
[[gnu::cold]] void add_setp(SetpForms& forms, const std::string& compare, const std::string& tail,
                            const Combinations& one, const Combinations& two, ptx::Type type) {
  forms.one.add("setp." + compare, tail, one, ptx::Type::pred, type);
  forms.two.add("setp." + compare, tail, two, ptx::Type::pred, type);
}
template <class Compare, class T, bool ftz = false>
[[gnu::cold]] void add_compare(SetpForms& forms, const char* compare, const std::string& tail) {
  constexpr auto mask = compared_apart<Compare, T, ftz>;
  static constexpr Combinations one = [] {
    Combinations handlers = setp_combinations<mask, Second::absent>();
    handlers.bare = setp<Compare, T, ftz>;
    return handlers;
  }();
  static constexpr Combinations two = setp_combinations<mask, Second::present>();
  add_setp(forms, compare, tail, one, two, type_of<T>);
}

SetpForms setp_forms() {
  SetpForms forms;
  for_integer_compares([&]<class Compare, class T>(const char* compare, const std::string& type) {
    add_compare<Compare, T>(forms, compare, type);
  });
  for_float_compares([&]<class Compare>(const char* compare) {
    add_compare<Compare, f32>(forms, compare, ".f32");
    add_compare<Compare, f32, true>(forms, compare, ".ftz.f32");
    add_compare<Compare, f64>(forms, compare, ".f64");
    add_compare<Compare, f16>(forms, compare, ".f16");
    add_compare<Compare, f16, true>(forms, compare, ".ftz.f16");
    add_compare<Compare, bf16>(forms, compare, ".bf16");
    const auto add_pair = [&](const std::string& tail, Handler run) {
      forms.two.add(std::string("setp.") + compare, tail, run, 0, ptx::Type::pred, ptx::Type::f16x2);
    };
    add_pair(".f16x2", setp_pair<Compare, f16, false>);
    add_pair(".ftz.f16x2", setp_pair<Compare, f16, true>);
    add_pair(".bf16x2", setp_pair<Compare, bf16, false>);
  });
  return forms;
}

}  // namespace

std::optional<AluSelection> select_compare(const ptx::Instruction& instruction) {
  if (instruction.opcode != "setp" || instruction.operands.empty()) return std::nullopt;
  static const SetpForms forms = setp_forms();
  if (instruction.operands[0].kind != ptx::Operand::Kind::pair) return forms.one.find(instruction);
  // p|q is looked up as p, in the table for it; p|_ is p, unless p is for one half and _ for the other.
  const std::vector<ptx::Operand>& pair = instruction.operands[0].elements;
  if (pair.size() != 2) return std::nullopt;
  const auto is_sink = [](const ptx::Operand& operand) { return operand.kind == ptx::Operand::Kind::sink; };
  if (!is_sink(pair[1]) && !is_register(pair[1])) return std::nullopt;
  const bool has_second = is_sink(pair[0]) || !is_sink(pair[1]) || instruction.modifiers.back().ends_with("x2");
  ptx::Instruction single = instruction;
  single.operands[0] = is_sink(pair[0]) ? pair[1] : pair[0];
  auto selection = (has_second ? forms.two : forms.one).find(std::move(single));
  if (selection && has_second) selection->type[4] = ptx::Type::pred;
  return selection;
}

}  // namespace scanlab::vgpu
