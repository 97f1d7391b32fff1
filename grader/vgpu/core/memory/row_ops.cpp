// Loads and stores of convergent code: the addresses of a warp are a Pair, so they are checked once.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "vgpu/core/memory/claims.hpp"
#include "vgpu/core/memory/lane_access.hpp"
#include "vgpu/core/memory/narrow_rows.hpp"
#include "vgpu/core/warp/gang_lanes.hpp"
#include "vgpu/core/warp/pairs.hpp"

namespace scanlab::vgpu {
namespace {

/// The row of warp `k`.
template <AddressWidth Width>
LaneRow row_of(const Gang& g, const Step* s, unsigned k) {
  const Column c = g.column(s->inst->op[7]);
  const std::uint64_t first = c.value[k] + s->inst->imm;
  return {Width == AddressWidth::bits32 ? static_cast<std::uint32_t>(first) : first, c.stride[k]};
}

/// The addresses of all lanes of warp `k`, as the registers would hold them.
template <AddressWidth Width>
void spread_addresses(const Gang& g, const Step* s, unsigned k, Addresses& a) {
  Pair p = g.column(s->inst->op[7]).of(k);
  p.value += s->inst->imm;
  spread(a.of, p, g.row_lanes);
  if constexpr (Width == AddressWidth::bits32)
    for (std::uint64_t& x : a.of) x = static_cast<std::uint32_t>(x);
}

/// To which of the claims and the observers a handler reports its accesses.
template <StateSpace Space, Watched watched>
inline constexpr bool claims_from = Space == StateSpace::global&& watched != Watched::nothing;
template <Watched watched>
inline constexpr bool observed = watched == Watched::everything;

/// Reports a row of the active lanes that has been found valid, before it is read or written.
template <class T, StateSpace Space, Watched watched>
void report_row(Warp& w, const Inst* i, const LaneRow& r, AccessKind kind) {
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = w.block->grid->claims) {
      const auto at = [&](unsigned l) { return r.first + static_cast<std::uint64_t>(r.stride) * l; };
      const bool is_whole = r.stride == sizeof(T) && w.active == full_mask;
      if (is_whole || r.stride == 0) {
        const std::uint64_t bytes = is_whole ? warp_size * sizeof(T) : sizeof(T);
        kind == AccessKind::read ? claims->read(r.first, bytes) : claims->write(r.first, bytes);
      } else {
        kind == AccessKind::read ? claims->read_lanes(w.active, sizeof(T), at)
                                 : claims->write_lanes(w.active, sizeof(T), at);
      }
    }
  if constexpr (observed<watched>) {
    Access a = access_of(w, i, Space, w.active, sizeof(T), nullptr);
    static_cast<LaneRow&>(a) = r;
    report(w, a, kind);
  }
}

/// Do the elements of the active lanes, some at least, all lie in `range`, aligned? `r.first` then becomes what their
/// addresses count from, which is not an address when that of lane 0, which is not active, has wrapped at 32 bits.
template <class T, AddressWidth Width>
bool lies_within(const Range& range, LaneRow& r, Mask active) {
  // A stride this large leaves every array, and the products below their type.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  if (r.stride >= far || r.stride <= -far) return false;
  const int low = std::countr_zero(active), high = 31 - std::countl_zero(active);
  const std::int64_t span = r.stride * (high - low);
  std::uint64_t at_low = r.first + static_cast<std::uint64_t>(r.stride * low);
  if constexpr (Width == AddressWidth::bits32) at_low = static_cast<std::uint32_t>(at_low);
  if ((at_low | static_cast<std::uint64_t>(r.stride)) % sizeof(T)) return false;
  const std::uint64_t into = at_low - range.begin + static_cast<std::uint64_t>(std::min<std::int64_t>(span, 0));
  const std::uint64_t bytes = static_cast<std::uint64_t>(span < 0 ? -span : span) + sizeof(T);
  if (into > range.bytes || bytes > range.bytes - into) return false;
  r.first = at_low - static_cast<std::uint64_t>(r.stride * low);
  return true;
}

/// The rows of a gang's warps.
template <class T, StateSpace Space, AddressWidth Width>
class RowsOf {
 public:
  static constexpr std::uint64_t row_bytes = warp_size * sizeof(T);

