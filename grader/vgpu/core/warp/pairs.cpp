#include "vgpu/core/warp/pairs.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "vgpu/core/alu/alu.hpp"
#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/warp/gang_lanes.hpp"
#include "vgpu/core/warp/pair_ranges.hpp"
#include "vgpu/core/warp/special.hpp"

namespace scanlab::vgpu {
namespace {

using ptx::Type;
using Kind = ptx::Operand::Kind;

/// A value, and one of the two ways in which it grows. All arithmetic is linear: a jump becomes what a stride would.
struct Linear {
  std::uint64_t value = 0;
  std::int64_t growth = 0;
};

/// As a register of type T holds it.
template <class T>
Linear wrapped(std::uint64_t value, std::int64_t growth) {
  return {static_cast<Unsigned<T>>(value), static_cast<Signed<T>>(static_cast<Unsigned<T>>(growth))};
}

// --- affine arithmetic: exact modulo 2^bits, as the lanes would have it ----------------------------------------------

/// One operation: `of` gives the result from as many operands as it has parameters. One that may leave says by `fits`
/// whether the result is a pair at all, which has rows of `row_lanes` lanes.
template <class T>
struct AddPairs {
  static Linear of(const Linear& a, const Linear& b) { return wrapped<T>(a.value + b.value, plus(a.growth, b.growth)); }
};

template <class T>
struct SubtractPairs {
  static Linear of(const Linear& a, const Linear& b) {
    return wrapped<T>(a.value - b.value, minus(a.growth, b.growth));
  }
};

/// The second is uniform.
template <class T>
struct ScalePair {
  static Linear of(const Linear& a, const Linear& by) {
    return wrapped<T>(a.value * by.value, scaled(a.growth, by.value));
  }
};

/// a * b + c; the second is uniform.
template <class T>
struct ScaleAndAddPairs {
  static Linear of(const Linear& a, const Linear& by, const Linear& c) {
    return wrapped<T>(a.value * by.value + c.value, plus(scaled(a.growth, by.value), c.growth));
  }
};

template <class T>
struct ShiftPairLeft {
  static Linear of(const Linear& a, const Linear& b) {
    // Bits that leave a narrow T are cut off by `wrapped`.
    const std::uint64_t by = b.value & 0xffffffff, kept = by < 64 ? ~std::uint64_t{0} : 0;
    const auto shifted = [&](std::uint64_t x) { return x << by % 64 & kept; };
    return wrapped<T>(shifted(a.value), static_cast<std::int64_t>(shifted(static_cast<std::uint64_t>(a.growth))));
  }
};

template <class T>
struct CopyPair {
  static Linear of(const Linear& a) { return wrapped<T>(a.value, a.growth); }
};

/// From T to 64 bits; affine only as long as no lane wraps.
template <class T>
struct WidenPair {
  static bool fits(unsigned row_lanes, const Pair& a) { return is_within<T>(a, row_lanes); }
  static Linear of(const Linear& a) { return {static_cast<std::uint64_t>(extended<T>(a.value)), a.growth}; }
};

/// mul.wide; the second is uniform.
template <class T>
struct ScaleWide {
  static bool fits(unsigned row_lanes, const Pair& a, const Pair&) { return is_within<T>(a, row_lanes); }
  static Linear of(const Linear& a, const Linear& by) {
    const auto factor = static_cast<std::uint64_t>(extended<T>(by.value));
    return {static_cast<std::uint64_t>(extended<T>(a.value)) * factor, scaled(a.growth, factor)};
  }
};

/// mad.wide; the second is uniform.
template <class T>
struct ScaleWideAndAdd {
  static bool fits(unsigned row_lanes, const Pair& a, const Pair&, const Pair&) { return is_within<T>(a, row_lanes); }
  static Linear of(const Linear& a, const Linear& by, const Linear& c) {
    return AddPairs<u64>::of(ScaleWide<T>::of(a, by), c);
  }
};

template <class Op, std::size_t... n>
const Step* compute_pairs(Gang& g, const Step* s, std::index_sequence<n...>) {
  const Column from[] = {g.column(s->inst->op[n + 1])...}, to = g.column(s->inst->op[0]);
  if constexpr (requires { &Op::fits; })
    for (unsigned k = g.begin; k < g.end; ++k)
      if (g.active[k] && !Op::fits(g.row_lanes, from[n].of(k)...)) [[unlikely]]
        return part_or_leave(g, s);
  // First: it depends on values, which the destination may hold.
  if (g.row_lanes < warp_size)
    for_each_warp(g, [&](unsigned k) { to.jump[k] = Op::of(Linear{from[n].value[k], from[n].jump[k]}...).growth; });
  for_each_warp(g, [&](unsigned k) {
    const Linear result = Op::of(Linear{from[n].value[k], from[n].stride[k]}...);
    to.value[k] = result.value;
    to.stride[k] = result.growth;
  });
  return s + 1;
}

template <class Op, std::size_t Sources>
const Step* on_pairs(Gang& g, const Step* s) {
  return compute_pairs<Op>(g, s, std::make_index_sequence<Sources>());
}

const Step* add_window_to_pair(Gang& g, const Step* s) {
  const Column a = g.column(s->inst->op[1]), to = g.column(s->inst->op[0]);
  for_each_warp(g, [&](unsigned k) { to.set(k, {a.value[k] + s->inst->imm, a.stride[k], a.jump[k]}); });
  return s + 1;
}

/// selp of uniform values: op[3] is a predicate, imm the bits of the type.
const Step* choose_pair(Gang& g, const Step* s) {
  const Column to = g.column(s->inst->op[0]), a = g.column(s->inst->op[1]), b = g.column(s->inst->op[2]);
  for_each_warp(g, [&](unsigned k) {
    to.value[k] = (predicate_at(g, k, s->inst->op[3]) & g.active[k] ? a : b).value[k] & s->inst->imm;
  });
  return s + 1;
}

// --- tables ----------------------------------------------------------------------------------------------------------

/// add.s32, add.u32 and add.b32 are one: of 4 or 8 bytes, or null for another type.
template <template <class> class Op, std::size_t Sources>
StepHandler by_width(std::uint32_t bytes) {
  if (bytes == 4) return on_pairs<Op<u32>, Sources>;
  if (bytes == 8) return on_pairs<Op<u64>, Sources>;
  return nullptr;
}
/// The same where the sign matters.
template <template <class> class Op, std::size_t Sources>
StepHandler by_sign(bool is_signed) {
  return is_signed ? on_pairs<Op<s32>, Sources> : on_pairs<Op<u32>, Sources>;
}

bool is_integer(Type type) {
  return type != Type::none && type != Type::pred && !ptx::is_float(type);
}

class Selector {
 public:
  Selector(const ptx::Instruction& in, const ptx::Function& function, const std::vector<Shape>& shapes,
           unsigned row_lanes)
      : in_(in), function_(function), shapes_(shapes), row_lanes_(row_lanes) {
    if (!in.modifiers.empty()) type_ = ptx::type_from_suffix(in.modifiers.back());
    bytes_ = is_integer(type_) ? ptx::size_of(type_) : 0;
  }

