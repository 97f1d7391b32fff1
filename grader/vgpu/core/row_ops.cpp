// Loads and stores of convergent code: the addresses of a warp are a Pair, so they are checked once.
#include <bit>
#include <cstring>

#include "vgpu/core/lane_access.hpp"
#include "vgpu/core/lockstep.hpp"
#include "vgpu/core/pairs.hpp"

namespace scanlab::vgpu {
namespace {

/// Where the lanes of a row lie: that of lane 0, and how far each is from the one before.
struct Row {
  std::uint64_t first;
  std::int64_t stride;
};
template <AddressWidth Width>
Row row_of(Warp& w, const Inst* i) {
  const Pair& p = *w.lanes<Pair>(i->op[7]);
  const std::uint64_t first = p.value + i->imm;
  return {Width == AddressWidth::bits32 ? static_cast<std::uint32_t>(first) : first, p.stride};
}

/// The addresses of all lanes, as the registers would hold them.
template <AddressWidth Width>
void spread_row(const Row& r, Addresses& a) {
  spread(a.of, Pair{r.first, r.stride});
  if constexpr (Width == AddressWidth::bits32)
    for (std::uint64_t& x : a.of) x = static_cast<std::uint32_t>(x);
}

template <class T, StateSpace Space>
void tell_row(Warp& w, const Inst* i, const Row& r, Touch touch) {
  Access a = access_of(w, i, Space, w.active, sizeof(T), nullptr);
  a.first = r.first;
  a.stride = r.stride;
  tell(w, a, touch);
}

/// Host memory of lane 0, when the row is one of a whole warp, aligned, and in the array that was hit last.
template <class T, StateSpace Space>
std::byte* host_of(Warp& w, const Inst* i, const Row& r) {
  if (w.active != full_mask || (r.first | static_cast<std::uint64_t>(r.stride)) % sizeof(T)) return nullptr;
  const std::int64_t span = r.stride * static_cast<std::int64_t>(warp_size - 1);
  const std::uint64_t below = span < 0 ? 0 - static_cast<std::uint64_t>(span) : 0;
  const std::uint64_t above = span < 0 ? 0 : static_cast<std::uint64_t>(span);
  std::byte* const low = reach<Space>(w, i, r.first - below, below + above + sizeof(T));
  return low ? low + below : nullptr;
}

/// Rows whose elements are not side by side.
template <class T, StateSpace Space, AddressWidth Width, bool Observed>
[[gnu::noinline]] const Inst* load_any_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  if (const std::byte* from = host_of<T, Space>(w, i, r)) {
    if constexpr (Observed) tell_row<T, Space>(w, i, r, Touch::read);
    T* const to = w.lanes<T>(i->op[0]);
    collect_lanes(to, [&](unsigned l) { return from + static_cast<std::int64_t>(l) * r.stride; });
    return proceed(w, i + 1);
  }
  w.pc = i;
  Addresses a;
  spread_row<Width>(r, a);
  load_lanes<T, Space, Observed>(w, i, a, 1);
  return i + 1;
}

template <class T, StateSpace Space, AddressWidth Width, bool Observed>
[[gnu::noinline]] const Inst* store_any_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  if (std::byte* to = host_of<T, Space>(w, i, r)) {
    if constexpr (Observed) tell_row<T, Space>(w, i, r, Touch::write);
    const T* const from = w.lanes<T>(i->op[0]);
    for (unsigned l = 0; l < warp_size; ++l, to += r.stride) std::memcpy(to, &from[l], sizeof(T));
    ++w.block->grid->epoch;
    return proceed(w, i + 1);
  }
  w.pc = i;
  Addresses a;
  spread_row<Width>(r, a);
  store_lanes<T, Space, Observed>(w, i, a, 1);
  return i + 1;
}

template <class T, StateSpace Space, AddressWidth Width, bool Observed>
const Inst* load_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  const std::byte* const from =
      r.stride == sizeof(T) && w.active == full_mask ? row<Space>(w, i, r.first, sizeof(T)) : nullptr;
  if (!from) return load_any_row<T, Space, Width, Observed>(w, i);
  copy_lanes<T>(w.lanes<T>(i->op[0]), from);
  if constexpr (Observed) tell_row<T, Space>(w, i, r, Touch::read);
  return proceed(w, i + 1);
}

template <class T, StateSpace Space, AddressWidth Width, bool Observed>
const Inst* store_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  std::byte* const to = r.stride == sizeof(T) && w.active == full_mask ? row<Space>(w, i, r.first, sizeof(T)) : nullptr;
  if (!to) return store_any_row<T, Space, Width, Observed>(w, i);
  copy_lanes<T>(to, w.lanes<T>(i->op[0]));
  ++w.block->grid->epoch;
  if constexpr (Observed) tell_row<T, Space>(w, i, r, Touch::write);
  return proceed(w, i + 1);
}

/// All lanes read the same element: so does the warp, once.
template <class T, StateSpace Space, AddressWidth Width, bool Observed>
const Inst* load_uniform(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  const std::byte* host = r.first % sizeof(T) ? nullptr : reach<Space>(w, i, r.first, sizeof(T));
  if (!host) [[unlikely]] {
    w.pc = i;
    host = check_lane(w, Space, Touch::read, static_cast<unsigned>(std::countr_zero(w.active)), r.first, sizeof(T),
                      &range_of(w, i));
  }
  if constexpr (Observed) tell_row<T, Space>(w, i, r, Touch::read);
  std::memcpy(w.lanes<T>(i->op[0]), host, sizeof(T));
  return proceed(w, i + 1);
}

