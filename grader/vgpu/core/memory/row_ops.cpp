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
  return {static_cast<AddressOf<Width>>(first), c.stride[k]};
}

/// The addresses of all lanes of warp `k`, as the registers would hold them.
template <AddressWidth Width>
void spread_addresses(const Gang& g, const Step* s, unsigned k, Addresses& a) {
  Pair p = g.column(s->inst->op[7]).of(k);
  p.value += s->inst->imm;
  spread(a.of, p, g.row_lanes);
  for (std::uint64_t& x : a.of) x = static_cast<AddressOf<Width>>(x);
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
      if (is_whole || r.stride == 0)
        claims->note(kind, r.first, is_whole ? warp_size * sizeof(T) : sizeof(T));
      else
        claims->note_lanes(kind, w.active, sizeof(T), at);
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
  const auto low = static_cast<int>(first_lane(active)), high = static_cast<int>(last_lane(active));
  const std::int64_t span = r.stride * (high - low);
  const std::uint64_t at_low = static_cast<AddressOf<Width>>(r.first + static_cast<std::uint64_t>(r.stride * low));
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
        base_(host_base_of(g.block, Space)) {}

  LaneRow row(unsigned k) const {
    const std::uint64_t first = addresses_.value[k] + offset_;
    return {static_cast<AddressOf<Width>>(first), addresses_.stride[k]};
  }

  /// Host memory of the row of warp `k`, when all its lanes are active and side by side in the array that was hit last;
  /// else null.
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
      const unsigned low = first_lane(g_.active[k]), high = last_lane(g_.active[k]);
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

/// Loads or stores a row of the active lanes.
template <AccessKind kind, class T>
void move_row_of(T* lanes, std::byte* memory, std::int64_t stride, Mask active) {
  const auto place = [&](unsigned l) { return memory + static_cast<std::int64_t>(l) * stride; };
  if (active != full_mask)
    for_each_lane(active, [&](unsigned l) { move_lane<kind>(&lanes[l], place(l)); });
  else if (stride == sizeof(T))
    move_row<kind>(lanes, memory);
  else if constexpr (kind == AccessKind::read)
    collect_lanes(lanes, place);
  else
    for (unsigned l = 0; l < warp_size; l += 4, memory += 4 * stride)
      for (unsigned k = 0; k < 4; ++k) std::memcpy(memory + k * stride, &lanes[l + k], sizeof(T));
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
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] void access_alone(Gang& g, const Step* s, unsigned k) {
  Warp& w = warp_alone(g, s, k);
  if (LaneRow r = row_of<Width>(g, s, k); is_row<T, Width>(g, s, w, r)) {
    report_row<T, Space, watched>(w, s->inst, r, kind);
    std::byte* const host = host_base_of(g.block, Space) + r.first;
    move_row_of<kind>(lanes_at<T>(g, k, s->inst->op[0]), host, r.stride, full_mask);
    if constexpr (kind == AccessKind::write) ++g.block.grid->epoch;
    return;
  }
  Addresses a;
  spread_addresses<Width>(g, s, k, a);
  access_lanes<kind, T, Space, watched>(w, s->inst, a, 1);
}
/// The same for every warp with active lanes.
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
void each_row_alone(Gang& g, const Step* s) {
  for_each_active_warp(g, [&](unsigned k) { access_alone<kind, T, Space, Width, watched>(g, s, k); });
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
      host = check_lane(w, Space, AccessKind::read, first_lane(w.active), r.first, sizeof(T), &range_of(w, s->inst));
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
    if (bytes) claims.note(kind, first, bytes);
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
      claims.note_lanes(kind, g.active[k], sizeof(T), at);
    }
  });
  report();
}

