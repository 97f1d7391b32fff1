// Loads and stores of warps that are several rows of a narrow block (Image::row_lanes), for all warps of a gang.
// Their rows lie alike: as far from each other in one warp as in the next. So all is checked at once, and what remains
// is to move rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vgpu/core/memory/addressing.hpp"
#include "vgpu/core/memory/claims.hpp"
#include "vgpu/core/memory/lane_access.hpp"
#include "vgpu/core/warp/gang_lanes.hpp"

namespace scanlab::vgpu {

/// The addresses of a gang's warps with active lanes: all lanes of each, aligned, in the array that was hit last.
struct NarrowRows {
  Pattern lanes;                                ///< of every warp, as if its lane 0 had address 0
  alignas(64) std::uint64_t first[most_warps];  ///< of lane 0
  std::uint32_t bytes = 0;                      ///< of an element

  Pattern of(unsigned k) const {
    Pattern pattern = lanes;
    pattern.first = first[k];
    return pattern;
  }
};

/// False when the warps differ in more than where their first rows begin, or some address needs a closer look.
inline bool find_narrow_rows(Gang& g, const Step* s, AddressWidth width, std::uint32_t bytes, NarrowRows& r) {
  // Strides this large leave every array, and the products below their type.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  const Column addresses = g.column(s->inst->op[7]);
  const Range& range = g.block.grid->ranges[s->inst->op[6]];
  const std::int64_t stride = addresses.stride[g.first], jump = addresses.jump[g.first];
  if (g.partial_count || !g.full || std::max(stride, jump) >= far || std::min(stride, jump) <= -far) return false;
  r.bytes = bytes;
  r.lanes.stride = stride;
  r.lanes.row_lanes = g.row_lanes;
  r.lanes.row_step = stride * g.row_lanes + jump;
  const std::int64_t row = stride * (g.row_lanes - 1), rows = r.lanes.row_step * (warp_size / g.row_lanes - 1);
  const std::int64_t low = std::min<std::int64_t>(row, 0) + std::min<std::int64_t>(rows, 0);
  const auto span = static_cast<std::uint64_t>(std::abs(row) + std::abs(rows)) + bytes;
  if (span > range.bytes) return false;
  const std::uint64_t last = range.bytes - span, shift = static_cast<std::uint64_t>(low) - range.begin;
  const std::uint64_t kept = width == AddressWidth::bits32 ? 0xffffffff : ~std::uint64_t{0};
  using Words = Vector<std::uint64_t>;
  typedef std::int32_t Masks __attribute__((vector_size(16)));
  const std::uint64_t offset_bits = bytes - 1, steps = static_cast<std::uint64_t>(stride | r.lanes.row_step);
  Words bad{};
  for (unsigned chunk = g.begin / VectorOf<std::uint64_t>::width; chunk * VectorOf<std::uint64_t>::width < g.end;
       ++chunk) {
    Masks active;  // 0 or all bits; 0 outside of the gang
    std::memcpy(&active, g.active + chunk * VectorOf<std::uint64_t>::width, sizeof active);
    const Words is_active = reinterpret_cast<Words>(__builtin_convertvector(active, Vector<std::int64_t>));
    const Words first = (vector_at(addresses.value, chunk) + s->inst->imm) & kept, into = first + shift;
    vector_at(r.first, chunk) = first;
    const Words differs = reinterpret_cast<Words>((vector_at(addresses.stride, chunk) ^ stride) |
                                                  (vector_at(addresses.jump, chunk) ^ jump));
    const Words is_outside = (into | (last - into)) >> 63;  // a borrow shows in the highest bit
    bad |= (differs | is_outside | ((first | steps) & offset_bits)) & is_active;
  }
  return squeeze<std::int64_t>(bad != 0) == 0;
}

/// Reports to the observers what the warps [from, end) access next; neighbours at once that begin evenly.
inline void report_narrow_rows(Gang& g, const Step* s, StateSpace space, const NarrowRows& r, AccessKind kind,
                               unsigned from, unsigned end) {
  if (g.block.grid->listeners(space, Access::Order::weak).empty()) return;
  for (unsigned k = from; k < end; ++k) {
    if (!g.active[k]) continue;
    AccessRun& run = g.reported;
    run.count = 1;
    run.step = 0;
    describe(run.first, g.warp(k), s->inst, space, full_mask, r.bytes, nullptr);
    static_cast<Pattern&>(run.first) = r.of(k);
    const auto step_to = [&](unsigned n) { return static_cast<std::int64_t>(r.first[n] - r.first[n - 1]); };
    for (; k + 1 < end && g.active[k + 1] && (run.count == 1 || step_to(k + 1) == run.step); ++k) {
      run.step = step_to(k + 1);
      ++run.count;
    }
    report_run(*g.block.grid, run, kind);
  }
}

/// The same to the claims of this host thread.
inline void claim_narrow_rows(Claims& claims, const Gang& g, const NarrowRows& r, AccessKind kind) {
  for_each_active_warp(g, [&](unsigned k) {
    r.of(k).for_each_piece(r.bytes, [&](Address first, std::uint64_t bytes) { claims.note(kind, first, bytes); });
  });
}

/// Visits the warps with active lanes: move(k, host memory of lane 0).
template <class Move>
[[gnu::always_inline]] inline void for_each_host_row(const Gang& g, const NarrowRows& r, HostBase base, Move move) {
  for_each_active_warp(g, [&](unsigned k) { move(k, base + r.first[k]); });
}

/// Rows of whole vectors, `lanes` long, whose elements are side by side, or one and the same.
template <class T, unsigned lanes>
void load_vector_rows(Gang& g, const NarrowRows& r, HostBase base, OperandRef to) {
  constexpr unsigned chunks = lanes / VectorOf<T>::width;
  typedef T Unaligned __attribute__((vector_size(32), may_alias, aligned(1)));
  const std::int64_t step = r.lanes.row_step;
  if (r.lanes.stride == 0)
    for_each_host_row(g, r, base, [&](unsigned k, const std::byte* from) {
      T* const results = lanes_at<T>(g, k, to);
      for (unsigned row = 0; row < warp_size / lanes; ++row, from += step) {
        T value;
        std::memcpy(&value, from, sizeof value);
        for (unsigned c = 0; c < chunks; ++c) vector_at(results, row * chunks + c) = Vector<T>{} + value;
      }
    });
  else
    for_each_host_row(g, r, base, [&](unsigned k, const std::byte* from) {
      T* const results = lanes_at<T>(g, k, to);
      for (unsigned row = 0; row < warp_size / lanes; ++row, from += step)
        for (unsigned c = 0; c < chunks; ++c)
          vector_at(results, row * chunks + c) = reinterpret_cast<const Unaligned*>(from)[c];
    });
}

/// Loads the rows of all warps.
template <class T>
void load_narrow_rows(Gang& g, const NarrowRows& r, HostBase base, OperandRef to) {
  if (r.lanes.stride == sizeof(T) || r.lanes.stride == 0) {
    if constexpr (VectorOf<T>::width <= 16)
      if (r.lanes.row_lanes == 16) return load_vector_rows<T, 16>(g, r, base, to);
    if constexpr (VectorOf<T>::width <= 8)
      if (r.lanes.row_lanes == 8) return load_vector_rows<T, 8>(g, r, base, to);
  }
  std::uint64_t offset[warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane) offset[lane] = r.lanes.at(lane);
  for_each_host_row(g, r, base, [&](unsigned k, const std::byte* from) {
    collect_lanes(lanes_at<T>(g, k, to), [&](unsigned lane) { return from + offset[lane]; });
  });
}

/// Stores the rows of all warps, those of warp k after before(k).
template <class T, class Before>
void store_narrow_rows(Gang& g, const NarrowRows& r, HostBase base, OperandRef from, Before before) {
  const unsigned lanes = r.lanes.row_lanes;
  for_each_host_row(g, r, base, [&](unsigned k, std::byte* to) {
    before(k);
    const T* values = lanes_at<T>(g, k, from);
    for (unsigned lane = 0; lane < warp_size; lane += lanes, to += r.lanes.row_step, values += lanes) {
      if (r.lanes.stride == sizeof(T))
        std::memcpy(to, values, lanes * sizeof(T));
      else
        for (unsigned x = 0; x < lanes; ++x) std::memcpy(to + r.lanes.stride * x, &values[x], sizeof(T));
    }
  });
}

}  // namespace scanlab::vgpu
