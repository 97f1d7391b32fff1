#include "vgpu/core/decode/affine_accesses.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

#include "vgpu/core/decode/cfg.hpp"
#include "vgpu/core/decode/liveness.hpp"
#include "vgpu/core/decode/opcodes.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Operand;
using ptx::Type;
using Kind = ptx::Operand::Kind;
using Wide = __int128;  ///< where sums and products of numbers cannot overflow

/// Kernels with more than this are not looked at: every launch would pay for it.
constexpr std::size_t most_accesses = 64, most_definitions = 256;

/// Numbers between two bounds, both included.
struct Interval {
  std::int64_t low = 0, high = 0;
  bool holds(const Interval& other) const { return low <= other.low && other.high <= high; }
};

/// The numbers that a register of this type can hold; the upper half of 64-bit unsigned ones is left out.
Interval range_of(Type type) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (ptx::size_of(type) == 8) return {ptx::is_signed(type) ? -most - 1 : 0, most};
  return ptx::is_signed(type) ? Interval{-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1}
                              : Interval{0, (std::int64_t{1} << 32) - 1};
}

/// What a register holds, modulo 2 to the power of its bits: in block (x, y, z) the number
/// stride[0]·x + stride[1]·y + stride[2]·z + d, with `offset.low` ≤ d ≤ `offset.high`.
struct Affine {
  std::array<std::int64_t, 3> stride{};
  Interval offset;

  static Affine constant(std::int64_t value) { return {{}, {value, value}}; }
  static Affine between(std::int64_t low, std::int64_t high) { return {{}, {low, high}}; }

  bool depends_on_block() const { return stride != std::array<std::int64_t, 3>{}; }
  bool is_constant() const { return !depends_on_block() && offset.low == offset.high; }
};
using Value = std::optional<Affine>;  ///< nothing: it is not of this form, or not followed

Value sum(const Value& a, const Value& b) {
  if (!a || !b) return std::nullopt;
  Affine result;
  bool overflows = __builtin_add_overflow(a->offset.low, b->offset.low, &result.offset.low) ||
                   __builtin_add_overflow(a->offset.high, b->offset.high, &result.offset.high);
  for (std::size_t k = 0; k < 3; ++k)
    overflows |= __builtin_add_overflow(a->stride[k], b->stride[k], &result.stride[k]);
  return overflows ? std::nullopt : Value(result);
}

Value product(const Value& a, const Value& b) {
  if (!a || !b || (!a->is_constant() && !b->is_constant())) return std::nullopt;
  if (!b->is_constant()) return product(b, a);
  const std::int64_t factor = b->offset.low;
  Affine result;
  bool overflows = __builtin_mul_overflow(a->offset.low, factor, &result.offset.low) ||
                   __builtin_mul_overflow(a->offset.high, factor, &result.offset.high);
  for (std::size_t k = 0; k < 3; ++k) overflows |= __builtin_mul_overflow(a->stride[k], factor, &result.stride[k]);
  if (factor < 0) std::swap(result.offset.low, result.offset.high);
  return overflows ? std::nullopt : Value(result);
}

/// The bytes that an access touches. Both intervals end after its last byte.
struct Touched {
  Affine of_block;
  Interval whole;  ///< in all blocks
  bool writes = false;
};

/// Do different blocks, touching both, touch different bytes?
bool are_apart(const Touched& a, const Touched& b, const std::array<std::int64_t, 3>& blocks) {
  if (a.of_block.stride != b.of_block.stride) return false;
  std::array<std::size_t, 3> axes{0, 1, 2};
  std::ranges::sort(axes, {}, [&](std::size_t k) { return std::abs(a.of_block.stride[k]); });
  // From the shortest stride to the longest, each has to step over all that the shorter ones reach.
  Wide reached = Wide{std::max(a.of_block.offset.high, b.of_block.offset.high)} -
                 std::min(a.of_block.offset.low, b.of_block.offset.low);
  for (const std::size_t k : axes) {
    if (blocks[k] == 1) continue;
    const std::int64_t stride = std::abs(a.of_block.stride[k]);
    if (stride < reached) return false;
    reached += Wide{stride} * (blocks[k] - 1);
  }
  return true;
}

}  // namespace