  RowsOf(const Gang& g, const Step* s)
      : g_(g),
        addresses_(g.column(s->inst->op[7])),
        offset_(s->inst->imm),
        range_(g.block.grid->ranges[s->inst->op[6]]),
        last_(range_.bytes < row_bytes ? 0 : range_.bytes - row_bytes + 1),
        base_(host_base_of<Space>(g.block)) {}

  LaneRow row(unsigned k) const {
    const std::uint64_t first = addresses_.value[k] + offset_;
    return {Width == AddressWidth::bits32 ? static_cast<std::uint32_t>(first) : first, addresses_.stride[k]};
  }

  /// Host memory of the row of warp `k`, when all its lanes are active and side by side in the array that was hit last;
  /// else nulg.
  std::byte* whole(unsigned k, const LaneRow& r) const {
    const bool is_whole = g_.active[k] == full_mask && r.stride == sizeof(T) && r.first % sizeof(T) == 0;
    return is_whole && r.first - range_.begin < last_ ? base_ + r.first : nullptr;
  }

  /// Rows of neighbouring warps, each as far from the one before. All but the first warp and the last have all lanes
  /// active.
  struct Even {
    unsigned from = 0, end = 0;  ///< warps
    LaneRow first;               ///< of warp `from`
    std::int64_t step = 0;       ///< from warp to warp
    std::byte* host = nullptr;   ///< of lane 0 of warp `from`, which need not be active

    std::uint64_t at(unsigned k, unsigned lane) const {
      return first.first + static_cast<std::uint64_t>(step) * (k - from) +
             static_cast<std::uint64_t>(first.stride) * lane;
    }
    /// Are all lanes' elements different ones?
    bool are_apart() const {
      return first.stride != 0 && std::abs(step) >= std::abs(first.stride) * (warp_size - 1) + std::int64_t{sizeof(T)};
    }
  };

  /// True when the rows are even, and all lie aligned in the array that was hit last.
  bool is_even(Even& e) const {
    const unsigned some = g_.full + g_.partial_count;
    const unsigned from = g_.first, end = g_.last + 1;
    if (some == 0 || end - from != some) return false;
    for (unsigned k = 0; k < g_.partial_count; ++k)
      if (g_.partial[k] != from && g_.partial[k] != end - 1) return false;
    e = {from, end, row(from), 0, nullptr};
    const std::int64_t stride = e.first.stride;
    e.step = some > 1 ? static_cast<std::int64_t>(addresses_.value[from + 1] - addresses_.value[from])
                      : stride * std::int64_t{warp_size};
    // Distances this large leave every array, and the products below their type.
    constexpr std::int64_t far = std::int64_t{1} << 40;
    if (std::max(stride, e.step) >= far || std::min(stride, e.step) <= -far || range_.bytes < sizeof(T)) return false;
    if ((e.first.first | static_cast<std::uint64_t>(stride | e.step)) % sizeof(T)) return false;
    // Over whole vectors of warps, so that there are no ends: no lane is active outside.
    using Values = Vector<std::uint64_t>;
    constexpr unsigned width = VectorOf<std::uint64_t>::width;
    const auto step = static_cast<std::uint64_t>(e.step);
    const unsigned start = from / width * width;
    Values expected, differences{};
    for (unsigned k = 0; k < width; ++k)
      expected[k] = addresses_.value[from] + (std::uint64_t{start} + k - from) * step;
    for (unsigned chunk = start / width; chunk * width < end; ++chunk, expected += width * step) {
      typedef Mask Masks __attribute__((vector_size(sizeof(Mask) * width)));
      const Masks active = *reinterpret_cast<const Masks*>(g_.active + chunk * width);
      differences |= ((vector_at(addresses_.value, chunk) - expected) |
                      (reinterpret_cast<const Values&>(vector_at(addresses_.stride, chunk)) -
                       static_cast<std::uint64_t>(stride))) &
                     reinterpret_cast<Values>(__builtin_convertvector(active != 0, Vector<std::int64_t>));
    }
    for (unsigned k = 0; k < width; ++k)
      if (differences[k]) return false;
    e.host = base_ + e.first.first;
    return g_.partial_count ? lies_within_partly(e) : lies_within_wholly(e);
  }

