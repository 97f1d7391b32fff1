// Comparisons of pairs: which lanes they hold for follows from the pairs, usually without a look at each lane.
#include <bit>
#include <limits>
#include <type_traits>

#include "vgpu/core/alu/comparisons.hpp"
#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/pair_ranges.hpp"

namespace scanlab::vgpu {
namespace {

template <class Compare, class T>
bool holds_for(T a, T b) {
  bool result = false;
  Compare{}(result, a, b);
  return result;
}

/// The lanes for which it holds, of pairs without jumps. A comparison of neighbours that do not wrap is the same in all
/// lanes when it is the same in the first and the last, or changes once between them.
template <class Compare, class T>
Mask lanes_where(const Pair& a, const Pair& b) {
  if (a.stride == 0 && b.stride == 0)
    return holds_for<Compare>(static_cast<T>(a.value), static_cast<T>(b.value)) ? full_mask : 0;
  constexpr bool is_order = !std::is_same_v<Compare, Equal> && !std::is_same_v<Compare, NotEqual>;
  std::int64_t a0 = 0, a31 = 0, b0 = 0, b31 = 0;
  if (is_order && (a.stride == 0 || b.stride == 0) && ends_of<T>(a, a0, a31) && ends_of<T>(b, b0, b31)) {
    const bool first = holds_for<Compare>(static_cast<T>(a0), static_cast<T>(b0));
    const bool last = holds_for<Compare>(static_cast<T>(a31), static_cast<T>(b31));
    if (first == last) return first ? full_mask : 0;
  }
  const auto lane = [](const Pair& p, unsigned l) {
    return static_cast<T>(p.value + static_cast<std::uint64_t>(p.stride) * l);
  };
  Mask mask = 0;
  for (unsigned l = 0; l < warp_size; ++l) mask |= Mask{holds_for<Compare>(lane(a, l), lane(b, l))} << l;
  return mask;
}

/// The same row by row.
template <class Compare, class T>
[[gnu::noinline]] Mask lanes_where_in_rows(const Pair& a, const Pair& b, unsigned row_lanes) {
  const auto row_of = [&](const Pair& p, unsigned row) {
    const std::int64_t step = plus(scaled(p.stride, row_lanes), p.jump);
    return Pair{p.value + static_cast<std::uint64_t>(scaled(step, row)), p.stride};
  };
  const Mask of_row = full_mask >> (warp_size - row_lanes);
  Mask mask = 0;
  for (unsigned row = 0; row < warp_size / row_lanes; ++row)
    mask |= (lanes_where<Compare, T>(row_of(a, row), row_of(b, row)) & of_row) << row * row_lanes;
  return mask;
}

/// Of rows of narrow blocks.
template <class Compare, class T>
[[gnu::noinline]] const Step* compare_rows(Gang& g, const Step* s) {
  const Column a = g.column(s->inst->op[1]), b = g.column(s->inst->op[2]);
  for_each_active_warp(g, [&](unsigned k) {
    Mask& to = predicate_at(g, k, s->inst->op[0]);
    to ^= (to ^ lanes_where_in_rows<Compare, T>(a.of(k), b.of(k), g.row_lanes)) & g.active[k];
  });
  return s + 1;
}

/// The lanes of a warp for which lane * stride compares so to `distance`; the stride is 1 << `shift`.
template <class Compare>
std::uint64_t lanes_that_are(std::int64_t distance, int shift) {
  const auto below = [shift](std::int64_t bound) {
    const std::int64_t most = std::int64_t{warp_size} << shift, rest = (std::int64_t{1} << shift) - 1;
    const std::int64_t within = bound < 0 ? 0 : bound > most ? most : bound;
    return (std::uint64_t{1} << ((within + rest) >> shift)) - 1;
  };
  if constexpr (std::is_same_v<Compare, Less>) return below(distance);
  if constexpr (std::is_same_v<Compare, LessOrEqual>) return below(distance + 1);
  if constexpr (std::is_same_v<Compare, Greater>) return ~below(distance + 1);
  if constexpr (std::is_same_v<Compare, GreaterOrEqual>) return ~below(distance);
  if constexpr (std::is_same_v<Compare, Equal>) return below(distance + 1) & ~below(distance);
  if constexpr (std::is_same_v<Compare, NotEqual>) return ~below(distance + 1) | below(distance);
}

/// `a` is affine, by the same power of two in all warps, and `b` uniform: the lanes of each warp for which it holds.
/// False when that is not so.
template <class Compare, class T>
bool compare_to_uniform(const Gang& g, const Column& a, const Column& b, std::uint64_t* where) {
  const std::int64_t stride = a.stride[g.begin];
  if (stride <= 0 || (stride & (stride - 1))) return false;
  const int shift = std::countr_zero(static_cast<std::uint64_t>(stride));
  std::int64_t different = 0;
  bool fits = true;
  for_each_warp(g, [&](unsigned k) {
    const std::int64_t x = extended<T>(a.value[k]), y = extended<T>(b.value[k]);
    different |= (a.stride[k] ^ stride) | b.stride[k];
    fits &= x + (std::int64_t{warp_size - 1} << shift) <= std::int64_t{std::numeric_limits<T>::max()};
    where[k] = lanes_that_are<Compare>(y - x, shift);
  });
  return !different && fits;
}

/// The lanes of each warp for which it holds, of pairs without jumps. x < y is y > x: that is `Mirrored`.
template <class Compare, class Mirrored, class T>
void find_lanes_where(const Gang& g, const Column& a, const Column& b, std::uint64_t* where) {
  std::int64_t strides = 0;
  for_each_warp(g, [&](unsigned k) { strides |= a.stride[k] | b.stride[k]; });
  if (!strides) {
    for_each_warp(g, [&](unsigned k) {
      where[k] = holds_for<Compare>(static_cast<T>(a.value[k]), static_cast<T>(b.value[k])) ? full_mask : 0;
    });
    return;
  }
  if constexpr (sizeof(T) == 4) {
    if (compare_to_uniform<Compare, T>(g, a, b, where)) return;
    if (compare_to_uniform<Mirrored, T>(g, b, a, where)) return;
  }
  for_each_active_warp(g, [&](unsigned k) { where[k] = lanes_where<Compare, T>(a.of(k), b.of(k)); });
}

template <class T, class Compare, class Mirrored = Compare>
const Step* compare_pairs_as(Gang& g, const Step* s) {
  const Column a = g.column(s->inst->op[1]), b = g.column(s->inst->op[2]);
  if (g.row_lanes < warp_size && (a.jumps(g.begin, g.end) || b.jumps(g.begin, g.end)))
    return compare_rows<Compare, T>(g, s);
  alignas(64) std::uint64_t where[most_warps];
  find_lanes_where<Compare, Mirrored, T>(g, a, b, where);
  for_each_warp(g, [&](unsigned k) {
    Mask& to = predicate_at(g, k, s->inst->op[0]);
    to ^= (to ^ static_cast<Mask>(where[k])) & g.active[k];
  });
  return s + 1;
}

template <class T>
StepHandler comparison(std::string_view word) {
  if (word == "eq") return compare_pairs_as<T, Equal>;
  if (word == "ne") return compare_pairs_as<T, NotEqual>;
  if (word == "lt" || word == "lo") return compare_pairs_as<T, Less, Greater>;
  if (word == "le" || word == "ls") return compare_pairs_as<T, LessOrEqual, GreaterOrEqual>;
  if (word == "gt" || word == "hi") return compare_pairs_as<T, Greater, Less>;
  if (word == "ge" || word == "hs") return compare_pairs_as<T, GreaterOrEqual, LessOrEqual>;
  return nullptr;
}

}  // namespace

StepHandler compare_pairs(std::string_view word, ptx::Type type) {
  if (type == ptx::Type::b32 || type == ptx::Type::u32) return comparison<u32>(word);
  if (type == ptx::Type::b64 || type == ptx::Type::u64) return comparison<u64>(word);
  if (type == ptx::Type::s32) return comparison<s32>(word);
  return type == ptx::Type::s64 ? comparison<s64>(word) : nullptr;
}

}  // namespace scanlab::vgpu
