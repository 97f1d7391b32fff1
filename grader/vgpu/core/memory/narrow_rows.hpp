// Loads and stores of warps that are several rows of a narrow block (Image::row_lanes), for all warps in lockstep.
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
#include "vgpu/core/warp/lockstep_lanes.hpp"

namespace scanlab::vgpu {

/// The addresses of a block's warps with active lanes: all lanes of each, aligned, in the array that was hit last.
struct NarrowRows {
  std::uint64_t first[most_warps];     ///< of lane 0
  std::int64_t stride = 0;             ///< from lane to lane of a row
  std::int64_t step = 0;               ///< from row to row
  std::uint32_t lanes = 0, bytes = 0;  ///< of a row; of an element

  /// How far each lane is from lane 0.
  void offsets(std::uint64_t* of) const {
    std::int64_t row = 0;
    for (unsigned lane = 0; lane < warp_size; lane += lanes, row += step)
      for (unsigned x = 0; x < lanes; ++x) of[lane + x] = static_cast<std::uint64_t>(row + stride * x);
  }
  bool is_contiguous() const { return stride == static_cast<std::int64_t>(bytes); }
};

/// False when the warps differ in more than where their first rows begin, or some address needs a closer look.
inline bool find_narrow_rows(Lockstep& l, const Step* s, AddressWidth width, std::uint32_t bytes, NarrowRows& r) {
  // Strides this large leave every array, and the products below their type.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  const Column& addresses = l.column(s->column[7]);
  const Range& range = l.block.grid->ranges[s->inst->op[6]];
  const std::int64_t stride = addresses.stride[l.first], jump = addresses.jump[l.first];
  if (l.partial_count || !l.full || std::max(stride, jump) >= far || std::min(stride, jump) <= -far) return false;
  r.lanes = l.row_lanes;
  r.bytes = bytes;
  r.stride = stride;
  r.step = stride * r.lanes + jump;
  const std::int64_t row = stride * (r.lanes - 1), rows = r.step * (warp_size / r.lanes - 1);
  const std::int64_t low = std::min<std::int64_t>(row, 0) + std::min<std::int64_t>(rows, 0);
  const auto span = static_cast<std::uint64_t>(std::abs(row) + std::abs(rows)) + bytes;
  if (span > range.bytes) return false;
  const std::uint64_t last = range.bytes - span, shift = static_cast<std::uint64_t>(low) - range.begin;
  const std::uint64_t kept = width == AddressWidth::bits32 ? 0xffffffff : ~std::uint64_t{0};
  std::uint64_t differences = 0, outside = 0, bits = static_cast<std::uint64_t>(stride | r.step);
  for (unsigned k = 0; k < l.count; ++k) {
    const std::uint64_t first = (addresses.value[k] + s->inst->imm) & kept, into = first + shift;
    const std::uint64_t is_active = l.active[k] ? ~std::uint64_t{0} : 0;
    r.first[k] = first;
    differences |= static_cast<std::uint64_t>((addresses.stride[k] ^ stride) | (addresses.jump[k] ^ jump)) & is_active;
    outside |= (into | (last - into)) & is_active;  // a borrow shows in the highest bit
    bits |= first & is_active;
  }
  return !differences && !(outside >> 63) && bits % bytes == 0;
}

/// Reports a warp's access, which comes next, to the observers.
class NarrowRowsReporter {
 public:
  NarrowRowsReporter(Lockstep& l, const Step* s, StateSpace space, const NarrowRows& r, AccessKind kind)
      : l_(l), inst_(s->inst), space_(space), rows_(r), kind_(kind) {
    r.offsets(offset_.of);
  }
  void operator()(unsigned k) const {
    Addresses a;
    for (unsigned lane = 0; lane < warp_size; ++lane) a.of[lane] = rows_.first[k] + offset_.of[lane];
    AccessRun& run = l_.reported;
    run.count = 1;
    run.step = 0;
    describe(run.first, l_.warp(k), inst_, space_, full_mask, rows_.bytes, a.of);
    report_run(*l_.block.grid, run, kind_);
  }