  /// Do all elements lie in the array? Its lowest and its highest address are those of outer lanes of outer warps.
  bool lies_within_wholly(const Even& e) const {
    const std::int64_t lanes = e.first.stride * (warp_size - 1), warps = e.step * (e.end - e.from - 1);
    const std::int64_t low = std::min<std::int64_t>(lanes, 0) + std::min<std::int64_t>(warps, 0);
    const std::uint64_t into = e.first.first + static_cast<std::uint64_t>(low) - range_.begin;
    const auto bytes = static_cast<std::uint64_t>(std::abs(lanes) + std::abs(warps)) + sizeof(T);
    return into <= range_.bytes && bytes <= range_.bytes - into;
  }
  /// The same where the first warp or the last has lanes that are not active.
  [[gnu::noinline]] bool lies_within_partly(const Even& e) const {
    const auto is_within = [&](unsigned k) {
      const auto low = static_cast<unsigned>(std::countr_zero(g_.active[k])),
                 high = 31 - static_cast<unsigned>(std::countl_zero(g_.active[k]));
      return std::max(e.at(k, low) - range_.begin, e.at(k, high) - range_.begin) <= range_.bytes - sizeof(T);
    };
    if (!is_within(e.from) || !is_within(e.end - 1)) return false;
    return e.end - e.from <= 2 || (is_within(e.from + 1) && is_within(e.end - 2));
  }

  /// The same for lane 0 of any row whose active lanes lie in the array; `r.first` may change as lies_within has it.
  [[gnu::noinline]] std::byte* any(unsigned k, LaneRow& r) const {
    return lies_within<T, Width>(range_, r, g_.active[k]) ? base_ + r.first : nullptr;
  }

 private:
  const Gang& g_;
  const Column addresses_;
  const std::uint64_t offset_;
  const Range range_;  ///< as it was: a warp that runs alone meanwhile may hit another array
  const std::uint64_t last_;
  const HostBase base_;
};

template <class T>
void load_row_of(T* to, const std::byte* from, std::int64_t stride, Mask active) {
  if (active != full_mask)
    for_each_lane(active,
                  [&](unsigned l) { std::memcpy(&to[l], from + static_cast<std::int64_t>(l) * stride, sizeof(T)); });
  else if (stride == sizeof(T))
    copy_lanes<T>(to, from);
  else
    collect_lanes(to, [&](unsigned l) { return from + static_cast<std::int64_t>(l) * stride; });
}

template <class T>
void store_row_of(std::byte* to, const T* from, std::int64_t stride, Mask active) {
  if (active != full_mask)
    for_each_lane(active,
                  [&](unsigned l) { std::memcpy(to + static_cast<std::int64_t>(l) * stride, &from[l], sizeof(T)); });
  else if (stride == sizeof(T))
    copy_lanes<T>(to, from);
  else
    for (unsigned l = 0; l < warp_size; l += 4, to += 4 * stride)
      for (unsigned k = 0; k < 4; ++k) std::memcpy(to + k * stride, &from[l + k], sizeof(T));
}

/// Warp `k` executes the instruction now.
Warp& warp_alone(Gang& g, const Step* s, unsigned k) {
  Warp& w = g.warp(k);
  w.active = g.active[k];
  w.pc = s->inst;
  g.at = k;
  return w;
}

/// Is what warp `k`, all of whose lanes are active, accesses one row in the array that was hit last, aligned?
template <class T, AddressWidth Width>
bool is_row(const Gang& g, const Step* s, const Warp& w, LaneRow& r) {
  return w.active == full_mask && g.column(s->inst->op[7]).jump[w.id] == 0 &&
         lies_within<T, Width>(w.ranges[s->inst->op[6]], r, full_mask);
}

/// Warp `k` by itself, whatever its addresses are.
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] void load_alone(Gang& g, const Step* s, unsigned k) {
  Warp& w = warp_alone(g, s, k);
  if (LaneRow r = row_of<Width>(g, s, k); is_row<T, Width>(g, s, w, r)) {
    report_row<T, Space, watched>(w, s->inst, r, AccessKind::read);
    return load_row_of(lanes_at<T>(g, k, s->inst->op[0]), host_base_of<Space>(g.block) + r.first, r.stride, full_mask);
  }
  Addresses a;
  spread_addresses<Width>(g, s, k, a);
  load_lanes<T, Space, watched>(w, s->inst, a, 1);
}
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] void store_alone(Gang& g, const Step* s, unsigned k) {
  Warp& w = warp_alone(g, s, k);
  if (LaneRow r = row_of<Width>(g, s, k); is_row<T, Width>(g, s, w, r)) {
    report_row<T, Space, watched>(w, s->inst, r, AccessKind::write);
    store_row_of(host_base_of<Space>(g.block) + r.first, lanes_at<T>(g, k, s->inst->op[0]), r.stride, full_mask);
    ++g.block.grid->epoch;
    return;
  }
  Addresses a;
  spread_addresses<Width>(g, s, k, a);
  store_lanes<T, Space, watched>(w, s->inst, a, 1);
}
/// The same for every warp with active lanes.
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Step* each_row_alone(Gang& g, const Step* s, AccessKind kind) {
  for_each_active_warp(g, [&](unsigned k) {
    kind == AccessKind::read ? load_alone<T, Space, Width, watched>(g, s, k)
                             : store_alone<T, Space, Width, watched>(g, s, k);
  });
  return s + 1;
}