/// The rows of a block's warps.
template <class T, StateSpace Space, AddressWidth Width>
class Rows {
 public:
  Rows(Lockstep& l, const Step* s)
      : l_(l),
        addresses_(l.column(s->column[7])),
        offset_(s->inst->imm),
        range_(l.block.grid->ranges[s->inst->op[6]]),
        base_(Space == StateSpace::shared ? l.block.shared.data() : l.block.grid->memory->host(0)) {}

  /// Host memory of warp `k`'s row, when all its lanes are active, side by side, and in the array that was hit last;
  /// `r` in any case.
  std::byte* at(unsigned k, Row& r) const {
    const std::uint64_t first = addresses_.value[k] + offset_;
    r = {Width == AddressWidth::bits32 ? static_cast<std::uint32_t>(first) : first, addresses_.stride[k]};
    if (l_.active[k] != full_mask || r.stride != sizeof(T) || r.first % sizeof(T)) return nullptr;
    constexpr std::uint64_t bytes = warp_size * sizeof(T);
    const std::uint64_t into = r.first - range_.begin;
    return into > range_.bytes || range_.bytes - into < bytes ? nullptr : base_ + r.first;
  }

 private:
  const Lockstep& l_;
  const Column& addresses_;
  const std::uint64_t offset_;
  const Range& range_;
  std::byte* const base_;
};

template <class T, StateSpace Space, bool Observed>
void tell_row_in_lockstep(Lockstep& l, const Step* s, unsigned k, const Row& r, Touch touch) {
  if constexpr (Observed) {
    l.warp(k).active = full_mask;
    tell_row<T, Space>(l.warp(k), s->inst, r, touch);
  }
}

template <class T, StateSpace Space, AddressWidth Width, bool Observed>
const Step* load_rows(Lockstep& l, const Step* s) {
  const Rows<T, Space, Width> rows(l, s);
  for (unsigned k = 0; k < l.count; ++k) {
    if (!l.active[k]) continue;
    Row r;
    if (const std::byte* const from = rows.at(k, r)) {
      copy_lanes<T>(l.registers[k] + s->inst->op[0], from);
      tell_row_in_lockstep<T, Space, Observed>(l, s, k, r, Touch::read);
    } else {
      run_alone(l, s, k);
    }
  }
  return s + 1;
}

template <class T, StateSpace Space, AddressWidth Width, bool Observed>
const Step* store_rows(Lockstep& l, const Step* s) {
  const Rows<T, Space, Width> rows(l, s);
  for (unsigned k = 0; k < l.count; ++k) {
    if (!l.active[k]) continue;
    Row r;
    if (std::byte* const to = rows.at(k, r)) {
      copy_lanes<T>(to, l.registers[k] + s->inst->op[0]);
      tell_row_in_lockstep<T, Space, Observed>(l, s, k, r, Touch::write);
    } else {
      run_alone(l, s, k);
    }
  }
  ++l.block.grid->epoch;
  return s + 1;
}

template <class T, StateSpace Space, AddressWidth Width, bool Observed>
RowHandlers pick_row(RowKind kind) {
  switch (kind) {
    case RowKind::load:
      return {&load_row<T, Space, Width, Observed>, &load_rows<T, Space, Width, Observed>};
    case RowKind::load_uniform:
      return {&load_uniform<T, Space, Width, Observed>, &each_alone};
    case RowKind::store:
      return {&store_row<T, Space, Width, Observed>, &store_rows<T, Space, Width, Observed>};
  }
  return {};
}
template <class T, StateSpace Space, AddressWidth Width>
RowHandlers pick_row(RowKind kind, bool observed) {
  return observed ? pick_row<T, Space, Width, true>(kind) : pick_row<T, Space, Width, false>(kind);
}

template <StateSpace Space, AddressWidth Width>
RowHandlers pick_row(std::uint32_t bytes, RowKind kind, bool observed) {
  switch (bytes) {
    case 2:
      return pick_row<std::uint16_t, Space, Width>(kind, observed);
    case 4:
      return pick_row<std::uint32_t, Space, Width>(kind, observed);
    case 8:
      return pick_row<std::uint64_t, Space, Width>(kind, observed);
    default:
      return {};
  }
}

template <StateSpace Space>
RowHandlers pick_row(AddressWidth width, std::uint32_t bytes, RowKind kind, bool observed) {
  return width == AddressWidth::bits32 ? pick_row<Space, AddressWidth::bits32>(bytes, kind, observed)
                                       : pick_row<Space, AddressWidth::bits64>(bytes, kind, observed);
}

}  // namespace

RowHandlers select_row(const MemoryForm& form, ptx::StateSpace space, AddressWidth width, RowKind kind, bool observed) {
  if (form.count != 1 || form.bytes != form.lane_bytes || form.order != static_cast<std::uint32_t>(Access::Order::weak))
    return {};
  if (space == StateSpace::global) return pick_row<StateSpace::global>(width, form.bytes, kind, observed);
  if (space == StateSpace::shared) return pick_row<StateSpace::shared>(width, form.bytes, kind, observed);
  return {};
}

}  // namespace scanlab::vgpu
