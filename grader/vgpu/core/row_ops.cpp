// Loads and stores of convergent code: the addresses of a warp are a Pair, so they are checked once.
#include <bit>
#include <cstring>

#include "vgpu/core/claims.hpp"
#include "vgpu/core/lane_access.hpp"
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

/// To whom of the claims and the observers a handler tells its accesses.
template <StateSpace Space, Watched watched>
inline constexpr bool claims_from = Space == StateSpace::global&& watched != Watched::nothing;
template <Watched watched>
inline constexpr bool observed = watched == Watched::everything;

template <class T, StateSpace Space>
void observe_row(Warp& w, const Inst* i, const Row& r, Touch touch) {
  Access a = access_of(w, i, Space, w.active, sizeof(T), nullptr);
  a.first = r.first;
  a.stride = r.stride;
  tell(w, a, touch);
}

/// Tells of 32 elements side by side that have been found valid, before they are read or written.
template <class T, StateSpace Space, Watched watched>
void tell_whole_row(Warp& w, const Inst* i, const Row& r, Touch touch) {
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = w.block->grid->claims) {
      constexpr std::uint64_t bytes = warp_size * sizeof(T);
      touch == Touch::read ? claims->read(r.first, bytes) : claims->write(r.first, bytes);
    }
  if constexpr (observed<watched>) observe_row<T, Space>(w, i, r, touch);
}

/// The same for one element that all lanes read.
template <class T, StateSpace Space, Watched watched>
void tell_one_element(Warp& w, const Inst* i, const Row& r) {
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = w.block->grid->claims) claims->read(r.first, sizeof(T));
  if constexpr (observed<watched>) observe_row<T, Space>(w, i, r, Touch::read);
}

/// The same for any row.
template <class T, StateSpace Space, Watched watched>
void tell_row(Warp& w, const Inst* i, const Row& r, Touch touch) {
  if constexpr (claims_from<Space, watched>)
    if (Claims* const claims = w.block->grid->claims) {
      const auto at = [&](unsigned l) { return r.first + static_cast<std::uint64_t>(r.stride) * l; };
      touch == Touch::read ? claims->read_lanes(w.active, sizeof(T), at) : claims->write_lanes(w.active, sizeof(T), at);
    }
  if constexpr (observed<watched>) observe_row<T, Space>(w, i, r, touch);
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
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] const Inst* load_any_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  if (const std::byte* from = host_of<T, Space>(w, i, r)) {
    tell_row<T, Space, watched>(w, i, r, Touch::read);
    T* const to = w.lanes<T>(i->op[0]);
    collect_lanes(to, [&](unsigned l) { return from + static_cast<std::int64_t>(l) * r.stride; });
    return proceed(w, i + 1);
  }
  w.pc = i;
  Addresses a;
  spread_row<Width>(r, a);
  load_lanes<T, Space, watched>(w, i, a, 1);
  return i + 1;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
[[gnu::noinline]] const Inst* store_any_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  if (std::byte* to = host_of<T, Space>(w, i, r)) {
    tell_row<T, Space, watched>(w, i, r, Touch::write);
    const T* const from = w.lanes<T>(i->op[0]);
    for (unsigned l = 0; l < warp_size; ++l, to += r.stride) std::memcpy(to, &from[l], sizeof(T));
    ++w.block->grid->epoch;
    return proceed(w, i + 1);
  }
  w.pc = i;
  Addresses a;
  spread_row<Width>(r, a);
  store_lanes<T, Space, watched>(w, i, a, 1);
  return i + 1;
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Inst* load_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  const std::byte* const from =
      r.stride == sizeof(T) && w.active == full_mask ? row<Space>(w, i, r.first, sizeof(T)) : nullptr;
  if (!from) return load_any_row<T, Space, Width, watched>(w, i);
  tell_whole_row<T, Space, watched>(w, i, r, Touch::read);
  copy_lanes<T>(w.lanes<T>(i->op[0]), from);
  return proceed(w, i + 1);
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Inst* store_row(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  std::byte* const to = r.stride == sizeof(T) && w.active == full_mask ? row<Space>(w, i, r.first, sizeof(T)) : nullptr;
  if (!to) return store_any_row<T, Space, Width, watched>(w, i);
  tell_whole_row<T, Space, watched>(w, i, r, Touch::write);
  copy_lanes<T>(to, w.lanes<T>(i->op[0]));
  ++w.block->grid->epoch;
  return proceed(w, i + 1);
}

/// All lanes read the same element: so does the warp, once.
template <class T, StateSpace Space, AddressWidth Width, Watched watched>
const Inst* load_uniform(Warp& w, const Inst* i) {
  const Row r = row_of<Width>(w, i);
  const std::byte* host = r.first % sizeof(T) ? nullptr : reach<Space>(w, i, r.first, sizeof(T));
  if (!host) [[unlikely]] {
    w.pc = i;
    host = check_lane(w, Space, Touch::read, static_cast<unsigned>(std::countr_zero(w.active)), r.first, sizeof(T),
                      &range_of(w, i));
  }
  tell_one_element<T, Space, watched>(w, i, r);
  std::memcpy(w.lanes<T>(i->op[0]), host, sizeof(T));
  return proceed(w, i + 1);
}

template <class T, StateSpace Space, AddressWidth Width, Watched watched>
Handler pick_row(RowKind kind) {
  switch (kind) {
    case RowKind::load:
      return &load_row<T, Space, Width, watched>;
    case RowKind::load_uniform:
      return &load_uniform<T, Space, Width, watched>;
    case RowKind::store:
      return &store_row<T, Space, Width, watched>;
  }
  return nullptr;
}

template <StateSpace Space, AddressWidth Width, Watched watched>
Handler pick_row(std::uint32_t bytes, RowKind kind) {
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
Handler pick_row(std::uint32_t bytes, RowKind kind, Watched watched) {
  if (watched == Watched::everything) return pick_row<Space, Width, Watched::everything>(bytes, kind);
  if constexpr (Space == StateSpace::global)
    if (watched == Watched::global) return pick_row<Space, Width, Watched::global>(bytes, kind);
  return pick_row<Space, Width, Watched::nothing>(bytes, kind);
}

template <StateSpace Space>
Handler pick_row(AddressWidth width, std::uint32_t bytes, RowKind kind, Watched watched) {
  return width == AddressWidth::bits32 ? pick_row<Space, AddressWidth::bits32>(bytes, kind, watched)
                                       : pick_row<Space, AddressWidth::bits64>(bytes, kind, watched);
}

}  // namespace

Handler select_row(const MemoryForm& form, ptx::StateSpace space, AddressWidth width, RowKind kind, Watched watched) {
  if (form.count != 1 || form.bytes != form.lane_bytes || form.order != static_cast<std::uint32_t>(Access::Order::weak))
    return nullptr;
  if (space == StateSpace::global) return pick_row<StateSpace::global>(width, form.bytes, kind, watched);
  if (space == StateSpace::shared) return pick_row<StateSpace::shared>(width, form.bytes, kind, watched);
  return nullptr;
}

}  // namespace scanlab::vgpu