/// All lanes of a warp read the same element: so does the warp, once.
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Step* load_uniform(Gang& g, const Step* s) {
  const Column to = g.column(s->inst->op[0]);
  for_each_active_warp(g, [&](unsigned k) {
    Warp& w = warp_alone(g, s, k);
    const LaneRow r = row_of<Width>(g, s, k);
    const std::byte* host = r.first % sizeof(T) ? nullptr : reach<Space>(w, s->inst, r.first, sizeof(T));
    if (!host) [[unlikely]]
      host = check_lane(w, Space, AccessKind::read, static_cast<unsigned>(std::countr_zero(w.active)), r.first,
                        sizeof(T), &range_of(w, s->inst));
    report_row<T, Space, watched>(w, s->inst, r, AccessKind::read);
    T value;
    std::memcpy(&value, host, sizeof value);
    to.value[k] = value;
  });
  return s + 1;
}

/// Reports the rows of all warps to the claims of this host thread, those side by side at once. An access that is not
/// such a row reports itself.
template <class T, StateSpace Space, AddressWidth Width>
void claim_rows(Claims& claims, const Gang& g, const RowsOf<T, Space, Width>& rows, AccessKind kind) {
  constexpr std::uint64_t row_bytes = warp_size * sizeof(T);
  std::uint64_t first = 0, bytes = 0;
  const auto report = [&] {
    if (bytes) kind == AccessKind::read ? claims.read(first, bytes) : claims.write(first, bytes);
    bytes = 0;
  };
  for_each_active_warp(g, [&](unsigned k) {
    LaneRow r = rows.row(k);
    if (rows.whole(k, r)) {
      if (r.first != first + bytes || bytes + row_bytes > page_bytes) {
        report();
        first = r.first;
      }
      bytes += row_bytes;
    } else if (rows.any(k, r)) {
      const auto at = [&](unsigned lane) { return r.first + static_cast<std::uint64_t>(r.stride) * lane; };
      kind == AccessKind::read ? claims.read_lanes(g.active[k], sizeof(T), at)
                               : claims.write_lanes(g.active[k], sizeof(T), at);
    }
  });
  report();
}

