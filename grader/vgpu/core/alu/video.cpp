// The video instructions: arithmetic on bytes, half-words and words with selected parts, saturation, a second operation
// and merging (PTX ISA, Scalar Video Instructions and SIMD Video Instructions). One handler finds out what to do from
// Inst::imm.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string_view>

#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

/// Holds every intermediate result exactly.
__extension__ using Wide = __int128;

/// What PTX calls an operation, and what it computes.
struct Operation {
  std::string_view name;
  Wide (*compute)(Wide a, Wide b) = nullptr;
};
constexpr Operation add = {"add", [](Wide a, Wide b) { return a + b; }};
constexpr Operation least = {"min", [](Wide a, Wide b) { return a < b ? a : b; }};
constexpr Operation greatest = {"max", [](Wide a, Wide b) { return a < b ? b : a; }};

/// Of these lists a form has places.
constexpr Operation operations[] = {
    {"vadd", add.compute},
    {"vsub", [](Wide a, Wide b) { return a - b; }},
    {"vabsdiff", [](Wide a, Wide b) { return a < b ? b - a : a - b; }},
    {"vmin", least.compute},
    {"vmax", greatest.compute},
    {"vavrg", [](Wide a, Wide b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }},  // halves away from zero
    {"vshl", [](Wide a, Wide count) { return a * (Wide{1} << count); }},
    {"vshr", [](Wide a, Wide count) { return a >> count; }},
    {"vmad"},
    {"vset"},  // computes one of the comparisons
};
enum : u64 { average = 5, shift_left, shift_right, multiply_add, compare };
constexpr Operation comparisons[] = {
    {"eq", [](Wide a, Wide b) { return Wide{a == b}; }}, {"ne", [](Wide a, Wide b) { return Wide{a != b}; }},
    {"lt", [](Wide a, Wide b) { return Wide{a < b}; }},  {"le", [](Wide a, Wide b) { return Wide{a <= b}; }},
    {"gt", [](Wide a, Wide b) { return Wide{a > b}; }},  {"ge", [](Wide a, Wide b) { return Wide{a >= b}; }},
};
/// With c, on the result.
constexpr Operation second_operations[] = {{"", [](Wide a, Wide) { return a; }}, add, least, greatest};
constexpr u64 second_add = 1;

constexpr unsigned whole = 6;  ///< part of a scalar operand: 0 to 3 are bytes, 4 and 5 half-words, 6 is the register

struct VideoForm {
  u64 operation : 4 = 0;
  u64 fields : 3 = 1;  ///< 1: scalar, 2: half-words, 4: bytes
  u64 comparison : 3 = 0;
  u64 second : 2 = 0;
  u64 d_signed : 1 = 0, a_signed : 1 = 0, b_signed : 1 = 0;
  u64 saturates : 1 = 0;
  u64 wraps : 1 = 0;            ///< shifts: by the count modulo 32
  u64 plus_one : 1 = 0;         ///< vmad
  u64 product_negated : 1 = 0;  ///< vmad
  u64 c_negated : 1 = 0;        ///< vmad
  u64 scale : 4 = 0;            ///< vmad: 0, 7 or 15
  u64 a_part : 12 = whole;      ///< SIMD: three bits a field, of the fields of a, then those of b
  u64 b_part : 12 = whole;
  u64 d_part : 4 = whole;  ///< SIMD: a bit for each field that is computed; the others are c's
};
static_assert(sizeof(VideoForm) == sizeof(u64));

/// `bits` bits of x from `first` on, extended by their sign or by zeros.
Wide field(u32 x, unsigned first, unsigned bits, bool is_signed) {
  const u32 at_top = (x >> first) << (32 - bits);
  return is_signed ? Wide{static_cast<s32>(at_top) >> (32 - bits)} : Wide{at_top >> (32 - bits)};
}

struct Part {
  unsigned first, bits;
};
Part part_of(u64 part) {
  if (part < 4) return {static_cast<unsigned>(8 * part), 8};
  return part < whole ? Part{static_cast<unsigned>(16 * (part - 4)), 16} : Part{0, 32};
}

Wide clamped(Wide x, unsigned bits, bool is_signed) {
  const Wide lowest = is_signed ? -(Wide{1} << (bits - 1)) : Wide{0};
  const Wide highest = (Wide{1} << (is_signed ? bits - 1 : bits)) - 1;
  return x < lowest ? lowest : x > highest ? highest : x;
}

bool is_shift(const VideoForm& form) {
  return form.operation == shift_left || form.operation == shift_right;
}

Wide computed(const VideoForm& form, Wide a, Wide b) {
  if (is_shift(form)) b = form.wraps ? b & 31 : least.compute(b, 32);
  const Operation& what = form.operation == compare ? comparisons[form.comparison] : operations[form.operation];
  return what.compute(a, b);
}