 private:
  Lockstep& l_;
  const Inst* inst_;
  StateSpace space_;
  const NarrowRows& rows_;
  AccessKind kind_;
  Addresses offset_;
};

/// Reports accesses that come next to the claims of this host thread.
inline void claim_narrow_rows(Claims& claims, const Lockstep& l, const NarrowRows& r, AccessKind kind) {
  const auto report = [&](std::uint64_t first, std::uint64_t bytes) {
    kind == AccessKind::read ? claims.read(first, bytes) : claims.write(first, bytes);
  };
  for (unsigned k = 0; k < l.count; ++k) {
    if (!l.active[k]) continue;
    std::uint64_t row = r.first[k];
    for (unsigned lane = 0; lane < warp_size; lane += r.lanes, row += static_cast<std::uint64_t>(r.step)) {
      if (r.is_contiguous() || r.stride == 0)
        report(row, r.stride ? r.lanes * r.bytes : r.bytes);
      else
        for (unsigned x = 0; x < r.lanes; ++x) report(row + static_cast<std::uint64_t>(r.stride) * x, r.bytes);
    }
  }
}

/// Visits the warps with active lanes: `before(k)`, `move(k, host memory of lane 0)`.
template <class Before, class Move>
[[gnu::always_inline]] inline void for_each_warp(const Lockstep& l, const NarrowRows& r, HostBase base,
                                                 const Before& before, Move move) {
  for (unsigned k = 0; k < l.count; ++k) {
    if (!l.active[k]) continue;
    before(k);
    move(k, base + r.first[k]);
  }
}

/// Rows of whole vectors, `lanes` long, whose elements are side by side, or one and the same.
template <class T, unsigned lanes, class Before>
void load_vector_rows(Lockstep& l, const NarrowRows& r, HostBase base, OperandRef to, const Before& before) {
  constexpr unsigned chunks = lanes / VectorOf<T>::width;
  const std::int64_t step = r.step;
  if (r.stride == 0)
    for_each_warp(l, r, base, before, [&](unsigned k, const std::byte* from) {
      T* const results = lanes_at<T>(l, k, to);
      for (unsigned row = 0; row < warp_size / lanes; ++row, from += step) {
        T value;
        std::memcpy(&value, from, sizeof value);
        for (unsigned c = 0; c < chunks; ++c) vector_at(results, row * chunks + c) = Vector<T>{} + value;
      }
    });
  else
    for_each_warp(l, r, base, before, [&](unsigned k, const std::byte* from) {
      T* const results = lanes_at<T>(l, k, to);
      for (unsigned row = 0; row < warp_size / lanes; ++row, from += step)
        for (unsigned c = 0; c < chunks; ++c)
          std::memcpy(&vector_at(results, row * chunks + c), from + c * sizeof(Vector<T>), sizeof(Vector<T>));
    });
}

/// Loads the rows of all warps; `before(k)` is called before those of warp k.
template <class T, class Before>
void load_narrow_rows(Lockstep& l, const NarrowRows& r, HostBase base, OperandRef to, const Before& before) {
  if (r.is_contiguous() || r.stride == 0) {
    if constexpr (VectorOf<T>::width <= 16)
      if (r.lanes == 16) return load_vector_rows<T, 16>(l, r, base, to, before);
    if constexpr (VectorOf<T>::width <= 8)
      if (r.lanes == 8) return load_vector_rows<T, 8>(l, r, base, to, before);
  }
  alignas(64) std::uint64_t offset[warp_size];
  r.offsets(offset);
  for_each_warp(l, r, base, before,
                [&](unsigned k, const std::byte* from) { take_lanes(lanes_at<T>(l, k, to), from, offset); });
}

/// The same for stores.
template <class T, class Before>
void store_narrow_rows(Lockstep& l, const NarrowRows& r, HostBase base, OperandRef from, const Before& before) {
  for_each_warp(l, r, base, before, [&](unsigned k, std::byte* to) {
    const T* values = lanes_at<T>(l, k, from);
    for (unsigned lane = 0; lane < warp_size; lane += r.lanes, to += r.step, values += r.lanes) {
      if (r.is_contiguous())
        std::memcpy(to, values, r.lanes * sizeof(T));
      else
        for (unsigned x = 0; x < r.lanes; ++x) std::memcpy(to + r.stride * x, &values[x], sizeof(T));
    }
  });
}

}  // namespace scanlab::vgpu