  std::optional<PairSelection> select() const {
    if (in_.guard >= 0 || in_.operands.empty()) return std::nullopt;
    const ptx::Operand& to = in_.operands[0];
    if (to.kind != Kind::reg || to.negated) return std::nullopt;
    if (const auto special = select_special_register()) return special;
    Shape most = Shape::uniform;
    for (std::size_t k = 1; k < in_.operands.size(); ++k) most = std::max(most, shape(k));
    if (most == Shape::varying) return std::nullopt;
    if (const auto known = select_affine(most)) return known;
    if (most == Shape::uniform) return select_uniform();
    return std::nullopt;
  }

 private:
  Shape shape(std::size_t k) const {
    const ptx::Operand& o = in_.operands[k];
    if (o.kind == Kind::integer || o.kind == Kind::floating || o.kind == Kind::symbol) return Shape::uniform;
    if (o.kind != Kind::reg || o.reg < 0 || static_cast<std::size_t>(o.reg) >= shapes_.size()) return Shape::varying;
    return shapes_[static_cast<std::size_t>(o.reg)];
  }
  std::uint32_t width(std::size_t k) const {
    const ptx::Operand& o = in_.operands[k];
    if (o.kind != Kind::reg) return 0;
    return ptx::size_of(function_.registers[static_cast<std::size_t>(o.reg)].type);
  }
  /// Registers of the types that the instruction names: `d` bytes for the destination, `s` for each source but the last
  /// ones, whose widths follow.
  bool has_widths(std::uint32_t d, std::initializer_list<std::uint32_t> sources) const {
    if (width(0) != d || in_.operands.size() != sources.size() + 1) return false;
    std::size_t k = 1;
    for (const std::uint32_t s : sources) {
      const bool is_register = in_.operands[k].kind == Kind::reg;
      if (is_register ? width(k) != s || in_.operands[k].negated : in_.operands[k].kind == Kind::floating) return false;
      ++k;
    }
    return true;
  }
  bool words(std::initializer_list<std::string_view> before_type) const {
    return in_.modifiers.size() == before_type.size() + 1 &&
           std::equal(before_type.begin(), before_type.end(), in_.modifiers.begin());
  }

