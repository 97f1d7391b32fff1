// The tables by which an instruction's spelling finds its handler, one table a file, each row as the PTX manual has it.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "vgpu/core/alu/alu.hpp"
#include "vgpu/core/warp/gang_lanes.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

/// Half precision numbers are bits to the host; a pair has element 0 in its low half.
enum class f16 : u16 {};
enum class bf16 : u16 {};
enum class f16x2 : u32 {};
enum class bf16x2 : u32 {};

template <class T>
inline constexpr ptx::Type type_of = ptx::Type::none;
template <>
inline constexpr ptx::Type type_of<u8> = ptx::Type::u8;
template <>
inline constexpr ptx::Type type_of<u16> = ptx::Type::u16;
template <>
inline constexpr ptx::Type type_of<u32> = ptx::Type::u32;
template <>
inline constexpr ptx::Type type_of<u64> = ptx::Type::u64;
template <>
inline constexpr ptx::Type type_of<s8> = ptx::Type::s8;
template <>
inline constexpr ptx::Type type_of<s16> = ptx::Type::s16;
template <>
inline constexpr ptx::Type type_of<s32> = ptx::Type::s32;
template <>
inline constexpr ptx::Type type_of<s64> = ptx::Type::s64;
template <>
inline constexpr ptx::Type type_of<f16> = ptx::Type::f16;
template <>
inline constexpr ptx::Type type_of<bf16> = ptx::Type::bf16;
template <>
inline constexpr ptx::Type type_of<f16x2> = ptx::Type::f16x2;
template <>
inline constexpr ptx::Type type_of<bf16x2> = ptx::Type::bf16x2;
template <>
inline constexpr ptx::Type type_of<f32> = ptx::Type::f32;
template <>
inline constexpr ptx::Type type_of<f64> = ptx::Type::f64;

/// ".u32", as PTX writes the type in an opcode; `bits_name` gives ".b32".
const char* name_of(ptx::Type type);
template <class T>
std::string type_name() {
  return name_of(type_of<T>);
}
template <class T>
std::string bits_name() {
  return ".b" + std::to_string(8 * sizeof(T));
}

/// Calls `visit.template operator()<T>()` for each of the types.
template <class... T, class Visit>
void for_types(Visit visit) {
  (visit.template operator()<T>(), ...);
}

/// "add.rn.f32": the opcode with its modifiers.
std::string spelling_of(const ptx::Instruction& instruction);

/// T, once for each index of a pack.
template <class T, auto>
using Repeat = T;
using OneSource = std::index_sequence<0>;
using TwoSources = std::index_sequence<0, 1>;
using ThreeSources = std::index_sequence<0, 1, 2>;

/// Instruction spellings with all their modifiers, each with the handler that executes exactly that form.
class Forms {
 public:
  /// Adds the form with one type an operand, the destination first. A spelling is added once.
  AluSelection& add(std::string_view spelling, Handler run, std::initializer_list<ptx::Type> types, bool is_addition = false,
                    std::uint64_t imm = 0);

  /// Adds the form that computes `Op` lane by lane from S... to D. What is common has two more handlers for gangs: for
  /// lanes, and for uniform operands. Results of 16 bits are not common.
  template <class Op, class D, class... S>
  void lanes(std::string_view spelling, bool is_addition = false) {
    AluSelection& made = add(spelling, lanewise<Op, D, S...>, {type_of<D>, type_of<S>...}, is_addition);
    if constexpr (sizeof(D) > 2) {
      made.in_gang = lanewise_in_gang<Op, D, S...>;
      made.uniform_in_gang = uniform_in_gang<Op, D, S...>;
    }
  }
  /// The same with one handler, for each warp by itself: what is rare costs the kit's build, and gains nothing.
  template <class Op, class D, class... S>
  void rare(std::string_view spelling, bool is_addition = false) {
    add(spelling, lanewise_rare<Op, D, S...>, {type_of<D>, type_of<S>...}, is_addition);
  }
  /// The same while the host rounds in that direction.
  template <class Op, class D, class... S>
  void rounded(std::string_view spelling, Rounding to, bool is_addition = false) {
    add(spelling, lanewise_rounded<Op, D, S...>, {type_of<D>, type_of<S>...}, is_addition).aux =
        static_cast<std::uint32_t>(to);
  }

  /// The selection, when the instruction is spelt like a form and has as many operands, all of them registers or
  /// immediates.
  std::optional<AluSelection> find(const ptx::Instruction& instruction) const {
    return find(instruction, spelling_of(instruction));
  }
  /// The same for forms that were added under another key than their spelling.
  std::optional<AluSelection> find(const ptx::Instruction& instruction, const std::string& key) const;

 private:
  struct Form {
    AluSelection selection;
    std::size_t operands = 0;
  };
  std::unordered_map<std::string, Form> forms_;
};

/// True for a register, a special register or an immediate that is not negated.
bool is_plain(const ptx::Operand& operand);
inline bool is_register(const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::reg && !operand.negated && operand.part.empty();
}

// One function a file; each gives nothing for what it does not know.
using Registers = std::span<const ptx::Register>;
std::optional<AluSelection> select_integer(const ptx::Instruction& instruction);
std::optional<AluSelection> select_wide(const ptx::Instruction& instruction);
std::optional<AluSelection> select_bits(const ptx::Instruction& instruction);
std::optional<AluSelection> select_float(const ptx::Instruction& instruction);
std::optional<AluSelection> select_half(const ptx::Instruction& instruction);
std::optional<AluSelection> select_approx(const ptx::Instruction& instruction);
std::optional<AluSelection> select_compare(const ptx::Instruction& instruction);
std::optional<AluSelection> select_selection(const ptx::Instruction& instruction);
std::optional<AluSelection> select_convert(const ptx::Instruction& instruction, Registers registers);
std::optional<AluSelection> select_move(const ptx::Instruction& instruction);
std::optional<AluSelection> select_simd(const ptx::Instruction& instruction);
std::optional<AluSelection> select_video(const ptx::Instruction& instruction);

}  // namespace scanlab::vgpu
