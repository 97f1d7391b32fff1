// The table by which an instruction's spelling finds its handler; each file adds its rows, as the PTX manual has them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>

#include "vgpu/core/alu/alu.hpp"
#include "vgpu/core/warp/gang_lanes.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Half precision numbers are bits to the host; a pair has element 0 in its low half.
enum class f16 : u16 {};
enum class bf16 : u16 {};

/// PTX's name of the type; `none` for those that it does not have.
template <class T>
inline constexpr ptx::Type type_of = [] {
  using Type = ptx::Type;
  constexpr Type unsigned_types[] = {Type::u8, Type::u16, Type::u32, Type::u64};
  constexpr Type signed_types[] = {Type::s8, Type::s16, Type::s32, Type::s64};
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 8)
    return (std::is_signed_v<T> ? signed_types : unsigned_types)[std::bit_width(sizeof(T)) - 1];
  if (std::is_same_v<T, f16>) return Type::f16;
  if (std::is_same_v<T, bf16>) return Type::bf16;
  if (std::is_same_v<T, f32>) return Type::f32;
  return std::is_same_v<T, f64> ? Type::f64 : Type::none;
}();

/// ".u32", as PTX writes the type in an opcode; `bits_name` gives ".b32".
template <class T>
std::string type_name() {
  return std::string(".").append(ptx::name_of(type_of<T>));
}
template <class T>
std::string bits_name() {
  return std::string(".b").append(std::to_string(8 * sizeof(T)));
}

/// Calls `visit.template operator()<T>()` for each of the types.
template <class... T, class Visit>
void for_types(Visit visit) {
  (visit.template operator()<T>(), ...);
}

/// The same for that type alone, if it is one of them.
template <class... T, class Visit>
void with_type(ptx::Type type, Visit visit) {
  const auto visit_one = [&]<class One>() {
    if (type_of<One> == type) visit.template operator()<One>();
  };
  (visit_one.template operator()<T>(), ...);
}

/// T, once for each index of a pack.
template <class T, auto>
using Repeat = T;
using OneSource = std::index_sequence<0>;
using TwoSources = std::index_sequence<0, 1>;
using ThreeSources = std::index_sequence<0, 1, 2>;

/// An operation that is dearer than copying lanes.
template <class Op>
struct Costly : Op {
  static constexpr bool is_costly = true;
};

/// An operation on both halves of a register.
template <class Op, class Half>
struct Pairwise {
  template <class... U>
  u32 operator()(U... pairs) const {
    const u32 low = static_cast<u16>(Op{}(static_cast<Half>(static_cast<u16>(pairs))...));
    const u32 high = static_cast<u16>(Op{}(static_cast<Half>(static_cast<u16>(pairs >> 16))...));
    return low | high << 16;
  }
};

/// Instruction spellings with all their modifiers, each with the handler that executes exactly that form. What is
/// written at the operands belongs to the spelling: "and.pred !1" has its first source negated, "setp.lt.s32 |" two
/// destinations.
class Forms {
 public:
  /// Adds the form with one type an operand, the destination first. A spelling is added once.
  AluSelection& add(std::string spelling, Handler run, std::initializer_list<ptx::Type> types,
                    bool is_addition = false);

  /// Adds the form that computes `Op` lane by lane from S... to D. What is common has two more handlers for gangs: for
  /// lanes, and for uniform operands. Results of 16 bits are not common.
  template <class Op, class D, class... S>
  void lanes(std::string spelling, bool is_addition = false) {
    AluSelection& made = add(std::move(spelling), lanewise<Op, D, S...>, {type_of<D>, type_of<S>...}, is_addition);
    if constexpr (sizeof(D) > 2) {
      made.in_gang = lanewise_in_gang<Op, D, S...>;
      made.uniform_in_gang = uniform_in_gang<Op, D, S...>;
    }
  }
  /// The same with one handler, for each warp by itself: what is rare costs the kit's build, and gains nothing.
  template <class Op, class D, class... S>
  void rare(std::string spelling, bool is_addition = false) {
    add(std::move(spelling), lanewise_rare<Op, D, S...>, {type_of<D>, type_of<S>...}, is_addition);
  }
  /// The same while the host rounds in that direction.
  template <class Op, class D, class... S>
  void rounded(std::string spelling, Rounding to, bool is_addition = false) {
    add(std::move(spelling), lanewise_rounded<Op, D, S...>, {type_of<D>, type_of<S>...}, is_addition).aux =
        static_cast<std::uint32_t>(to);
  }

  /// The selection, when the instruction is spelt like a form and has as many operands, all of them registers or
  /// immediates.
  std::optional<AluSelection> find(const ptx::Instruction& instruction) const;

 private:
  struct Form {
    AluSelection selection;
    std::size_t operands = 0;
  };
  std::unordered_map<std::string, Form> forms_;
};

/// Takes the first of an instruction's words, if it is this one.
inline bool take(std::span<const std::string>& words, std::string_view word) {
  if (words.empty() || words.front() != word) return false;
  words = words.subspan(1);
  return true;
}
/// True for a register, a special register or an immediate that is not negated.
bool is_plain(const ptx::Operand& operand);
inline bool is_register(const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::reg && !operand.negated && operand.part.empty();
}
/// Has `p|q` a second destination? p|_ is p, unless p is for one half of a pair of numbers and _ for the other.
bool has_second_destination(const ptx::Instruction& instruction);
/// Does the instruction have a register to write, or two of them, and then sources that are plain once they are not
/// negated?
bool has_plain_operands(const ptx::Instruction& instruction);

// The forms of each file.
void add_integer_forms(Forms& forms);
void add_wide_forms(Forms& forms);
void add_bits_forms(Forms& forms);
void add_float_forms(Forms& forms);
void add_half_forms(Forms& forms);
void add_approx_forms(Forms& forms);
void add_selection_forms(Forms& forms);
void add_move_forms(Forms& forms);

// What has too many forms for a table; each gives nothing for what it does not know.
using Registers = std::span<const ptx::Register>;
std::optional<AluSelection> select_compare(const ptx::Instruction& instruction);
std::optional<AluSelection> select_convert(const ptx::Instruction& instruction, Registers registers);
std::optional<AluSelection> select_vector_move(const ptx::Instruction& instruction);
std::optional<AluSelection> select_video(const ptx::Instruction& instruction);

}  // namespace scanlab::vgpu