  std::optional<PairSelection> select_special_register() const {
    if (in_.opcode != "mov" || in_.operands.size() != 2 || in_.operands[1].kind != Kind::special) return std::nullopt;
    const auto s = select_special_pair(in_.operands[1].name, row_lanes_);
    const auto ordinary = select_special(in_.operands[1].name);
    if (!s || !ordinary || bytes_ != ptx::size_of(ordinary->type) || width(0) != bytes_) return std::nullopt;
    const Shape result = s->is_affine ? Shape::affine : Shape::uniform;
    return PairSelection{.run = s->run, .result = result, .sources = {}, .imm = s->imm, .aux = s->aux};
  }

  std::optional<PairSelection> pairs(StepHandler run, Shape result, std::vector<std::size_t> sources,
                                     bool may_leave = false) const {
    if (!run) return std::nullopt;
    return PairSelection{.run = run, .result = result, .sources = std::move(sources), .may_leave = may_leave};
  }

  /// a * b, or a * b + c, where a or b is uniform: that one comes second.
  std::optional<PairSelection> product(StepHandler run, Shape result, bool may_leave = false) const {
    if (shape(1) != Shape::uniform && shape(2) != Shape::uniform) return std::nullopt;
    std::vector<std::size_t> sources = {1, 2};
    if (shape(2) != Shape::uniform) sources = {2, 1};
    if (in_.operands.size() == 4) sources.push_back(3);
    return pairs(run, result, std::move(sources), may_leave);
  }

  std::optional<PairSelection> select_affine(Shape most) const {
    const std::string_view op = in_.opcode;
    const std::uint32_t n = bytes_;
    if (op == "cvta" && in_.operands.size() == 2 && width(0) == 8 && width(1) == 8) {
      auto p = pairs(add_window_to_pair, most, {1});
      p->is_window = true;
      return p;
    }
    if (op == "mov" && words({}) && n >= 4 && has_widths(n, {n}) && most == Shape::affine)
      return pairs(by_width<CopyPair, 1>(n), most, {1});
    if (op == "add" && words({}) && has_widths(n, {n, n})) return pairs(by_width<AddPairs, 2>(n), most, {1, 2});
    if (op == "sub" && words({}) && has_widths(n, {n, n})) return pairs(by_width<SubtractPairs, 2>(n), most, {1, 2});
    if (op == "shl" && words({}) && has_widths(n, {n, 4}) && shape(2) == Shape::uniform)
      return pairs(by_width<ShiftPairLeft, 2>(n), most, {1, 2});
    if (op == "mul" && words({"lo"}) && has_widths(n, {n, n})) return product(by_width<ScalePair, 2>(n), most);
    if (op == "mad" && words({"lo"}) && has_widths(n, {n, n, n}))
      return product(by_width<ScaleAndAddPairs, 3>(n), most);
    const bool is_signed = type_ == Type::s32;
    if (n == 4 && (is_signed || type_ == Type::u32)) {
      if (op == "mul" && words({"wide"}) && has_widths(8, {4, 4}))
        return product(by_sign<ScaleWide, 2>(is_signed), most, true);
      if (op == "mad" && words({"wide"}) && has_widths(8, {4, 4, 8}))
        return product(by_sign<ScaleWideAndAdd, 3>(is_signed), most, true);
      if (op == "cvt" && (words({"s64"}) || words({"u64"})) && has_widths(8, {4}))
        return pairs(by_sign<WidenPair, 1>(is_signed), most, {1}, true);
    }
    if (op == "cvt" && (words({"u32"}) || words({"s32"})) && n == 8 && has_widths(4, {8}))
      return pairs(on_pairs<CopyPair<u32>, 1>, most, {1});
    if (op == "setp" && in_.modifiers.size() == 2 && has_widths(0, {n, n}) && n >= 4) {
      return pairs(compare_pairs(in_.modifiers[0], type_), most == Shape::uniform ? Shape::uniform : Shape::varying,
                   {1, 2});
    }
    return std::nullopt;
  }

