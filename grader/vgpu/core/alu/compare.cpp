// setp and set: comparisons whose result is a predicate or a value (PTX ISA, Comparison and Selection Instructions).
#include "vgpu/core/alu/comparisons.hpp"

namespace scanlab::vgpu {

namespace {

// --- setp -----------------------------------------------------------------------------------------------------------

template <class Compare, class T>
const Inst* setp(Warp& warp, const Inst* inst) {
  write_predicate(warp, inst->op[0], compared<Compare, T>(warp, inst));
  return proceed(warp, inst + 1);
}
/// One comparison of one type, where it is not a handler of its own: which lanes compare so. Of two 16-bit numbers, those
/// whose low halves do, and those whose high ones do.
using Compared = Mask (*)(Warp&, const Inst*);
struct Comparison {
  Compared lanes = nullptr, low = nullptr, high = nullptr;
};
/// Filled with the forms, whose CombinedForm::comparison says which.
std::vector<Comparison> comparisons;

Mask compared_by(Compared Comparison::*which, Warp& warp, const Inst* inst, const CombinedForm& form) {
  return (comparisons[form.comparison].*which)(warp, inst);
}

/// p is the comparison combined with c, q its opposite combined with c.
const Inst* setp_combined(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask holds = compared_by(&Comparison::lanes, warp, inst, form);
  const Mask p = combined(warp, inst, form, holds);
  const Mask q = combined(warp, inst, form, ~holds);
  write_predicate(warp, inst->op[0], p);
  if (form.value != 0) write_predicate(warp, inst->op[4], q);
  return proceed(warp, inst + 1);
}

/// setp of a pair: p is for the low half, q for the high one; each is combined with c.
const Inst* setp_pair(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask low = combined(warp, inst, form, compared_by(&Comparison::low, warp, inst, form));
  const Mask high = combined(warp, inst, form, compared_by(&Comparison::high, warp, inst, form));
  write_predicate(warp, inst->op[0], low);
  write_predicate(warp, inst->op[4], high);
  return proceed(warp, inst + 1);
}

// --- set ------------------------------------------------------------------------------------------------------------

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
template <class U>
const Inst* set(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask holds = compared_by(&Comparison::lanes, warp, inst, form);
  write_where(warp, inst, combined(warp, inst, form, holds), static_cast<U>(form.value));
  return proceed(warp, inst + 1);
}

/// `value` in each half where its mask is set.
[[gnu::noinline]] void write_pair_where(Warp& warp, const Inst* inst, Mask low, Mask high, u32 value) {
  u32* const to = lanes_at<u32>(warp, inst->op[0]);
  for_each_lane(warp.active, [&](unsigned lane) {
    to[lane] = ((low >> lane) & 1u ? value : 0u) | ((high >> lane) & 1u ? value << 16 : 0u);
  });
}
/// set of a pair.
const Inst* set_pair(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<CombinedForm>(inst->imm);
  const Mask low = combined(warp, inst, form, compared_by(&Comparison::low, warp, inst, form));
  const Mask high = combined(warp, inst, form, compared_by(&Comparison::high, warp, inst, form));
  write_pair_where(warp, inst, low, high, form.value);
  return proceed(warp, inst + 1);
}

// --- the forms -------------------------------------------------------------------------------------------------------

constexpr u32 one_f16 = 0x3c00, one_bf16 = 0x3f80, one_f32 = 0x3f800000;

struct CompareForms {
  LogicForms setp;
  LogicForms setp_two;  ///< p|q
  LogicForms set;
};

/// How one comparison of one type is executed.
struct CompareHandlers {
  ptx::Type type;
  Handler setp_bare;  ///< setp without logic, if there is one
  Comparison comparison;
};
template <class Compare, class T, bool ftz = false>
constexpr CompareHandlers handlers_of() {
  CompareHandlers made = {type_of<T>, nullptr, {compared_apart<Compare, T, ftz>}};
  if constexpr (std::is_enum_v<T>) {
    made.comparison.low = compared_half<Compare, T, ftz, 0>;
    made.comparison.high = compared_half<Compare, T, ftz, 1>;
  } else if constexpr (!ftz) {
    made.setp_bare = setp<Compare, T>;
  }
  return made;
}

/// `type` as it is written, with its dot; `flush` is ".ftz" or nothing.
void add_compare(CompareForms& forms, const char* compare, const char* flush, std::string_view type_written,
                 const CompareHandlers& run) {
  const auto which = static_cast<u16>(comparisons.size());
  comparisons.push_back(run.comparison);
  const std::string type(type_written), setp = std::string("setp.") + compare, tail = flush + type;
  forms.setp.add(setp, tail, setp_combined, which, 0, ptx::Type::pred, run.type, run.setp_bare);
  forms.setp_two.add(setp, tail, setp_combined, which, 1, ptx::Type::pred, run.type);

  const auto add_set = [&](const std::string& types, Handler handler, u32 value, ptx::Type d, ptx::Type s) {
    forms.set.add(std::string("set.") + compare, flush + types, handler, which, value, d, s);
  };
  add_set(".u32" + type, set<u32>, ~u32{0}, ptx::Type::u32, run.type);
  add_set(".s32" + type, set<u32>, ~u32{0}, ptx::Type::s32, run.type);
  if (!run.comparison.low) {
    add_set(".f32" + type, set<u32>, one_f32, ptx::Type::f32, run.type);
    add_set(".f16" + type, set<u16>, one_f16, ptx::Type::f16, run.type);
    return;
  }
  const u32 one = run.type == ptx::Type::f16 ? one_f16 : one_bf16;
  forms.setp_two.add(setp, tail + "x2", setp_pair, which, 0, ptx::Type::pred, ptx::Type::f16x2);
  add_set(type + type, set<u16>, one, run.type, run.type);
  add_set(".u16" + type, set<u16>, 0xffff, ptx::Type::u16, run.type);
  add_set(".s16" + type, set<u16>, 0xffff, ptx::Type::s16, run.type);
  add_set(type + "x2" + type + "x2", set_pair, one, ptx::Type::f16x2, ptx::Type::f16x2);
  add_set(".u32" + type + "x2", set_pair, 0xffff, ptx::Type::u32, ptx::Type::f16x2);
  add_set(".s32" + type + "x2", set_pair, 0xffff, ptx::Type::s32, ptx::Type::f16x2);
}

const CompareForms& compare_forms() {
  static const CompareForms all = [] {
    CompareForms forms;
    for_integer_compares([&]<class Compare, class T>(const char* compare, const std::string& type) {
      add_compare(forms, compare, "", type, handlers_of<Compare, T>());
    });
    for_float_compares([&]<class Compare>(const char* compare) {
      add_compare(forms, compare, "", ".f32", handlers_of<Compare, f32>());
      add_compare(forms, compare, ".ftz", ".f32", handlers_of<Compare, f32, true>());
      add_compare(forms, compare, "", ".f64", handlers_of<Compare, f64>());
      add_compare(forms, compare, "", ".f16", handlers_of<Compare, f16>());
      add_compare(forms, compare, ".ftz", ".f16", handlers_of<Compare, f16, true>());
      add_compare(forms, compare, "", ".bf16", handlers_of<Compare, bf16>());
    });
    return forms;
  }();
  return all;
}

}  // namespace

std::optional<AluSelection> select_compare(const ptx::Instruction& instruction) {
  if (instruction.operands.empty()) return std::nullopt;
  if (instruction.opcode == "set") return compare_forms().set.find(instruction);
  if (instruction.opcode != "setp") return std::nullopt;
  if (instruction.operands[0].kind != ptx::Operand::Kind::pair) return compare_forms().setp.find(instruction);
  // p|q is looked up as p, in the table for it; p|_ is p, unless p is for one half and _ for the other.
  const std::vector<ptx::Operand>& pair = instruction.operands[0].elements;
  if (pair.size() != 2) return std::nullopt;
  const auto is_sink = [](const ptx::Operand& operand) { return operand.kind == ptx::Operand::Kind::sink; };
  if (!is_sink(pair[1]) && !is_register(pair[1])) return std::nullopt;
  const bool has_second = is_sink(pair[0]) || !is_sink(pair[1]) || instruction.modifiers.back().ends_with("x2");
  ptx::Instruction single = instruction;
  single.operands[0] = is_sink(pair[0]) ? pair[1] : pair[0];
  auto selection = (has_second ? compare_forms().setp_two : compare_forms().setp).find(std::move(single));
  if (selection && has_second) selection->type[4] = ptx::Type::pred;
  return selection;
}

}  // namespace scanlab::vgpu