// --- what the code says ----------------------------------------------------------------------------------------------

AffineAccesses::AffineAccesses(const ptx::Function& kernel, std::span<const std::uint32_t> parameter_offsets,
                               const SymbolTable& symbols)
    : kernel_(kernel), symbols_(symbols) {
  for (std::size_t k = 0; k < kernel.parameters.size(); ++k)
    parameters_.emplace(kernel.parameters[k].name, parameter_offsets[k]);
  is_known_ = collect_accesses() && collect_definitions();
}

/// False when there are accesses of a kind that is not followed, or too many.
bool AffineAccesses::collect_accesses() {
  for (const ptx::Instruction& in : kernel_.instructions) {
    using Effect = Opcode::Effect;
    const Effect effect = opcode_of(in).effect;
    if (in.opcode == "call") return false;
    if ((effect == Effect::atomic || effect == Effect::reduction) && !in.has_any({"shared", "shared::cta"}))
      return false;
    if (effect == Effect::copy && in.has("global")) {
      // cp.async: to, from, bytes
      if (in.has("bulk") || in.operands.size() < 3 || in.operands[2].kind != Kind::integer) return false;
      accesses_.push_back({&in.operands[1], static_cast<std::uint32_t>(in.operands[2].bits), false});
    }
    const bool writes = effect == Effect::store;
    if (!writes && effect != Effect::load) continue;
    if (in.has_any({"shared", "shared::cta", "local", "param", "const"})) continue;
    if (in.operands.size() < 2) return false;
    const std::uint64_t bytes = bytes_moved(in);
    if (bytes == 0) return false;
    accesses_.push_back({&in.operands[writes ? 0 : 1], static_cast<std::uint32_t>(bytes), writes});
  }
  return accesses_.size() <= most_accesses;
}

/// False when an address depends on a register that does not have the same value wherever it is read.
bool AffineAccesses::collect_definitions() {
  constexpr std::int32_t none = -1, several = -2;
  std::vector<std::int32_t> defined_at(kernel_.registers.size(), none);
  for (std::size_t k = 0; k < kernel_.instructions.size(); ++k)
    for_each_definition(kernel_.instructions[k], [&](std::int32_t r) {
      std::int32_t& at = defined_at[static_cast<std::size_t>(r)];
      at = at == none ? static_cast<std::int32_t>(k) : several;
    });
  std::set<std::int32_t> needed;  // instructions
  std::vector<std::int32_t> todo;
  for (const Access& a : accesses_)
    if (a.address->kind == Kind::address && a.address->reg >= 0) todo.push_back(a.address->reg);
  std::vector<bool> is_needed(kernel_.registers.size(), false);
  while (!todo.empty()) {
    const auto r = static_cast<std::size_t>(todo.back());
    todo.pop_back();
    if (is_needed[r]) continue;
    is_needed[r] = true;
    if (defined_at[r] < 0 || needed.size() >= most_definitions) return false;
    needed.insert(defined_at[r]);
    for_each_use(kernel_.instructions[static_cast<std::size_t>(defined_at[r])],
                 [&](std::int32_t use) { todo.push_back(use); });
  }
  // One that may be read before it is written has a second value, from the beginning.
  if (!needed.empty()) {
    const ControlFlow flow = control_flow(kernel_);
    for (const std::int32_t r : Liveness(kernel_, flow).live_before(0))
      if (is_needed[static_cast<std::size_t>(r)]) return false;
  }
  for (const std::int32_t k : needed) definitions_.push_back(&kernel_.instructions[static_cast<std::size_t>(k)]);
  return true;
}