  std::optional<PairSelection> select_uniform() const {
    if (in_.opcode == "selp" && in_.operands.size() == 4 && type_ != Type::none && ptx::size_of(type_) <= 8 &&
        !in_.operands[3].negated) {
      PairSelection p;
      p.run = choose_pair;
      p.imm = ~std::uint64_t{0} >> (64 - 8 * ptx::size_of(type_));
      p.type[1] = p.type[2] = type_;
      p.type[3] = Type::pred;
      p.sources = {1, 2, 3};
      return p;
    }
    for (const ptx::Operand& o : in_.operands)
      if (o.kind == Kind::symbol) return std::nullopt;
    const auto alu = select_alu(in_, function_.registers);
    if (!alu || !alu->uniform_in_gang) return std::nullopt;
    PairSelection p;
    p.run = alu->uniform_in_gang;
    p.is_addition = alu->is_addition;
    std::copy(std::begin(alu->type), std::end(alu->type), std::begin(p.type));
    for (std::size_t k = 1; k < in_.operands.size(); ++k) p.sources.push_back(k);
    return p;
  }

  const ptx::Instruction& in_;
  const ptx::Function& function_;
  const std::vector<Shape>& shapes_;
  const unsigned row_lanes_;
  Type type_ = Type::none;
  std::uint32_t bytes_ = 0;
};

// --- spreading -------------------------------------------------------------------------------------------------------

template <class T>
void fill(T* to, T value) {
  SCANLAB_LANES_INDEPENDENT
  for (unsigned l = 0; l < warp_size; ++l) to[l] = value;
}

template <class T, bool is_affine>
const Step* spread_column(Gang& g, const Step* s) {
  const Column a = g.column(s->inst->op[1]);
  for_each_active_warp(g, [&](unsigned k) {
    T* const to = lanes_at<T>(g, k, s->inst->op[0]);
    if constexpr (is_affine)
      spread(to, a.of(k), g.row_lanes);
    else
      fill(to, static_cast<T>(a.value[k]));
  });
  return s + 1;
}

}  // namespace

std::optional<PairSelection> select_pairs(const ptx::Instruction& in, const ptx::Function& function,
                                          const std::vector<Shape>& shapes, unsigned row_lanes) {
  return Selector(in, function, shapes, row_lanes).select();
}

StepHandler spread_handler(std::uint32_t lane_bytes, Shape shape) {
  if (lane_bytes == 2) return spread_column<u16, false>;
  if (shape == Shape::uniform) return lane_bytes == 4 ? spread_column<u32, false> : spread_column<u64, false>;
  return lane_bytes == 4 ? spread_column<u32, true> : spread_column<u64, true>;
}

const Step* clear_growth(Gang& g, const Step* s) {
  const Column of = g.column(s->inst->op[0]);
  for_each_warp(g, [&](unsigned k) { of.stride[k] = of.jump[k] = 0; });
  return s + 1;
}

const Step* load_parameter_pair(Gang& g, const Step* s) {
  const MemoryForm form = form_of(s->inst);
  std::uint64_t value = 0;
  std::memcpy(&value, g.block.grid->parameters.data() + s->inst->imm, form.bytes);
  value = extend(value, form);
  if (form.lane_bytes < 8) value &= (std::uint64_t{1} << 8 * form.lane_bytes) - 1;
  const Column to = g.column(s->inst->op[0]);
  for_each_warp(g, [&](unsigned k) { to.set(k, {value}); });
  return s + 1;
}

}  // namespace scanlab::vgpu
