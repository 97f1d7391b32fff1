// Shadow memory: for each word of a block's shared memory, which threads have accessed which of its bytes since the
// threads last met. Of the accesses by one line the latest are kept: what races with one that happened before another
// of the same line races with that one too.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "vgpu/checks/block_clocks.hpp"
#include "vgpu/checks/footprint.hpp"
#include "vgpu/checks/words.hpp"

namespace scanlab::vgpu {

class AccessShadow {
 public:
  /// For a block with so many warps and so large a window. Everything is forgotten.
  void begin_block(unsigned warps, std::uint64_t window_bytes);
  /// Everything is forgotten.
  void begin_interval();

  /// The piece will be asked for: what is kept of a block is larger than the nearest cache.
  void expect(const WordPiece& piece) const {
    const Cell& cell = cells_[piece.word / word_bytes];
    if (cell.interval == interval_ && cell.first != none) __builtin_prefetch(&nodes_[cell.first]);
  }
  /// Visits earlier accesses that race with that of `what.lanes` of a piece: conflict(earlier, racing, lane, address,
  /// bytes), where lanes `racing` of the warp `earlier.warp` race with `lane`; false from it means that this one does
  /// not count.
  template <class Conflict>
  void check(const WordPiece& piece, Footprint what, const BlockClocks& clocks, Conflict conflict) const;
  /// Has `thread` written that byte by the same line and in the same way, and its warp not synchronised since?
  bool has_written(std::uint64_t address, std::uint32_t line, How how, unsigned thread,
                   const BlockClocks& clocks) const;
  /// Visits the accesses of `thread` to the word that are plain reads: visit(what).
  template <class Visit>
  void for_each_read(std::uint64_t word, unsigned thread, Visit visit) const;
  /// Keeps the access. With `clocks`, forgets what it supersedes.
  void keep(const WordPiece& piece, Footprint what, const BlockClocks* clocks);

 private:
  static constexpr std::uint32_t none = ~0u;
  struct Cell {
    std::uint32_t interval = 0;
    std::uint32_t first = none;
  };
  /// Accesses by one line: of one warp in `what`, or of several in a table.
  struct Node {
    Footprint what;
    std::uint8_t bytes = 0;  ///< of the word, a bit each
    std::uint32_t next = none;
    std::uint32_t table = none;
  };
  /// One warp of a table.
  struct OfWarp {
    Mask lanes = 0;
    BlockClocks::Stamp stamp = 0;
  };

  template <class Visit>
  bool for_each_warp(const Node& node, Visit visit) const {
    if (node.table == none) return visit(node.what.warp, node.what.lanes, node.what.stamp);
    for (unsigned w = 0; w < warps_; ++w)
      if (const OfWarp& of = tables_[node.table + w]; of.lanes && visit(w, of.lanes, of.stamp)) return true;
    return false;
  }
  bool absorb(Node& node, Footprint what, Mask lanes, const BlockClocks* clocks);

  unsigned warps_ = 0;
  std::uint32_t interval_ = 0;
  std::vector<Cell> cells_;
  std::vector<Node> nodes_;
  std::vector<OfWarp> tables_;
};

template <class Visit>
void AccessShadow::for_each_read(std::uint64_t word, unsigned thread, Visit visit) const {
  const Cell& cell = cells_[word / word_bytes];
  if (cell.interval != interval_) return;
  for (std::uint32_t k = cell.first; k != none; k = nodes_[k].next)
    if (nodes_[k].what.how.is_plain_read())
      for_each_warp(nodes_[k], [&](unsigned warp, Mask lanes, BlockClocks::Stamp) {
        if (warp == thread / warp_size && (lanes >> thread % warp_size & 1)) visit(nodes_[k].what);
        return false;
      });
}

template <class Conflict>
void AccessShadow::check(const WordPiece& piece, Footprint what, const BlockClocks& clocks, Conflict conflict) const {
  const Cell& cell = cells_[piece.word / word_bytes];
  if (cell.interval != interval_) return;
  for (std::uint32_t k = cell.first; k != none; k = nodes_[k].next) {
    const Node& node = nodes_[k];
    const auto common = static_cast<std::uint32_t>(node.bytes & piece.bytes);
    if (!common || !can_race(node.what.how, what.how)) continue;
    const std::uint64_t address = piece.word + static_cast<unsigned>(std::countr_zero(common));
    for_each_warp(node, [&](unsigned warp, Mask lanes, BlockClocks::Stamp stamp) {
      if (clocks.is_known_to_all(what.warp, warp, lanes, stamp)) return false;
      for (const unsigned lane : lanes_in(piece.lanes)) {
        const Mask racing = clocks.unordered(warp, lanes, stamp, what.warp * warp_size + lane);
        if (racing && conflict(node.what.of_warp(warp, lanes), racing, lane, address, common)) return true;
      }
      return false;
    });
  }
}

}  // namespace scanlab::vgpu