// --- what it means in a launch ---------------------------------------------------------------------------------------

namespace {

/// The registers of one launch.
class Evaluation {
 public:
  Evaluation(const ptx::Function& kernel, const SymbolTable& symbols, const ParameterOffsets& parameters,
             const LaunchNumbers& launch)
      : kernel_(kernel),
        symbols_(symbols),
        parameters_(parameters),
        launch_(launch),
        blocks_{launch.grid.x, launch.grid.y, launch.grid.z} {}

  /// False when the value is not of the form that is followed here.
  bool define(const ptx::Instruction& in) {
    const Operand& to = in.operands[0];
    if (to.kind != Kind::reg || !to.part.empty()) return false;
    const Value value = value_of(in);
    if (value) values_.emplace(to.reg, *value);
    return value.has_value();
  }

  /// Of an access to that many bytes.
  std::optional<Touched> touched_by(const Operand& o, std::uint32_t bytes, bool writes) const {
    Value address;
    if (o.kind == Kind::address && o.reg >= 0)
      address = register_value(o.reg, 8);
    else if (o.kind == Kind::address && !o.name.empty())
      address = symbol_value(o.name);
    address = sum(address, Affine::between(o.offset, o.offset + bytes));
    constexpr Interval window{global_window, global_window + global_window_bytes};
    const std::optional<Interval> whole = address ? range(*address) : std::nullopt;
    if (!whole || !window.holds(*whole)) return std::nullopt;
    return Touched{*address, *whole, writes};
  }

  const std::array<std::int64_t, 3>& blocks() const { return blocks_; }

 private:
  /// What it is in any block.
  std::optional<Interval> range(const Affine& a) const {
    Wide low = a.offset.low, high = a.offset.high;
    for (std::size_t k = 0; k < 3; ++k) (a.stride[k] < 0 ? low : high) += Wide{a.stride[k]} * (blocks_[k] - 1);
    using Limits = std::numeric_limits<std::int64_t>;
    if (low < Limits::min() || high > Limits::max()) return std::nullopt;
    return Interval{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
  }

  /// The value itself, no longer only modulo 2 to the power of its bits: read as `type`.
  Value read_as(const Value& v, Type type) const {
    if (!v) return v;
    const Interval all = range_of(type);
    if (v->is_constant() && ptx::size_of(type) == 4) {
      const auto low_half = static_cast<std::uint32_t>(v->offset.low);
      return Affine::constant(ptx::is_signed(type) ? static_cast<std::int32_t>(low_half)
                                                   : static_cast<std::int64_t>(low_half));
    }
    const std::optional<Interval> own = range(*v);
    return own && all.holds(*own) ? v : std::nullopt;
  }

  Value register_value(std::int32_t reg, std::uint32_t bytes) const {
    if (ptx::size_of(kernel_.registers[static_cast<std::size_t>(reg)].type) != bytes) return std::nullopt;
    const auto it = values_.find(reg);
    return it == values_.end() ? std::nullopt : Value(it->second);
  }

  Value symbol_value(const std::string& name) const {
    const auto is_local = [&](const ptx::Variable& v) { return v.name == name; };
    const auto it = symbols_.find(name);
    if (it == symbols_.end() || std::ranges::any_of(kernel_.variables, is_local)) return std::nullopt;
    return Affine::constant(static_cast<std::int64_t>(it->second));
  }

  Value special_value(std::string_view name) const {
    const std::uint32_t block_size[3] = {launch_.block.x, launch_.block.y, launch_.block.z};
    if (name == "%laneid") return Affine::between(0, 31);
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos || dot + 2 != name.size() || name[dot + 1] < 'x' || name[dot + 1] > 'z')
      return std::nullopt;
    const auto axis = static_cast<std::size_t>(name[dot + 1] - 'x');
    const std::string_view what = name.substr(0, dot);
    if (what == "%tid") return Affine::between(0, std::int64_t{block_size[axis]} - 1);
    if (what == "%ntid") return Affine::constant(block_size[axis]);
    if (what == "%nctaid") return Affine::constant(blocks_[axis]);
    if (what != "%ctaid") return std::nullopt;
    Affine a;
    a.stride[axis] = 1;
    return a;
  }