/// Moves the rows of all warps by `move(k, host memory of lane 0, stride)`; an access that is not such a row is left to
/// the warp.
template <class T, StateSpace Space, AddressWidth Width, Watched watched, class MoveWhole, class Move>
void move_rows(Gang& g, const Step* s, AccessKind kind, MoveWhole move_whole, Move move) {
  const RowsOf<T, Space, Width> rows(g, s);
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = g.block.grid->claims) claim_rows(*claims, g, rows, kind);
  for_each_active_warp(g, [&](unsigned k) {
    LaneRow r = rows.row(k);
    if (std::byte* const whole = rows.whole(k, r))
      move_whole(k, whole);
    else if (std::byte* const host = rows.any(k, r))
      move(k, host, r.stride);
    else
      kind == AccessKind::read ? load_alone<T, Space, Width, watched>(g, s, k)
                               : store_alone<T, Space, Width, watched>(g, s, k);
  });
}
template <class T, StateSpace Space, AddressWidth Width, class MoveWhole, class Move>
void move_reported_rows(Gang& g, const Step* s, AccessKind kind, MoveWhole move_whole, Move move) {
  const RowsOf<T, Space, Width> of_block(g, s);
  if constexpr (Space == StateSpace::global)
    if (Claims* const claims = g.block.grid->claims) claim_rows(*claims, g, of_block, kind);
  // An observer of a store may look at what it replaces, which must not be another lane's.
  typename RowsOf<T, Space, Width>::Even e;
  if (!of_block.is_even(e) || (kind == AccessKind::write && !e.are_apart())) {
    each_row_alone<T, Space, Width, Watched::everything>(g, s, kind);
    return;
  }
  const auto report = [&](unsigned from, unsigned count) {
    AccessRun& run = g.reported;
    run.count = count;
    run.step = count > 1 ? e.step : 0;
    describe(run.first, g.warp(from), s->inst, Space, g.active[from], sizeof(T), nullptr);
    static_cast<Pattern&>(run.first) = {{e.at(from, 0), e.first.stride}};
    report_run(*g.block.grid, run, kind);
  };
  const unsigned count = e.end - e.from, uneven_end = count > 1 && g.active[e.end - 1] != full_mask;
  report(e.from, count - uneven_end);
  if (uneven_end) report(e.end - 1, 1);
  std::byte* host = e.host;
  for (unsigned k = e.from; k < e.end; ++k, host += e.step) {
    if (g.active[k] == full_mask && e.first.stride == sizeof(T))
      move_whole(k, host);
    else
      move(k, host, e.first.stride);
  }
}