u32 multiplied_and_added(const VideoForm& form, Wide a, Wide b, u32 c) {
  // The sum is signed when anything in it may be negative; then c is, too.
  const bool is_signed = form.a_signed || form.b_signed || form.product_negated || form.c_negated;
  Wide addend = is_signed ? Wide{static_cast<s32>(c)} : Wide{c};
  if (form.c_negated) addend = -addend;
  const Wide product = form.product_negated ? -(a * b) : a * b;
  const Wide sum = (product + addend + Wide{form.plus_one}) >> form.scale;
  return static_cast<u32>(form.saturates ? clamped(sum, 32, is_signed) : sum);
}

u32 scalar(const VideoForm& form, u32 a, u32 b, u32 c) {
  const Part of_a = part_of(form.a_part), of_b = part_of(form.b_part), of_d = part_of(form.d_part);
  const Wide x = field(a, of_a.first, of_a.bits, form.a_signed), y = field(b, of_b.first, of_b.bits, form.b_signed);
  if (form.operation == multiply_add) return multiplied_and_added(form, x, y, c);
  Wide result = computed(form, x, y);
  if (form.saturates) result = clamped(result, of_d.bits, form.d_signed);
  result = second_operations[form.second].compute(result, field(c, 0, 32, form.d_signed));
  if (of_d.bits == 32) return static_cast<u32>(result);
  const u32 mask = ((1u << of_d.bits) - 1) << of_d.first;
  return (static_cast<u32>(result) << of_d.first & mask) | (c & ~mask);
}

u32 fieldwise(const VideoForm& form, u32 a, u32 b, u32 c) {
  const unsigned fields = form.fields, bits = 32 / fields;
  const auto selected = [&](u64 part, unsigned k, bool is_signed) {
    const auto from = static_cast<unsigned>(part >> (3 * k) & 7);
    return field(from < fields ? a : b, from % fields * bits, bits, is_signed);
  };
  u32 merged = c, sum = c;
  for (unsigned k = 0; k < fields; ++k) {
    if ((form.d_part >> k & 1) == 0) continue;
    Wide result = computed(form, selected(form.a_part, k, form.a_signed), selected(form.b_part, k, form.b_signed));
    if (form.saturates) result = clamped(result, bits, form.d_signed);
    const u32 mask = ((1u << bits) - 1) << (k * bits);
    merged = (static_cast<u32>(result) << (k * bits) & mask) | (merged & ~mask);
    sum += static_cast<u32>(result);
  }
  return form.second == second_add ? sum : merged;
}

const Inst* video(Warp& warp, const Inst* inst) {
  const auto form = std::bit_cast<VideoForm>(inst->imm);
  u32* const d = lanes_at<u32>(warp, inst->op[0]);
  const u32 *const a = lanes_at<u32>(warp, inst->op[1]), *const b = lanes_at<u32>(warp, inst->op[2]);
  const u32* const c = lanes_at<u32>(warp, inst->op[3]);
  for (const unsigned lane : lanes_in(warp.active)) {
    d[lane] = form.fields == 1 ? scalar(form, a[lane], b[lane], c[lane]) : fieldwise(form, a[lane], b[lane], c[lane]);
  }
  return inst + 1;
}

// --- spelling --------------------------------------------------------------------------------------------------------

/// Place of `word` in a list, or nothing; `name`: what is compared of its elements.
template <class List, class Name = std::identity>
std::optional<u64> place_in(std::string_view word, const List& list, Name name = {}) {
  const auto found = std::ranges::find(list, word, name);
  return found == std::end(list) ? std::nullopt : std::optional(static_cast<u64>(found - std::begin(list)));
}

/// "b2", "h1" or nothing behind a register of a scalar instruction.
std::optional<u64> scalar_part(std::string_view part) {
  if (part.empty()) return whole;
  return place_in(part, std::array{"b0", "b1", "b2", "b3", "h0", "h1"});
}
/// "h32" or "b7210": the field for the highest place first.
std::optional<u64> selection(std::string_view part, u64 fields, u64 by_default) {
  if (part.empty()) return by_default;
  if (part.size() != fields + 1 || part[0] != (fields == 2 ? 'h' : 'b')) return std::nullopt;
  u64 packed = 0;
  for (const char digit : part.substr(1)) {
    if (digit < '0' || digit >= static_cast<char>('0' + 2 * fields)) return std::nullopt;
    packed = packed << 3 | static_cast<u64>(digit - '0');
  }
  return packed;
}
/// "h10", "b31": the places that are computed.
std::optional<u64> mask(std::string_view part, u64 fields) {
  if (part.empty()) return (1u << fields) - 1;
  if (part.size() < 2 || part[0] != (fields == 2 ? 'h' : 'b')) return std::nullopt;
  u64 places = 0;
  for (const char digit : part.substr(1)) {
    if (digit < '0' || digit >= static_cast<char>('0' + fields)) return std::nullopt;
    places |= u64{1} << (digit - '0');
  }
  return places;
}