  Value operand(const ptx::Instruction& in, std::size_t k, Type type) const {
    if (k >= in.operands.size()) return std::nullopt;
    const Operand& o = in.operands[k];
    if (o.negated || !o.part.empty()) return std::nullopt;
    switch (o.kind) {
      case Kind::reg:
        return register_value(o.reg, ptx::size_of(type));
      case Kind::integer:
        return Affine::constant(static_cast<std::int64_t>(o.bits));
      case Kind::special:
        return special_value(o.name);
      case Kind::symbol:
        return sum(symbol_value(o.name), Affine::constant(o.offset));
      default:
        return std::nullopt;
    }
  }

  Value parameter(const ptx::Instruction& in, Type type) const {
    const Operand& o = in.operands[1];
    const auto it = parameters_.find(o.name);
    if (o.kind != Kind::address || it == parameters_.end() || o.offset < 0) return std::nullopt;
    const std::size_t at = it->second + static_cast<std::size_t>(o.offset), bytes = ptx::size_of(type);
    if (at > launch_.parameters.size() || bytes > launch_.parameters.size() - at) return std::nullopt;
    std::int64_t value = 0;
    std::memcpy(&value, &launch_.parameters[at], bytes);
    return read_as(Affine::constant(value), type);
  }

  /// v & mask.
  Value masked(const Value& v, const Value& mask, Type type) const {
    if (!v || !mask || !mask->is_constant()) return std::nullopt;
    const Value bits = read_as(mask, ptx::size_of(type) == 4 ? Type::s32 : Type::s64);
    if (!bits) return std::nullopt;
    const std::int64_t m = bits->offset.low;
    if (m >= 0) return Affine::between(0, m);
    // Rounding down to a multiple of a power of two, which leaves multiples of it alone.
    if (!std::has_single_bit(static_cast<std::uint64_t>(-m))) return std::nullopt;
    if (std::ranges::any_of(v->stride, [&](std::int64_t stride) { return stride & ~m; })) return std::nullopt;
    return Affine{v->stride, {v->offset.low & m, v->offset.high & m}};
  }

  /// v | bits: an addition, or less.
  Value with_bits(const Value& v, const Value& bits, Type type) const {
    const Value whole = read_as(v, ptx::size_of(type) == 4 ? Type::u32 : Type::u64);
    if (!whole || !bits || !bits->is_constant() || bits->offset.low < 0) return std::nullopt;
    return sum(whole, Affine::between(0, bits->offset.low));
  }

  Value shifted_right(const Value& v, const Value& by, Type type) const {
    const Value whole = read_as(v, type);
    if (!whole || !by || !by->is_constant() || by->offset.low < 0 || by->offset.low >= 8 * ptx::size_of(type))
      return std::nullopt;
    Affine result = *whole;
    const std::int64_t count = by->offset.low;
    for (std::int64_t& stride : result.stride) {
      if ((stride >> count) << count != stride) return std::nullopt;
      stride >>= count;
    }
    result.offset = {whole->offset.low >> count, whole->offset.high >> count};
    return result;
  }

