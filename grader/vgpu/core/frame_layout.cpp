#include "vgpu/core/frame_layout.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace scanlab::vgpu {
namespace {

using ptx::Type;
using Kind = ptx::Operand::Kind;

constexpr std::uint32_t round_up(std::uint32_t n, std::uint32_t to) {
  return (n + to - 1) / to * to;
}

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
    if (r.type == Type::pred) top_ += sizeof(Mask);
  }
  for (std::size_t k = 0; k < function.registers.size(); ++k)
    if (const Type type = function.registers[k].type; type != Type::pred) registers_[k] = take_lanes(lane_bytes(type));
  if (!function.is_entry) {
    for (const ptx::Variable& v : function.parameters) parameters_.push_back(add_slot(v));
    for (const ptx::Variable& v : function.returns) returns_.push_back(add_slot(v));
  }
  for (const ptx::Variable& v : function.variables) {
    if (v.space == ptx::StateSpace::param) add_slot(v);
    if (v.space == ptx::StateSpace::local) {
      const std::uint64_t align = std::max<std::uint64_t>(1, v.align);
      local_top_ = (local_top_ + align - 1) / align * align;
      locals_[v.name] = local_top_;
      local_top_ += v.size;
    }
  }
}

void FrameLayout::finish(Program& program) const {
  program.constants.assign(constants_);
  // Room for 32 lanes of the widest type behind the last register: if damaged code takes a narrow register for a wide
  // one, it spoils its own frame only.
  program.frame_bytes = round_up(top_, 64) + warp_size * ptx::size_of(Type::b128);
  program.local_bytes = (local_top_ + 15) / 16 * 16;
  program.parameters = parameters_;
  program.returns = returns_;
}

std::optional<OperandRef> FrameLayout::reg(std::int32_t index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= registers_.size()) return std::nullopt;
  return registers_[static_cast<std::size_t>(index)];
}

std::uint32_t FrameLayout::lane_bytes_of(std::int32_t index) const {
  return lane_bytes(function_.registers.at(static_cast<std::size_t>(index)).type);
}

OperandRef FrameLayout::constant(std::uint64_t bits, Type type) {
  const bool is_predicate = type == Type::pred;
  const std::uint32_t bytes = is_predicate ? sizeof(Mask) : lane_bytes(type);
  const std::uint64_t value = is_predicate ? (bits ? ~0ull : 0ull) : bits;
  const std::uint64_t key = bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
  // A predicate is one word, so it never shares its place with a number of the same bits, which has one a lane.
  const auto [it, is_new] = constant_at_.try_emplace({key, is_predicate ? 0 : bytes}, 0);
  if (is_new) {
    const std::size_t at = (constants_.size() + 63) / 64 * 64;
    const unsigned lanes = is_predicate ? 1 : warp_size;
    constants_.resize(at + std::size_t{lanes} * bytes);
    for (unsigned l = 0; l < lanes; ++l) std::memcpy(constants_.data() + at + std::size_t{l} * bytes, &key, bytes);
    it->second = static_cast<OperandRef>(at) | 1u;
  }
  return it->second;
}

OperandRef FrameLayout::trash() {
  if (!trash_) trash_ = take_lanes(8);
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

std::uint32_t FrameLayout::take_lanes(std::uint32_t bytes_a_lane) {
  const std::uint32_t at = round_up(top_, 64);
  top_ = at + bytes_a_lane * warp_size;
  return at;
}

Program::Slot FrameLayout::add_slot(const ptx::Variable& variable) {
  const auto size = round_up(static_cast<std::uint32_t>(variable.size), 8);
  const Program::Slot slot{take_lanes(size), size};
  slots_[variable.name] = slot;
  return slot;
}

}  // namespace scanlab::vgpu