/// Moves the rows of all warps; an access that is not such a row is left to the warp.
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
void move_rows(Gang& g, const Step* s) {
  const OperandRef lanes = s->inst->op[0];
  const RowsOf<T, Space, Width> rows(g, s);
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = g.block.grid->claims) claim_rows(*claims, g, rows, kind);
  for_each_active_warp(g, [&, lanes](unsigned k) {
    LaneRow r = rows.row(k);
    if (std::byte* const whole = rows.whole(k, r))
      move_row<kind>(lanes_at<T>(g, k, lanes), whole);
    else if (std::byte* const host = rows.any(k, r))
      move_row_of<kind>(lanes_at<T>(g, k, lanes), host, r.stride, g.active[k]);
    else
      access_alone<kind, T, Space, Width, watched>(g, s, k);
  });
}
/// The same, reported to the observers.
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width>
void move_reported_rows(Gang& g, const Step* s) {
  const OperandRef lanes = s->inst->op[0];
  const RowsOf<T, Space, Width> of_block(g, s);
  if constexpr (Space == StateSpace::global)
    if (Claims* const claims = g.block.grid->claims) claim_rows(*claims, g, of_block, kind);
  // An observer of a store may look at what it replaces, which must not be another lane's.
  typename RowsOf<T, Space, Width>::Even e;
  if (!of_block.is_even(e) || (kind == AccessKind::write && !e.are_apart()))
    return each_row_alone<kind, T, Space, Width, Watched::everything>(g, s);
  // The elements come from memory while the observers look at the access.
  if constexpr (Space == StateSpace::global && kind == AccessKind::read)
    for (unsigned k = e.from; k < e.end; ++k) __builtin_prefetch(e.host + e.step * (k - e.from));
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
      move_row<kind>(lanes_at<T>(g, k, lanes), host);
    else
      move_row_of<kind>(lanes_at<T>(g, k, lanes), host, e.first.stride, g.active[k]);
  }
}

/// Warps that access several rows each.
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] void access_several_rows(Gang& g, const Step* s) {
  NarrowRows r;
  if (!find_narrow_rows(g, s, Width, sizeof(T), r)) return each_row_alone<kind, T, Space, Width, watched>(g, s);
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = g.block.grid->claims) claim_narrow_rows(*claims, g, r, kind);
  const HostBase base = host_base_of(g.block, Space);
  if constexpr (kind == AccessKind::read) {
    if constexpr (observed<watched>) report_narrow_rows(g, s, Space, r, kind, g.begin, g.end);
    load_narrow_rows<T>(g, r, base, s->inst->op[0]);
  } else {
    // An observer of a store may look at what it replaces, which may be another warp's.
    store_narrow_rows<T>(g, r, base, s->inst->op[0], [&](unsigned k) {
      if constexpr (observed<watched>) report_narrow_rows(g, s, Space, r, kind, k, k + 1);
    });
  }
}

/// Warps that access one row each.
template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] void access_one_row(Gang& g, const Step* s) {
  if constexpr (observed<watched>)
    move_reported_rows<kind, T, Space, Width>(g, s);
  else
    move_rows<kind, T, Space, Width, watched>(g, s);
}

template <AccessKind kind, class T, StateSpace Space, AddressWidth Width, Watched watched>
const Step* access_rows(Gang& g, const Step* s) {
  if (g.row_lanes < warp_size && g.column(s->inst->op[7]).jumps(g.begin, g.end))
    access_several_rows<kind, T, Space, Width, watched>(g, s);
  else
    access_one_row<kind, T, Space, Width, watched>(g, s);
  if constexpr (kind == AccessKind::write) ++g.block.grid->epoch;
  return s + 1;
}

template <StateSpace Space, AddressWidth Width>
StepHandler pick_row(std::uint32_t bytes, RowKind kind, Watched watched) {
  return with_element<Space>(bytes, watched, [&]<class T, Watched seen>() -> StepHandler {
    if (kind == RowKind::load_uniform) return load_uniform<T, Space, Width, seen>;
    return kind == RowKind::load ? access_rows<AccessKind::read, T, Space, Width, seen>
                                 : access_rows<AccessKind::write, T, Space, Width, seen>;
  });
}

}  // namespace

StepHandler select_row(const MemoryForm& form, ptx::StateSpace space, AddressWidth width, RowKind kind,
                       Watched watched) {
  if (form.count != 1 || form.bytes != form.lane_bytes || is_strong(form)) return nullptr;
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