/// The rows of warps that access several each, reported to the claims. False when each warp has to look by itself.
template <StateSpace Space, Watched watched>
bool claim_several_rows(Gang& g, const Step* s, AddressWidth width, std::uint32_t bytes, AccessKind kind,
                        NarrowRows& r) {
  if (!find_narrow_rows(g, s, width, bytes, r)) return false;
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = g.block.grid->claims) claim_narrow_rows(*claims, g, r, kind);
  return true;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] const Step* load_several_rows(Gang& g, const Step* s) {
  constexpr auto kind = AccessKind::read;
  NarrowRows r;
  if (!claim_several_rows<Space, watched>(g, s, Width, sizeof(T), kind, r))
    return each_row_alone<T, Space, Width, watched>(g, s, kind);
  if constexpr (observed<watched>) report_narrow_rows(g, s, Space, r, kind, g.begin, g.end);
  load_narrow_rows<T>(g, r, host_base_of<Space>(g.block), s->inst->op[0]);
  return s + 1;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] const Step* store_several_rows(Gang& g, const Step* s) {
  constexpr auto kind = AccessKind::write;
  NarrowRows r;
  if (!claim_several_rows<Space, watched>(g, s, Width, sizeof(T), kind, r))
    return each_row_alone<T, Space, Width, watched>(g, s, kind);
  // An observer of a store may look at what it replaces, which may be another warp's.
  store_narrow_rows<T>(g, r, host_base_of<Space>(g.block), s->inst->op[0], [&](unsigned k) {
    if constexpr (observed<watched>) report_narrow_rows(g, s, Space, r, kind, k, k + 1);
  });
  ++g.block.grid->epoch;
  return s + 1;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Step* load_rows(Gang& g, const Step* s) {
  if (g.row_lanes < warp_size && g.column(s->inst->op[7]).jumps(g.begin, g.end))
    return load_several_rows<T, Space, Width, watched>(g, s);
  const OperandRef to = s->inst->op[0];
  const auto load = [&, to](unsigned k, const std::byte* from, std::int64_t stride) {
    load_row_of(lanes_at<T>(g, k, to), from, stride, g.active[k]);
  };
  const auto load_whole = [&, to](unsigned k, const std::byte* from) { copy_lanes<T>(lanes_at<T>(g, k, to), from); };
  if constexpr (observed<watched>)
    move_reported_rows<T, Space, Width>(g, s, AccessKind::read, load_whole, load);
  else
    move_rows<T, Space, Width, watched>(g, s, AccessKind::read, load_whole, load);
  return s + 1;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Step* store_rows(Gang& g, const Step* s) {
  if (g.row_lanes < warp_size && g.column(s->inst->op[7]).jumps(g.begin, g.end))
    return store_several_rows<T, Space, Width, watched>(g, s);
  const OperandRef from = s->inst->op[0];
  const auto store = [&, from](unsigned k, std::byte* to, std::int64_t stride) {
    store_row_of(to, lanes_at<T>(g, k, from), stride, g.active[k]);
  };
  const auto store_whole = [&, from](unsigned k, std::byte* to) { copy_lanes<T>(to, lanes_at<T>(g, k, from)); };
  if constexpr (observed<watched>)
    move_reported_rows<T, Space, Width>(g, s, AccessKind::write, store_whole, store);
  else
    move_rows<T, Space, Width, watched>(g, s, AccessKind::write, store_whole, store);
  ++g.block.grid->epoch;
  return s + 1;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
StepHandler pick_row(RowKind kind) {
  switch (kind) {
    case RowKind::load:
      return load_rows<T, Space, Width, watched>;
    case RowKind::load_uniform:
      return load_uniform<T, Space, Width, watched>;
    case RowKind::store:
      return store_rows<T, Space, Width, watched>;
  }
  return nullptr;
}
template <StateSpace Space, AddressWidth Width, Watched watched>
StepHandler pick_row(std::uint32_t bytes, RowKind kind) {
  switch (bytes) {
    case 2:
      return pick_row<std::uint16_t, Space, Width, watched>(kind);
    case 4:
      return pick_row<std::uint32_t, Space, Width, watched>(kind);
    case 8:
      return pick_row<std::uint64_t, Space, Width, watched>(kind);
    default:
      return nullptr;
  }
}

template <StateSpace Space, AddressWidth Width>
StepHandler pick_row(std::uint32_t bytes, RowKind kind, Watched watched) {
  if (watched == Watched::everything) return pick_row<Space, Width, Watched::everything>(bytes, kind);
  if constexpr (Space == StateSpace::global)
    if (watched == Watched::global) return pick_row<Space, Width, Watched::global>(bytes, kind);
  return pick_row<Space, Width, Watched::nothing>(bytes, kind);
}

}  // namespace

StepHandler select_row(const MemoryForm& form, ptx::StateSpace space, AddressWidth width, RowKind kind,
                       Watched watched) {
  if (form.count != 1 || form.bytes != form.lane_bytes || form.order != static_cast<std::uint32_t>(Access::Order::weak))
    return nullptr;
  // nvcc has global addresses of 64 bits, shared ones of 32, and of 64 where a pointer was generic.
  using enum AddressWidth;
  if (space == StateSpace::global && width == bits64)
    return pick_row<StateSpace::global, bits64>(form.bytes, kind, watched);
  if (space == StateSpace::shared && width == bits64)
    return pick_row<StateSpace::shared, bits64>(form.bytes, kind, watched);
  if (space == StateSpace::shared) return pick_row<StateSpace::shared, bits32>(form.bytes, kind, watched);
  return nullptr;
}

}  // namespace scanlab::vgpu
