// Where the values of a function live: its registers, constants, arguments of calls and local variables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/core/decode/image.hpp"

namespace scanlab::vgpu {

/// Of a thread's local variables, as on GPUs.
inline constexpr std::uint64_t most_local_bytes = 512 << 10;

/// Bytes of one lane of a register of this type; 0 for predicates, which are one Mask.
std::uint32_t lane_bytes(ptx::Type type);

/// The bits that an immediate operand (integer or floating) has as a value of `type`.
std::uint64_t immediate_bits(const ptx::Operand& operand, ptx::Type type);

/// Gives every register, constant and variable of one function its place. Throws FaultException (unsupported) when they
/// are too large.
class FrameLayout {
 public:
  explicit FrameLayout(const ptx::Function& function);

  /// Fills what the frame of a call needs to know; to be called when the function is decoded.
  void finish(Program& program) const;

  /// The places of these registers.
  std::vector<Program::Blank> blanks(const std::vector<std::int32_t>& registers) const;
  /// The places of these .param variables.
  std::vector<Program::Slot> slots(const std::vector<std::string>& names) const;
  /// The pairs of these registers.
  std::vector<std::uint32_t> blank_pairs(const std::vector<std::int32_t>& registers) const;

  /// The register's place, or nothing when the function has no register `index`.
  std::optional<OperandRef> reg(std::int32_t index) const;
  /// Bytes of one lane of register `index`, which must exist.
  std::uint32_t lane_bytes_of(std::int32_t index) const;
  /// The whole place of register `index`, which must exist.
  Program::Blank place_of(std::int32_t index) const;
  /// 32 equal lanes (or a Mask, all ones unless 0, for a predicate); made once for equal values.
  OperandRef constant(std::uint64_t bits, ptx::Type type);
  /// The number of the Pair (pairs.hpp) of a register; it has one from the first time that it is asked for.
  std::uint32_t pair(std::int32_t index);
  /// The number of a Pair that has `value` in every lane.
  std::uint32_t pair_constant(std::uint64_t value);
  /// A register that no instruction of the program names.
  OperandRef temporary(std::uint32_t bytes_a_lane) { return take(bytes_a_lane * warp_size); }
  /// Where results go that nothing reads.
  OperandRef trash();
  /// The place of a .param variable of the frame, or null.
  const Program::Slot* slot(const std::string& name) const;
  /// Offset of a local variable from the frame's local base, or nothing.
  std::optional<std::uint64_t> local(const std::string& name) const;

 private:
  /// The next `bytes` of the frame, from a multiple of `alignment` on.
  std::uint32_t take(std::uint64_t bytes, std::uint32_t alignment = 64);
  Program::Slot add_slot(const ptx::Variable& variable);
  std::uint32_t pair_count() const { return static_cast<std::uint32_t>(pairs_.size() + pair_constants_.size()); }

  const ptx::Function& function_;
  std::uint32_t top_ = 0;
  std::uint64_t local_top_ = 0;
  std::optional<OperandRef> trash_;
  std::vector<OperandRef> registers_;
  std::vector<Program::Slot> parameters_, returns_;
  std::unordered_map<std::string, Program::Slot> slots_;
  std::unordered_map<std::string, std::uint64_t> locals_;
  std::vector<Program::Constant> constants_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, OperandRef> constant_at_;  ///< by bits, and bytes per lane
  std::unordered_map<std::int32_t, std::uint32_t> pairs_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_constants_;
};

}  // namespace scanlab::vgpu
