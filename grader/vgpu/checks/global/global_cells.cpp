// The part of the shadow of global memory that looks at words one by one.
#include <algorithm>
#include <bit>

#include "vgpu/checks/global/global_shadow.hpp"
#include "vgpu/core/memory/stored.hpp"

namespace scanlab::vgpu {
namespace {

/// Accesses to a word by the same line and of the same kind that are kept.
constexpr unsigned most_alike_reads = 3, most_alike_writes = 5;

template <class Visit>
void for_each_lane_of(Mask lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

bool acquires(const Access& a) {
  return (a.order == Access::Order::acquire || a.order == Access::Order::acq_rel) && a.scope != Access::Scope::block;
}

}  // namespace

void GlobalShadow::one_by_one(const Access& a, Mask lanes, const PastAccess& past, BlockView& block) {
  pieces_.clear();
  std::size_t begin = 0;
  std::uint64_t last = ~std::uint64_t{0};
  for (Mask m = lanes; m; m &= m - 1) {
    const std::uint64_t address = a.at(static_cast<unsigned>(std::countr_zero(m)));
    if (address == last) {
      for (std::size_t k = begin; k < pieces_.size(); ++k) pieces_[k].lanes |= m & -m;
      continue;
    }
    last = address;
    begin = pieces_.size();
    // Accesses are aligned: one below four bytes lies in a word, others are whole words.
    const auto bytes = a.bytes < word_bytes ? ((1u << a.bytes) - 1) << address % word_bytes : 0xFu;
    for (std::uint64_t word = address / word_bytes * word_bytes; word < address + a.bytes; word += word_bytes)
      pieces_.push_back({word, static_cast<std::uint8_t>(bytes), m & -m});
  }
  // All lanes at once: none is before another.
  for (const Piece& piece : pieces_) compare(a, piece, past, block);
  if (past.how.reads())
    for (const Piece& piece : pieces_) see_last_write(piece, past, block);
  if (acquires(a)) block.settle(past.warp, lanes);
  const bool is_by_one = (lanes & (lanes - 1)) == 0 && a.mask == lanes;
  const bool after_block_fence = past.how.writes() && block.has_block_fence(past.warp, lanes);
  for (const Piece& piece : pieces_) {
    GridClock visible;
    if (past.how.writes())
      for_each_lane_of(piece.lanes, [&](unsigned lane) {
        const GridClock& of = block.knowledge_of(past.warp * warp_size + lane).known;
        if (!visible.is_same(of)) visible.add(of);
      });
    keep(piece, past, visible, is_by_one, after_block_fence);
  }
}

/// Lanes of one store to the same place: one of their values remains, it is left open which.
void GlobalShadow::compare_lanes(const Access& a, const PastAccess& past) {
  std::array<std::pair<std::uint64_t, unsigned>, warp_size> places;
  unsigned count = 0;
  for_each_lane_of(a.mask, [&](unsigned lane) { places[count++] = {a.at(lane), lane}; });
  std::sort(places.begin(), places.begin() + count);
  for (unsigned k = 1; k < count; ++k) {
    if (places[k].first != places[k - 1].first || !stores_differ(a, places[k - 1].second, places[k].second)) continue;
    GlobalConflict c;
    c.cause = GlobalConflict::Cause::lanes_of_one;
    c.earlier = {past.line, past.block, past.warp * warp_size + places[k - 1].second, past.how};
    c.later = {past.line, past.block, past.warp * warp_size + places[k].second, past.how};
    c.address = places[k].first;
    c.bytes = a.bytes;
    c.at = a.block;
    return sink_.conflict(c);
  }
}

void GlobalShadow::compare(const Access& a, const Piece& piece, const PastAccess& past, const BlockView& block) {
  const Cell& cell = cell_at(piece.word);
  for (std::uint32_t n = cell.first; n != none; n = nodes_[n].next) {
    const Node& node = nodes_[n];
    if (!(node.bytes & piece.bytes)) continue;
    if (past.how.kind == How::Kind::atomic && node.past.how.kind == How::Kind::read && !node.past.how.is_strong &&
        node.past.block == past.block && node.past.warp == past.warp && (node.past.lanes & piece.lanes))
      sink_.looked_ahead(node.past.line);
    if (!can_race(node.past, past)) continue;
    for (Mask m = piece.lanes; m; m &= m - 1)
      if (compare_with(cell, node, a, piece, static_cast<unsigned>(std::countr_zero(m)), past, block)) break;
  }
}

/// True when it has been found.
bool GlobalShadow::compare_with(const Cell& cell, const Node& node, const Access& a, const Piece& piece, unsigned lane,
                                const PastAccess& past, const BlockView& block) {
  using Cause = GlobalConflict::Cause;
  const unsigned thread = past.warp * warp_size + lane;
  const PastAccess& then = node.past;
  Mask racing = block.unordered(then.block, then.warp, then.lanes, then.when, thread);
  GlobalConflict c;
  if (racing) {
    const auto first = static_cast<unsigned>(std::countr_zero(racing));
    if (comes_after_in_word(cell, node, piece, thread, past, block)) return false;
    if (is_harmless(cell, node, then.warp * warp_size + first, a, piece, lane, past)) return false;
    const OfBlock* const known = then.block == past.block ? nullptr : block.knowledge_of(thread).known.of(then.block);
    if (known && known->lacks_fence(then.warp, racing, then.when, then.order)) {
      // What has been read before a flag is set cannot change any more: single-pass algorithms work in place that way.
      if (!then.how.writes()) return false;
      c.cause = Cause::no_fence;
      c.flag = known->flag;
    } else if (known && known->flag.when && known->flag.set_by == then.warp * warp_size + first) {
      c.flag = known->flag;
    }
  } else {
    if (then.block == past.block || past.how.writes() || past.how.is_strong || then.how.is_strong) return false;
    racing = block.knowledge_of(thread).settled.unknown(then.block, then.warp, then.lanes, then.when);
    if (!racing) return false;
    c.cause = Cause::reader_fence;
  }
  const auto common = static_cast<unsigned>(node.bytes & piece.bytes);
  c.earlier = {then.line, then.block, then.warp * warp_size + static_cast<unsigned>(std::countr_zero(racing)),
               then.how};
  c.later = {past.line, past.block, thread, past.how};
  c.address = piece.word + static_cast<unsigned>(std::countr_zero(common));
  c.bytes = std::min(then.bytes, past.bytes);
  c.at = a.block;
  sink_.conflict(c);
  return true;
}

/// As on shared memory (block_races.cpp): threads that write the same value do not harm each other, nor what they read
/// back.
bool GlobalShadow::is_harmless(const Cell& cell, const Node& node, unsigned thread, const Access& a, const Piece& piece,
                               unsigned lane, const PastAccess& past) const {
  const auto common = static_cast<std::uint8_t>(node.bytes & piece.bytes);
  if (!past.how.writes())
    return has_touched(cell, common, node.past.how.kind, node.past.line, past.block, past.warp * warp_size + lane);
  if (past.how.kind != How::Kind::write || past.how.is_strong) return false;
  if (!node.past.how.writes() && !has_touched(cell, common, past.how.kind, past.line, node.past.block, thread))
    return false;
  const std::uint64_t from = piece.word + static_cast<unsigned>(std::countr_zero(common)) - a.at(lane);
  const auto count = static_cast<unsigned>(std::bit_width(common)) - static_cast<unsigned>(std::countr_zero(common));
  return !changes_memory(a, lane, from, count);
}

/// A plain access after a strong one of its own thread (or one that is known to it), which came after the other in the
/// order of this word: the last block to count resets the counter.
bool GlobalShadow::comes_after_in_word(const Cell& cell, const Node& node, const Piece& piece, unsigned thread,
                                       const PastAccess& past, const BlockView& block) const {
  if (past.how.is_strong || !node.past.how.is_strong || !node.past.how.writes()) return false;
  for (std::uint32_t n = cell.first; n != none; n = nodes_[n].next) {
    const Node& between = nodes_[n];
    const PastAccess& d = between.past;
    if (d.how.is_strong && d.how.reads() && d.order > node.past.order && (between.bytes & piece.bytes) == piece.bytes &&
        block.unordered(d.block, d.warp, d.lanes, d.when, thread) == 0)
      return true;
  }
  return false;
}

/// Has that thread done so to the word, by the line?
bool GlobalShadow::has_touched(const Cell& cell, std::uint8_t bytes, How::Kind kind, std::uint32_t line,
                               std::uint32_t block, unsigned thread) const {
  for (std::uint32_t n = cell.first; n != none; n = nodes_[n].next) {
    const Node& node = nodes_[n];
    if (node.past.line == line && node.past.how.kind == kind && (node.bytes & bytes) == bytes &&
        node.past.block == block && node.past.warp == thread / warp_size && (node.past.lanes >> thread % warp_size & 1))
      return true;
  }
  return false;
}

/// The lanes read the word: what its last write makes visible they know from here on.
void GlobalShadow::see_last_write(const Piece& piece, const PastAccess& past, BlockView& block) {
  const Cell& cell = cell_at(piece.word);
  if (cell.last_write == none) return;
  const Node& node = nodes_[cell.last_write];
  const PastAccess& then = node.past;
  if (!(node.bytes & piece.bytes)) return;
  const bool is_own = then.block == past.block;
  if (is_own && node.visible.is_empty()) return;
  for_each_lane_of(piece.lanes, [&](unsigned lane) {
    const unsigned thread = past.warp * warp_size + lane;
    if (!block.unordered(then.block, then.warp, then.lanes, then.when, thread)) return;
    if (block.has_seen(thread, then.order)) return;
    const bool is_in_scope = is_own || !(then.how.is_for_block || past.how.is_for_block);
    if (is_in_scope) block.acquire(thread, node.visible);
    if (is_own || !(node.is_by_one || (then.how.is_strong && then.how.kind == How::Kind::write))) return;
    // Of plain accesses only one that is read again and again is a flag.
    if (!then.how.is_strong && !past.how.is_strong &&
        !has_touched(cell, piece.bytes, How::Kind::read, past.line, past.block, thread))
      return;
    SeenFlag flag;
    flag.when = then.when;
    flag.order = then.order;
    flag.set_by = then.warp * warp_size + static_cast<unsigned>(std::countr_zero(then.lanes));
    flag.set_line = then.line;
    flag.seen_line = past.line;
    flag.seen_by = thread;
    flag.seen_in = past.block;
    flag.has_block_fence = node.after_block_fence || !is_in_scope;
    block.see(thread, then.block, flag);
  });
}

void GlobalShadow::keep(const Piece& piece, const PastAccess& past, const GridClock& visible, bool is_by_one,
                        bool after_block_fence) {
  Cell& cell = cell_at(piece.word);
  std::uint32_t to = none, oldest = none;
  unsigned alike = 0;
  for (std::uint32_t n = cell.first; n != none; n = nodes_[n].next) {
    const Node& node = nodes_[n];
    const PastAccess& then = node.past;
    if (then.line != past.line || !(then.how == past.how) || node.bytes != piece.bytes || then.bytes != past.bytes)
      continue;
    // Whatever races with what its own thread did before races with this too.
    if (then.block == past.block && then.warp == past.warp &&
        ((then.when == past.when && !past.how.writes()) || (then.lanes & ~piece.lanes) == 0)) {
      to = n;
      break;
    }
    ++alike;
    if (n != cell.last_write && (oldest == none || then.order < nodes_[oldest].past.order)) oldest = n;
  }
  const Mask lanes = to == none ? 0 : nodes_[to].past.when == past.when ? nodes_[to].past.lanes : 0;
  if (to == none && alike >= (past.how.writes() ? most_alike_writes : most_alike_reads)) to = oldest;
  if (to == none) {
    to = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back().next = cell.first;
    cell.first = to;
  }
  Node& node = nodes_[to];
  node.past = past;
  node.past.lanes = piece.lanes | lanes;
  node.bytes = piece.bytes;
  node.is_by_one = is_by_one;
  node.after_block_fence = after_block_fence;
  node.visible = visible;
  if (past.how.writes()) cell.last_write = to;
}

}  // namespace scanlab::vgpu
