// What loads and stores have in common once they know their addresses: reporting to observers, and moving the lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "vgpu/core/memory/claims.hpp"
#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/warp/lanes.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {

/// Fills `a` but for its pattern. It is not to be copied soon: a copy of the whole would wait until the parts have been
/// written.
inline void describe(Access& a, const Warp& w, const Inst* i, StateSpace space, Mask mask, std::uint32_t bytes,
                     const std::uint64_t* address) {
  const MemoryForm form = form_of(i);
  a.actor.block = w.block->index;
  a.actor.warp = w.id;
  a.actor.slot = w.block->slot;
  a.actor.line = i->line;
  a.space = space;
  a.mask = mask;
  a.bytes = bytes;
  a.address = address;
  a.order = static_cast<Access::Order>(form.order);
  a.scope = static_cast<Access::Scope>(form.scope);
  a.is_read_only = form.is_read_only;
  a.block = w.block;
  a.inst = i;
}
inline Access access_of(const Warp& w, const Inst* i, StateSpace space, Mask mask, std::uint32_t bytes,
                        const std::uint64_t* address) {
  Access a;
  describe(a, w, i, space, mask, bytes, address);
  return a;
}

/// Reports a load or a store to the observers.
inline void report(Warp& w, const Access& a, AccessKind kind) {
  for (Observer* o : w.block->grid->listeners(a.space, a.order)) kind == AccessKind::read ? o->load(a) : o->store(a);
}

/// The same for warps that take the same path.
inline void report_run(const Grid& grid, const AccessRun& run, AccessKind kind) {
  for (Observer* o : grid.listeners(run.first.space, run.first.order))
    kind == AccessKind::read ? o->loads(run) : o->stores(run);
}

/// Visits the pieces of memory that a whole warp accesses: elements side by side are one, as far as there are few such
/// pieces.
template <class Visit>
void for_each_piece(const Addresses& a, std::uint32_t bytes, Visit visit) {
  constexpr unsigned few = 4, width = VectorOf<std::uint64_t>::width;
  unsigned start = 0;
  for (unsigned pieces = 0; start < warp_size && pieces < few; ++pieces) {
    Vector<std::uint64_t> expected;
    for (unsigned k = 0; k < width; ++k) expected[k] = a.of[start] + (std::uint64_t{k} - start) * bytes;
    const Mask breaks = mask_where<std::uint64_t>([&](Vector<std::int64_t>& differs, unsigned chunk) {
      differs = vector_at(a.of, chunk) != expected;
      expected += std::uint64_t{width} * bytes;
    });
    const Mask behind = breaks & full_mask << start;
    const unsigned end = behind ? static_cast<unsigned>(std::countr_zero(behind)) : warp_size;
    visit(a.of[start], std::uint64_t{end - start} * bytes);
    start = end;
  }
  for (; start < warp_size; ++start) visit(a.of[start], bytes);
}

/// Reports an access by the active lanes, which has been found valid and comes next, to the claims of this host thread
/// and to the observers.
template <StateSpace Space, Watched watched>
void report_lanes(Warp& w, const Inst* i, std::uint32_t bytes, const Addresses& a, AccessKind kind) {
  if constexpr (Space == StateSpace::global && watched != Watched::nothing)
    if (Claims* const claims = w.block->grid->claims) {
      if (w.active == full_mask)
        for_each_piece(a, bytes, [&](Address first, std::uint64_t length) { claims->note(kind, first, length); });
      else
        claims->note_lanes(kind, w.active, bytes, [&](unsigned l) { return a.of[l]; });
    }
  if constexpr (watched == Watched::everything) report(w, access_of(w, i, Space, w.active, bytes, a.of), kind);
}

/// to[l] = the element at `place(l)`; stored in whole vectors, as it is read later.
template <class T, class Place>
void collect_lanes(T* to, Place place) {
  constexpr unsigned width = VectorOf<T>::width;
  for (unsigned chunk = 0; chunk < VectorOf<T>::count; ++chunk)
    [&]<unsigned... k>(std::integer_sequence<unsigned, k...>) {
      const auto element = [&](unsigned l) {
        T value;
        std::memcpy(&value, place(chunk * width + l), sizeof value);
        return value;
      };
      vector_at(to, chunk) = Vector<T>{element(k)...};
    }
  (std::make_integer_sequence<unsigned, width>{});
}

// A load brings elements from memory into lanes, a store the other way: `kind` says which of the two.

/// One element.
template <AccessKind kind, class T>
[[gnu::always_inline]] inline void move_lane(T* lane, std::byte* memory) {
  if constexpr (kind == AccessKind::read)
    std::memcpy(lane, memory, sizeof(T));
  else
    std::memcpy(memory, lane, sizeof(T));
}
/// Those of all lanes, side by side.
template <AccessKind kind, class T>
[[gnu::always_inline]] inline void move_row(T* lanes, std::byte* memory) {
  if constexpr (kind == AccessKind::read)
    copy_lanes<T>(lanes, memory);
  else
    copy_lanes<T>(memory, lanes);
}
/// Those of all lanes, that of lane l at `place(l)`.
template <AccessKind kind, class T, class Place>
[[gnu::always_inline]] inline void move_scattered(T* lanes, Place place) {
  if constexpr (kind == AccessKind::read)
    collect_lanes(lanes, place);
  else
    for (unsigned l = 0; l < warp_size; ++l) std::memcpy(place(l), &lanes[l], sizeof(T));
}

/// Loads or stores `count` elements per lane at the addresses of all active lanes.
template <AccessKind kind, class T, StateSpace Space, Watched watched>
void access_lanes(Warp& w, const Inst* i, const Addresses& a, std::uint32_t count) {
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  const View v = view(w, i, Space, kind, a, bytes);
  report_lanes<Space, watched>(w, i, bytes, a, kind);
  if constexpr (kind == AccessKind::write)
    ++w.block->grid->epoch;
  else if (is_strong(form_of(i)))
    note_poll(w, Space == StateSpace::global ? w.active : 0, [&](unsigned l) { return a.of[l]; });
  for (std::uint32_t k = 0; k < count; ++k) {
    T* const lanes = w.lanes<T>(i->op[k]);
    const auto host = [&](unsigned l) { return v.at(a.of[l] + k * sizeof(T)); };
    if (v.consecutive && count == 1)
      move_row<kind>(lanes, host(0));
    else if (w.active == full_mask)
      move_scattered<kind>(lanes, host);
    else
      for_each_lane(w.active, [&](unsigned l) { move_lane<kind>(&lanes[l], host(l)); });
  }
}

/// select.template operator()<T, watched>() for elements of `bytes`, as wide as their registers; null for another
/// width.
template <StateSpace Space, class Select>
auto with_element(std::uint32_t bytes, Watched watched, Select select) {
  const auto with_type = [&]<class T>() {
    if (watched == Watched::everything) return select.template operator()<T, Watched::everything>();
    if constexpr (Space == StateSpace::global)
      if (watched == Watched::global) return select.template operator()<T, Watched::global>();
    return select.template operator()<T, Watched::nothing>();
  };
  if (bytes == 2) return with_type.template operator()<std::uint16_t>();
  if (bytes == 4) return with_type.template operator()<std::uint32_t>();
  return bytes == 8 ? with_type.template operator()<std::uint64_t>() : nullptr;
}

}  // namespace scanlab::vgpu