std::optional<VideoForm> form_of_words(const ptx::Instruction& instruction) {
  VideoForm form;
  std::string_view name = instruction.opcode;
  if (name.ends_with('2') || name.ends_with('4')) {
    form.fields = static_cast<u64>(name.back() - '0');
    name.remove_suffix(1);
  }
  const auto operation = place_in(name, operations, &Operation::name);
  if (!operation) return std::nullopt;
  form.operation = *operation;
  const bool multiplies = *operation == multiply_add, shifts = is_shift(form);
  if (form.fields > 1 ? shifts || multiplies : *operation == average) return std::nullopt;
  // The types come first; vset has none for its result, which is u32.
  const std::vector<std::string>& words = instruction.modifiers;
  const std::size_t types = *operation == compare ? 2 : 3;
  if (words.size() < types) return std::nullopt;
  bool is_signed[3] = {};
  for (std::size_t k = 0; k < types; ++k) {
    if (words[k] != "u32" && words[k] != "s32") return std::nullopt;
    is_signed[k + 3 - types] = words[k] == "s32";
  }
  form.d_signed = is_signed[0], form.a_signed = is_signed[1], form.b_signed = is_signed[2];
  bool has_comparison = false, has_mode = false;
  for (std::size_t k = types; k < words.size(); ++k) {
    const std::string& word = words[k];
    if (const auto comparison = place_in(word, comparisons, &Operation::name)) {
      form.comparison = *comparison;
      has_comparison = true;
    } else if (word == "clamp" || word == "wrap") {
      form.wraps = word == "wrap";
      has_mode = true;
    } else if (word == "sat") {
      form.saturates = 1;
    } else if (word == "po" && multiplies) {
      form.plus_one = 1;
    } else if ((word == "shr7" || word == "shr15") && multiplies) {
      form.scale = word == "shr7" ? 7 : 15;
    } else if (const auto second = place_in(word, second_operations, &Operation::name);
               second && *second && k + 1 == words.size()) {
      form.second = *second;
    } else {
      return std::nullopt;
    }
  }
  if (has_comparison != (*operation == compare) || has_mode != shifts) return std::nullopt;
  return form;
}

}  // namespace

std::optional<AluSelection> select_video(const ptx::Instruction& instruction) {
  if (!instruction.opcode.starts_with('v')) return std::nullopt;
  auto form = form_of_words(instruction);
  const std::vector<ptx::Operand>& operands = instruction.operands;
  if (!form || operands.size() < 3 || operands.size() > 4) return std::nullopt;
  const bool multiplies = form->operation == multiply_add;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    ptx::Operand whole_operand = operands[k];
    whole_operand.part.clear();
    if (multiplies && k > 0) whole_operand.negated = false;
    if (k == 0 ? !is_register(whole_operand) : !is_plain(whole_operand)) return std::nullopt;
  }
  const bool is_scalar = form->fields == 1;
  const u64 of_a = form->fields == 2 ? 010 : 03210, of_b = form->fields == 2 ? 032 : 07654;
  const auto a = is_scalar ? scalar_part(operands[1].part) : selection(operands[1].part, form->fields, of_a);
  const auto b = is_scalar ? scalar_part(operands[2].part) : selection(operands[2].part, form->fields, of_b);
  const auto d = is_scalar ? scalar_part(operands[0].part) : mask(operands[0].part, form->fields);
  if (!a || !b || !d) return std::nullopt;
  form->a_part = *a, form->b_part = *b, form->d_part = *d;
  // c is there when something is done with it.
  const bool merges = is_scalar && *d != whole, has_second = form->second != 0;
  const bool needs_c = !is_scalar || multiplies || merges || has_second;
  if (needs_c != (operands.size() == 4) || (merges && has_second)) return std::nullopt;
  if (operands.size() == 4 && !operands[3].part.empty()) return std::nullopt;
  if (multiplies) {
    if (merges || has_second) return std::nullopt;
    form->product_negated = operands[1].negated != operands[2].negated;
    form->c_negated = operands[3].negated;
    const bool any_negated = operands[1].negated || operands[2].negated || operands[3].negated;
    if ((form->plus_one && any_negated) || (form->product_negated && form->c_negated)) return std::nullopt;
  }
  AluSelection selection;
  selection.run = video;
  selection.imm = std::bit_cast<u64>(*form);
  for (unsigned k = 0; k < 4; ++k) selection.type[k] = ptx::Type::u32;
  return selection;
}

}  // namespace scanlab::vgpu
