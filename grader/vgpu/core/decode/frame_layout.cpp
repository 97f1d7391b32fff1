#include "vgpu/core/decode/frame_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/warp/pairs.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Type;
using Kind = ptx::Operand::Kind;

/// Bytes of one call's registers and arguments in a warp, far above what any kernel has.
constexpr std::uint64_t most_warp_frame_bytes = 16 << 20;

}  // namespace

std::uint32_t lane_bytes(Type type) {
  if (type == Type::pred) return 0;
  return std::max<std::uint32_t>(2, ptx::size_of(type));
}

std::uint64_t immediate_bits(const ptx::Operand& o, Type type) {
  if (o.kind == Kind::integer) {
    // An integer where a float is wanted is a value, not bits.
    if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int64_t>(o.bits)));
    if (type == Type::f64) return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(o.bits)));
    return o.bits;
  }
  // Instructions that only move bits (selp, say) take doubles as 64 bits of any type.
  const bool wants_double = lane_bytes(type) == 8;
  if (o.is_single) {
    const float f = std::bit_cast<float>(static_cast<std::uint32_t>(o.bits));
    return wants_double ? std::bit_cast<std::uint64_t>(static_cast<double>(f)) : o.bits;
  }
  return wants_double ? o.bits : std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(o.bits)));
}

FrameLayout::FrameLayout(const ptx::Function& function) : function_(function) {
  // Predicates first, side by side; then the lanes, each register at a multiple of 64 bytes.
  for (const ptx::Register& r : function.registers) {
    registers_.push_back(top_);
    if (r.type == Type::pred) take(sizeof(Mask), sizeof(Mask));
  }
  for (std::size_t k = 0; k < function.registers.size(); ++k)
    if (const Type type = function.registers[k].type; type != Type::pred)
      registers_[k] = take(lane_bytes(type) * warp_size);
  if (!function.is_entry) {
    for (const ptx::Variable& v : function.parameters) parameters_.push_back(add_slot(v));
    for (const ptx::Variable& v : function.returns) returns_.push_back(add_slot(v));
  }
  for (const ptx::Variable& v : function.variables) {
    if (v.space == ptx::StateSpace::param) add_slot(v);
    if (v.space == ptx::StateSpace::local) {
      const std::uint64_t at = round_up(local_top_, std::max<std::uint64_t>(1, v.align));
      locals_[v.name] = at;
      local_top_ = at + v.size;
    }
  }
}

void FrameLayout::finish(Program& program) const {
  program.constants = constants_;
  // Room for 32 lanes of the widest type after the last register: if damaged code takes a narrow register for a wide
  // one, it spoils its own frame only.
  program.frame_bytes = round_up(top_, 64u) + warp_size * ptx::size_of(Type::b128);
  program.local_bytes = round_up(local_top_, std::uint64_t{16});
  program.convergent.pairs = pair_count();
  for (const auto& [value, pair] : pair_constants_) program.convergent.constants.push_back({pair, value});
  program.parameters = parameters_;
  program.returns = returns_;
}

std::vector<Program::Blank> FrameLayout::blanks(const std::vector<std::int32_t>& registers) const {
  std::vector<Program::Blank> blanks;
  for (const std::int32_t r : registers) blanks.push_back(place_of(r));
  return blanks;
}

std::vector<Program::Slot> FrameLayout::slots(const std::vector<std::string>& names) const {
  std::vector<Program::Slot> found;
  for (const std::string& name : names)
    if (const Program::Slot* s = slot(name)) found.push_back(*s);
  return found;
}

std::vector<std::uint32_t> FrameLayout::blank_pairs(const std::vector<std::int32_t>& registers) const {
  std::vector<std::uint32_t> blanks;
  for (const std::int32_t r : registers)
    if (const auto pair = pairs_.find(r); pair != pairs_.end()) blanks.push_back(pair->second);
  return blanks;
}

std::optional<OperandRef> FrameLayout::reg(std::int32_t index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= registers_.size()) return std::nullopt;
  return registers_[static_cast<std::size_t>(index)];
}

std::uint32_t FrameLayout::lane_bytes_of(std::int32_t index) const {
  return lane_bytes(function_.registers.at(static_cast<std::size_t>(index)).type);
}

Program::Blank FrameLayout::place_of(std::int32_t index) const {
  const std::uint32_t bytes = lane_bytes_of(index);
  return {*reg(index), bytes ? bytes * warp_size : std::uint32_t{sizeof(Mask)}};
}

OperandRef FrameLayout::constant(std::uint64_t bits, Type type) {
  const bool is_predicate = type == Type::pred;
  const std::uint32_t bytes = is_predicate ? sizeof(Mask) : lane_bytes(type);
  const std::uint64_t value = is_predicate ? (bits ? ~0ull : 0ull) : bits;
  const std::uint64_t key = bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
  // A predicate is one word, so it never shares its place with a number of the same bits, which has one per lane.
  const auto [it, is_new] = constant_at_.try_emplace({key, is_predicate ? 0 : bytes}, 0);
  if (is_new) {
    const std::uint32_t all = is_predicate ? bytes : bytes * warp_size;
    it->second = take(all);
    constants_.push_back({it->second, all, bytes, key});
  }
  return it->second;
}

std::uint32_t FrameLayout::pair(std::int32_t index) {
  return pairs_.try_emplace(index, pair_count()).first->second;
}

std::uint32_t FrameLayout::pair_constant(std::uint64_t value) {
  return pair_constants_.try_emplace(value, pair_count()).first->second;
}

OperandRef FrameLayout::trash() {
  if (!trash_) trash_ = take(8 * warp_size);
  return *trash_;
}

const Program::Slot* FrameLayout::slot(const std::string& name) const {
  const auto it = slots_.find(name);
  return it == slots_.end() ? nullptr : &it->second;
}

std::optional<std::uint64_t> FrameLayout::local(const std::string& name) const {
  const auto it = locals_.find(name);
  if (it == locals_.end()) return std::nullopt;
  return it->second;
}

std::uint32_t FrameLayout::take(std::uint64_t bytes, std::uint32_t alignment) {
  const std::uint32_t at = round_up(top_, alignment);
  if (at > most_warp_frame_bytes || bytes > most_warp_frame_bytes - at) {
    FaultException f(Fault::Kind::unsupported,
                     fmt::format("the registers and arguments of a function take more than {} bytes a thread",
                                 most_warp_frame_bytes / warp_size),
                     "divide the function into smaller ones");
    f.fault.details.push_back(fmt::format("in {}", ptx::source_name(function_.name)));
    throw f;
  }
  top_ = at + static_cast<std::uint32_t>(bytes);
  return at;
}

Program::Slot FrameLayout::add_slot(const ptx::Variable& variable) {
  // A size beyond the limit is refused below, whatever else it is.
  const auto size = round_up(static_cast<std::uint32_t>(std::min(variable.size, most_warp_frame_bytes)), 8u);
  const Program::Slot slot{take(std::uint64_t{size} * warp_size), size, variable.size};
  slots_[variable.name] = slot;
  return slot;
}

}  // namespace scanlab::vgpu
