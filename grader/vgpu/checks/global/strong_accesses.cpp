// The part of the shadow of global memory that compares strong accesses with each other. They do not race, but where no
// fences order them, a read may return an older value than the one that a flag has announced, and a write may come in
// front of it.
#include <algorithm>
#include <bit>

#include "vgpu/checks/global/global_shadow.hpp"
#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {
namespace {

/// Would it matter that the lane's access comes in front of an earlier write? Counters come out the same whichever
/// comes first, and what an atomic compares it looks at again.
bool may_come_too_early(const Access& a, const WordPiece& piece, unsigned lane, GlobalHow how) {
  if (how.kind == How::Kind::read) return true;
  if (how.kind == How::Kind::idle) return only_loads(a, lane, piece.word);
  return how.kind == How::Kind::write && changes_memory(a, lane, 0, a.bytes);
}

}  // namespace

/// After `node`, in the order of this word, the thread has read or written it, or has been shown that another one has:
/// then it cannot go back before that.
bool GlobalShadow::has_seen_later(const Cell& cell, const Node& node, const WordPiece& piece, unsigned thread,
                                  const PastAccess& past, const BlockView& block, Needs needs) const {
  for (std::uint32_t n = cell.first; n != none; n = nodes_[n].next) {
    const PastAccess& between = nodes_[n].past;
    if (!between.how.is_strong || between.order <= node.past.order || (nodes_[n].bytes & piece.bytes) != piece.bytes)
      continue;
    const bool is_own =
        between.block == past.block && between.warp == past.warp && (between.lanes >> thread % warp_size & 1) != 0;
    if (is_own) return true;
    if (block.unordered(between.block, between.warp, between.lanes, between.when, thread) != 0) continue;
    const GridClock& settled = block.knowledge_of(thread).settled;
    if (needs == Needs::writer_fence || between.block == past.block ||
        settled.unknown(between.block, between.warp, between.lanes, between.when) == 0)
      return true;
  }
  return false;
}

void GlobalShadow::compare_strong(const Cell& cell, const Node& node, const Access& a, const WordPiece& piece,
                                  const PastAccess& past, const BlockView& block) {
  const PastAccess& then = node.past;
  const auto expect = [&](std::uint32_t line) {
    if (expecting_.size() <= line) expecting_.resize(line + 1);
    expecting_[line] = true;
  };
  if (then.how.writes() == past.how.writes() ? !then.how.writes() || past.how.kind != How::Kind::write
                                             : expects_old_values(then.how.writes() ? past.line : then.line))
    return;
  for (const unsigned lane : lanes_in(piece.lanes)) {
    const unsigned thread = past.warp * warp_size + lane;
    Mask open = block.unordered(then.block, then.warp, then.lanes, then.when, thread);
    const bool has_writer_fence = open == 0;
    if (has_writer_fence) {
      if (then.block == past.block) continue;
      open = block.knowledge_of(thread).settled.unknown(then.block, then.warp, then.lanes, then.when);
      if (!open) continue;
    }
    const BlockView::Knowledge& knows = block.knowledge_of(thread);
    const OfBlock* const followed = knows.followed.of(then.block);
    if (!followed || followed->unknown(then.warp, open, then.order) != 0) {
      if (!then.how.writes()) return expect(then.line);
      if (!past.how.writes()) return expect(past.line);
      continue;
    }
    // What the thread has seen is this very write: it cannot go back before that (its own read of it may be forgotten).
    if (followed->flag.order == then.order) continue;
    if (!then.how.writes() || !may_come_too_early(a, piece, lane, past.how) ||
        has_seen_later(cell, node, piece, thread, past, block, Needs::both_fences))
      continue;
    const bool is_for_reader =
        has_writer_fence || has_seen_later(cell, node, piece, thread, past, block, Needs::writer_fence);
    GlobalConflict c;
    c.cause = is_for_reader ? GlobalConflict::Cause::reader_fence : GlobalConflict::Cause::no_fence;
    c.earlier = {then.line, then.block, then.warp * warp_size + first_lane(open), then.how};
    c.later = {past.line, past.block, thread, past.how};
    c.address = piece.word + static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(node.bytes & piece.bytes)));
    c.bytes = std::min(then.bytes, past.bytes);
    c.flag = followed->flag;
    c.has_waited = knows.waited.unknown(then.block, then.warp, open, then.order) == 0;
    c.has_reader_fence = knows.fenced.unknown(then.block, then.warp, open, then.order) == 0;
    c.memory = a.block ? a.block->grid->memory : nullptr;
    return sink_.conflict(c);
  }
}

}  // namespace scanlab::vgpu
