// Where the lanes of a warp access memory, when a few numbers say it.
#pragma once

#include <bit>
#include <cstdint>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

/// Lanes one after the other, `stride` bytes apart.
struct LaneRow {
  std::uint64_t first = 0;  ///< of lane 0
  std::int64_t stride = 0;
};

/// One address a lane: rows of `row_lanes` lanes, a power of two, each `row_step` bytes behind the one before. Mostly
/// there is one row of all lanes; a warp of a narrow block has several (Image::row_lanes).
struct Pattern : LaneRow {
  std::uint32_t row_lanes = warp_size;
  std::int64_t row_step = 0;

  bool is_one_row() const { return row_lanes == warp_size; }
  std::uint64_t at(unsigned lane) const {
    const unsigned in_row = lane & (row_lanes - 1), row = lane >> std::countr_zero(row_lanes);
    return first + static_cast<std::uint64_t>(stride) * in_row + static_cast<std::uint64_t>(row_step) * row;
  }
  /// Visits the lanes' addresses as pieces of memory, elements of a row that lie side by side, or are one, at once:
  /// visit(first address, bytes). All lanes take part.
  template <class Visit>
  void for_each_piece(std::uint32_t bytes, Visit visit) const {
    const bool is_contiguous = stride == static_cast<std::int64_t>(bytes);
    for (unsigned lane = 0; lane < warp_size; lane += row_lanes)
      if (is_contiguous || stride == 0)
        visit(at(lane), std::uint64_t{bytes} * (stride ? row_lanes : 1));
      else
        for (unsigned x = 0; x < row_lanes; ++x) visit(at(lane + x), std::uint64_t{bytes});
  }
};

}  // namespace scanlab::vgpu
