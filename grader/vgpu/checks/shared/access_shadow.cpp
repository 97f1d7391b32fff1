#include "vgpu/checks/shared/access_shadow.hpp"

namespace scanlab::vgpu {

void AccessShadow::begin_block(unsigned warps, std::uint64_t window_bytes) {
  warps_ = warps;
  const std::size_t words = (window_bytes + word_bytes - 1) / word_bytes;
  if (cells_.size() < words) cells_.resize(words);
  begin_interval();
}

void AccessShadow::begin_interval() {
  nodes_.clear();
  tables_.clear();
  if (++interval_ != 0) return;
  cells_.assign(cells_.size(), {});
  interval_ = 1;
}

/// Adds the access to a node of the same line, kind and bytes. False when it has to have a node of its own.
bool AccessShadow::absorb(Node& node, Footprint what, Mask lanes, const BlockClocks* clocks) {
  const auto thread = what.warp * warp_size + first_lane(lanes);
  const auto add = [&](Mask& kept, BlockClocks::Stamp& stamp) {
    if (kept && stamp != what.stamp) {
      // Of the lanes that were there none may be lost that another thread can still race with.
      if (!clocks) return false;
      for (const unsigned lane : lanes_in(lanes))
        if (clocks->unordered(what.warp, kept & ~lanes, stamp, what.warp * warp_size + lane)) return false;
      kept = 0;
    }
    kept |= lanes;
    stamp = what.stamp;
    return true;
  };
  if (node.table == none && node.what.warp == what.warp) return add(node.what.lanes, node.what.stamp);
  if (node.table == none) {
    if (clocks && clocks->unordered(node.what.warp, node.what.lanes, node.what.stamp, thread) == 0 &&
        (lanes & (lanes - 1)) == 0) {
      node.what = what;
      node.what.lanes = lanes;
      return true;
    }
    node.table = static_cast<std::uint32_t>(tables_.size());
    tables_.resize(tables_.size() + warps_);
    tables_[node.table + node.what.warp] = {node.what.lanes, node.what.stamp};
  }
  OfWarp& of = tables_[node.table + what.warp];
  return add(of.lanes, of.stamp);
}

bool AccessShadow::has_written(std::uint64_t address, std::uint32_t line, How how, unsigned thread,
                               const BlockClocks& clocks) const {
  const Cell& cell = cells_[address / word_bytes];
  if (cell.interval != interval_) return false;
  const unsigned warp = thread / warp_size;
  const auto is_by_thread = [&](unsigned of, Mask lanes, BlockClocks::Stamp stamp) {
    return of == warp && (lanes >> thread % warp_size & 1) && stamp == clocks.now(warp);
  };
  for (std::uint32_t k = cell.first; k != none; k = nodes_[k].next) {
    const Node& node = nodes_[k];
    if (node.what.line == line && node.what.how == how && (node.bytes >> address % word_bytes & 1) &&
        for_each_warp(node, is_by_thread))
      return true;
  }
  return false;
}

void AccessShadow::keep(const WordPiece& piece, Footprint what, const BlockClocks* clocks) {
  Cell& cell = cells_[piece.word / word_bytes];
  if (cell.interval != interval_) cell = {interval_, none};
  for (std::uint32_t k = cell.first; k != none; k = nodes_[k].next) {
    Node& node = nodes_[k];
    if (node.what.line == what.line && node.what.how == what.how && node.bytes == piece.bytes &&
        node.what.bytes == what.bytes && absorb(node, what, piece.lanes, clocks))
      return;
  }
  Node& made = nodes_.emplace_back();
  made.what = what;
  made.what.lanes = piece.lanes;
  made.bytes = piece.bytes;
  made.next = cell.first;
  cell.first = static_cast<std::uint32_t>(nodes_.size() - 1);
}

}  // namespace scanlab::vgpu
