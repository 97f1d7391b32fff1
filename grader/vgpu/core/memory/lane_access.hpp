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
      const auto at = [&](unsigned l) { return a.of[l]; };
      const auto read = [&](Address first, std::uint64_t length) { claims->read(first, length); };
      const auto write = [&](Address first, std::uint64_t length) { claims->write(first, length); };
      const bool is_whole = w.active == full_mask;
      if (kind == AccessKind::read)
        is_whole ? for_each_piece(a, bytes, read) : claims->read_lanes(w.active, bytes, at);
      else
        is_whole ? for_each_piece(a, bytes, write) : claims->write_lanes(w.active, bytes, at);
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
template <class T, class Offset>
void take_lanes(T* to, const std::byte* from, const Offset* offset) {
  collect_lanes(to, [&](unsigned l) { return from + offset[l]; });
}

/// Loads `count` elements per lane from the addresses of all active lanes.
template <class T, StateSpace Space, Watched watched>
void load_lanes(Warp& w, const Inst* i, const Addresses& a, std::uint32_t count) {
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  const View v = view<Space>(w, i, AccessKind::read, a, bytes);
  report_lanes<Space, watched>(w, i, bytes, a, AccessKind::read);
  if (form_of(i).order != static_cast<std::uint32_t>(Access::Order::weak))
    note_poll(w, Space == StateSpace::global ? w.active : 0, [&](unsigned l) { return a.of[l]; });
  for (std::uint32_t k = 0; k < count; ++k) {
    T* to = w.lanes<T>(i->op[k]);
    const auto from = [&](unsigned l) { return v.at(a.of[l] + k * sizeof(T)); };
    if (v.consecutive && count == 1)
      copy_lanes<T>(to, from(0));
    else if (w.active == full_mask)
      collect_lanes(to, from);
    else
      for_each_lane(w.active, [&](unsigned l) { std::memcpy(&to[l], from(l), sizeof(T)); });
  }
}

template <class T, StateSpace Space, Watched watched>
void store_lanes(Warp& w, const Inst* i, const Addresses& a, std::uint32_t count) {
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  const View v = view<Space>(w, i, AccessKind::write, a, bytes);
  report_lanes<Space, watched>(w, i, bytes, a, AccessKind::write);
  ++w.block->grid->epoch;
  for (std::uint32_t k = 0; k < count; ++k) {
    const T* from = w.lanes<T>(i->op[k]);
    const auto to = [&](unsigned l) { return v.at(a.of[l] + k * sizeof(T)); };
    if (v.consecutive && count == 1)
      copy_lanes<T>(to(0), from);
    else if (w.active == full_mask)
      for (unsigned l = 0; l < warp_size; ++l) std::memcpy(to(l), &from[l], sizeof(T));
    else
      for_each_lane(w.active, [&](unsigned l) { std::memcpy(to(l), &from[l], sizeof(T)); });
  }
}

}  // namespace scanlab::vgpu