  /// What the instruction gives, if it is one of those that addresses are made of.
  Value value_of(const ptx::Instruction& in) const {
    const auto& m = in.modifiers;
    if (m.empty() || in.operands.size() < 2) return std::nullopt;
    const Type type = ptx::type_from_suffix(m.back());
    const std::uint32_t bytes = ptx::size_of(type);
    if (ptx::is_float(type) || (bytes != 4 && bytes != 8)) return std::nullopt;
    const auto arg = [&](std::size_t k) { return operand(in, k, type); };
    const auto result_has = [&](std::uint32_t size) {
      return ptx::size_of(kernel_.registers[static_cast<std::size_t>(in.operands[0].reg)].type) == size;
    };
    const bool is_wide = m.size() == 2 && m[0] == "wide" && bytes == 4;
    if (is_wide && (in.opcode == "mul" || in.opcode == "mad")) {
      if (!result_has(8)) return std::nullopt;
      const Value wide = product(read_as(arg(1), type), read_as(arg(2), type));
      return in.opcode == "mul" ? wide : sum(wide, operand(in, 3, ptx::is_signed(type) ? Type::s64 : Type::u64));
    }
    if (in.opcode == "cvt" && m.size() == 2) {
      const Type to = ptx::type_from_suffix(m[0]);
      if (ptx::is_float(to) || (ptx::size_of(to) != 4 && ptx::size_of(to) != 8) || !result_has(ptx::size_of(to)))
        return std::nullopt;
      return ptx::size_of(to) > bytes ? read_as(arg(1), type) : arg(1);
    }
    if (!result_has(bytes)) return std::nullopt;
    if (in.opcode == "ld" && m.size() == 2 && m[0] == "param") return parameter(in, type);
    if (in.opcode == "cvta") {
      const bool is_global = m[m.size() - 2] == "global" && m.size() <= 3 && bytes == 8;
      return is_global ? arg(1) : std::nullopt;
    }
    const bool is_low = m.size() == 2 && m[0] == "lo";
    if (is_low && in.opcode == "mul") return product(arg(1), arg(2));
    if (is_low && in.opcode == "mad") return sum(product(arg(1), arg(2)), arg(3));
    if (m.size() != 1) return std::nullopt;
    if (in.opcode == "mov") return arg(1);
    if (in.opcode == "add") return sum(arg(1), arg(2));
    if (in.opcode == "sub") return sum(arg(1), product(arg(2), Affine::constant(-1)));
    if (in.opcode == "neg") return product(arg(1), Affine::constant(-1));
    if (in.opcode == "and") return masked(arg(1), arg(2), type);
    if (in.opcode == "or") return with_bits(arg(1), arg(2), type);
    // The count of a shift has 32 bits.
    const Value count = in.opcode == "shl" || in.opcode == "shr" ? operand(in, 2, Type::u32) : std::nullopt;
    if (in.opcode == "shr") return shifted_right(arg(1), count, type);
    if (in.opcode != "shl" || !count || !count->is_constant() || count->offset.low < 0 ||
        count->offset.low >= std::min<std::int64_t>(8 * bytes, 63))
      return std::nullopt;
    return product(arg(1), Affine::constant(std::int64_t{1} << count->offset.low));
  }

  const ptx::Function& kernel_;
  const SymbolTable& symbols_;
  const ParameterOffsets& parameters_;
  const LaunchNumbers& launch_;
  const std::array<std::int64_t, 3> blocks_;
  std::unordered_map<std::int32_t, Affine> values_;
};

}  // namespace

bool AffineAccesses::blocks_are_apart(const LaunchNumbers& launch) const {
  if (!is_known_) return false;
  Evaluation evaluation(kernel_, symbols_, parameters_, launch);
  for (const ptx::Instruction* in : definitions_)
    if (!evaluation.define(*in)) return false;
  std::vector<Touched> all;
  for (const Access& access : accesses_) {
    const std::optional<Touched> reach = evaluation.touched_by(*access.address, access.bytes, access.writes);
    if (!reach) return false;
    all.push_back(*reach);
  }
  for (const Touched& write : all)
    for (const Touched& other : all) {
      if (!write.writes || write.whole.high <= other.whole.low || other.whole.high <= write.whole.low) continue;
      if (!other.writes || !are_apart(write, other, evaluation.blocks())) return false;
    }
  return true;
}

}  // namespace scanlab::vgpu
