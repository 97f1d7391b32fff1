// The part of the shadow of global memory that looks at words one by one.
#include <algorithm>
#include <bit>

#include "vgpu/checks/global/global_shadow.hpp"
#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {
namespace {

/// Accesses to a word by the same line and of the same kind that are kept.
constexpr unsigned most_alike_reads = 3, most_alike_writes = 5;

bool acquires(const Access& a) {
  return (a.order == Access::Order::acquire || a.order == Access::Order::acq_rel) && a.scope != Access::Scope::block;
}

}  // namespace

void GlobalShadow::one_by_one(const Access& a, Mask lanes, const PastAccess& past, BlockView& block) {
  cut(
      lanes, a.bytes, [&](unsigned lane) { return a.at(lane); }, pieces_);
  // All lanes at once: none is before another.
  for (const WordPiece& piece : pieces_) compare(a, piece, past, block);
  if (past.how.reads())
    for (const WordPiece& piece : pieces_) see_last_write(a, piece, past, block);
  if (acquires(a)) block.settle(past.warp, lanes);
  const bool is_by_one = (lanes & (lanes - 1)) == 0 && a.mask == lanes;
  const bool after_block_fence = past.how.writes() && block.has_block_fence(past.warp, lanes);
  const bool is_count = past.how.kind == How::Kind::atomic && counts(a);
  for (const WordPiece& piece : pieces_) {
    BlockView::Message message;
    if (past.how.writes()) message = block.message_of(past.warp, piece.lanes);
    message.after_block_fence = after_block_fence;
    keep(piece, past, message, is_by_one, is_count);
  }
}

void GlobalShadow::keep_complete(const Access& a, GlobalHow how, BlockView& block) {
  const PastAccess past = noted(a, how, block);
  cut(
      a.mask, a.bytes, [&](unsigned lane) { return a.at(lane); }, pieces_);
  for (const WordPiece& piece : pieces_) keep(piece, past, {}, false, false);
}

/// Lanes of one store to the same place: one of their values remains, it is left open which.
void GlobalShadow::compare_lanes(const Access& a, const PastAccess& past) {
  std::array<std::pair<std::uint64_t, unsigned>, warp_size> places;
  unsigned count = 0;
  for_each_lane(a.mask, [&](unsigned lane) { places[count++] = {a.at(lane), lane}; });
  std::sort(places.begin(), places.begin() + count);
  for (unsigned k = 1; k < count; ++k) {
    if (places[k].first != places[k - 1].first || !stores_differ(a, places[k - 1].second, places[k].second)) continue;
    GlobalConflict c;
    c.cause = GlobalConflict::Cause::lanes_of_one;
    c.earlier = {past.line, past.block, past.warp * warp_size + places[k - 1].second, past.how};
    c.later = {past.line, past.block, past.warp * warp_size + places[k].second, past.how};
    c.address = places[k].first;
    c.bytes = a.bytes;
    c.memory = a.block ? a.block->grid->memory : nullptr;
    return sink_.conflict(c);
  }
}

/// Of the lanes that apply an atomic to the word: those for which it is a compare-and-swap that expects what they have
/// read there.
Mask GlobalShadow::guesses(const Access& a, const WordPiece& piece, const PastAccess& past) const {
  Mask guesses = 0;
  const std::uint32_t now = word_now(a, piece.word);
  for_each_lane(piece.lanes, [&](unsigned lane) {
    const std::optional<LaneValue> expected = value_expected(a, lane);
    if (!expected) return;
    const std::uint32_t read = open_.value_read(past.block, past.warp * warp_size + lane, piece.word, now);
    if (expects(*expected, a.at(lane), a.bytes, piece.word, read)) guesses |= Mask{1} << lane;
  });
  return guesses;
}

void GlobalShadow::compare(const Access& a, const WordPiece& piece, const PastAccess& past, const BlockView& block) {
  Mask guessed = 0;
  if (past.how.is_atomic()) {
    guessed = guesses(a, piece, past);
    open_.decide(past.block, past.warp, piece.lanes, guessed, piece.word);
  }
  const Cell& cell = cell_at(piece.word);
  for (std::uint32_t n = cell.first; n != none; n = nodes_[n].next) {
    Node& node = nodes_[n];
    if (!(node.bytes & piece.bytes)) continue;
    if (past.how.is_atomic() && node.past.how.is_plain_read() && node.past.block == past.block &&
        node.past.warp == past.warp) {
      const Mask decided_now = node.past.lanes & piece.lanes & ~(node.guessed | node.looked);
      node.guessed |= decided_now & guessed;
      node.looked |= decided_now & ~guessed;
      if (decided_now & guessed) sink_.guessed(node.past.line);
    }
    if (!can_race(node.past, past)) {
      if (past.how.is_strong && node.past.how.is_strong) compare_strong(cell, node, a, piece, past, block);
      continue;
    }
    // What a plain read was for is seen later, for each lane.
    const bool reads_then_changes = node.past.how.is_plain_read() && past.how.is_atomic(),
               changes_then_reads = past.how.is_plain_read() && node.past.how.is_atomic();
    PlainRead read;
    std::optional<GlobalConflict> first;
    for (const unsigned lane : lanes_in(piece.lanes)) {
      std::optional<Meeting> met = compare_with(cell, node, a, piece, lane, past, block);
      if (!met) continue;
      if (!reads_then_changes && !changes_then_reads) {
        sink_.conflict(met->conflict);
        break;
      }
      if (!first) first = met->conflict;
      read.lanes |= reads_then_changes ? met->earlier : Mask{1} << lane;
    }
    if (!first) continue;
    if (const Mask looked = reads_then_changes ? read.lanes & node.looked : 0) {
      first->use = ReadUse::look;
      open_.report(*first, node.past.warp * warp_size + first_lane(looked));
      if (!(read.lanes &= ~looked)) continue;
    }
    const PastAccess& of = reads_then_changes ? node.past : past;
    read.block = of.block;
    read.warp = of.warp;
    read.order = of.order;
    read.word = piece.word;
    read.value = word_now(a, piece.word);
    open_.add(read, *first);
  }
}

/// What races, of one lane and an earlier access.
std::optional<GlobalShadow::Meeting> GlobalShadow::compare_with(const Cell& cell, const Node& node, const Access& a,
                                                                const WordPiece& piece, unsigned lane,
                                                                const PastAccess& past, const BlockView& block) const {
  using Cause = GlobalConflict::Cause;
  const unsigned thread = past.warp * warp_size + lane;
  const PastAccess& then = node.past;
  Mask racing = block.unordered(then.block, then.warp, then.lanes & ~node.guessed, then.when, thread);
  GlobalConflict c;
  if (racing) {
    const auto first = first_lane(racing);
    if (comes_after_in_word(cell, node, piece, thread, past, block)) return {};
    if (is_harmless(cell, node, then.warp * warp_size + first, a, piece, lane, past)) return {};
    const OfBlock* const followed = block.knowledge_of(thread).followed.of(then.block);
    // Of two strong accesses it is the scope that is too small; to a flag itself a plain access is a race.
    const bool is_about_flag =
        then.how.is_strong && (past.how.is_strong || cell.is_flag || (followed && followed->flag.order == then.order));
    if (followed && !is_about_flag && followed->unknown(then.warp, racing, then.order) == 0) {
      // What has been read before a flag is set cannot change any more: single-pass algorithms work in place that way.
      if (!then.how.writes() && then.block != past.block) return {};
      c.cause = Cause::no_fence;
      c.flag = followed->flag;
      c.has_reader_fence = block.knowledge_of(thread).fenced.unknown(then.block, then.warp, racing, then.order) == 0;
    } else if (followed && followed->flag.order && followed->flag.set_by == then.warp * warp_size + first) {
      c.flag = followed->flag;
    }
    if (const FlagTrail::Seen* const seen = then.block == past.block && c.cause != Cause::no_fence
                                                ? block.flag_seen(thread, then.warp * warp_size + first)
                                                : nullptr) {
      // A flag in shared memory.
      if (stamp_of(then.when) <= seen->until) c.cause = Cause::no_fence;
      c.flag = {.order = 1,
                .set_by = then.warp * warp_size + first,
                .set_line = seen->set_line,
                .seen_line = seen->seen_line,
                .seen_by = thread,
                .seen_in = past.block,
                .is_lock = seen->is_lock};
    }
  } else {
    if (then.block == past.block || past.how.is_strong || then.how.is_strong) return {};
    racing = block.knowledge_of(thread).settled.unknown(then.block, then.warp, then.lanes, then.when);
    if (!racing) return {};
    c.cause = Cause::reader_fence;
  }
  const auto common = static_cast<unsigned>(node.bytes & piece.bytes);
  c.has_several_writers = then.how.writes() && !std::has_single_bit(then.lanes);
  c.earlier = {then.line, then.block, then.warp * warp_size + first_lane(racing), then.how};
  c.later = {past.line, past.block, thread, past.how};
  c.address = piece.word + static_cast<unsigned>(std::countr_zero(common));
  c.bytes = std::min(then.bytes, past.bytes);
  c.memory = a.block ? a.block->grid->memory : nullptr;
  return Meeting{c, racing};
}

/// As on shared memory (block_races.cpp): threads that write the same value do not harm each other, nor what they read
/// back.
bool GlobalShadow::is_harmless(const Cell& cell, const Node& node, unsigned thread, const Access& a,
                               const WordPiece& piece, unsigned lane, const PastAccess& past) const {
  const auto common = static_cast<std::uint8_t>(node.bytes & piece.bytes);
  if (!past.how.writes())
    return has_touched(cell, piece.word, common, node.past.how.kind, node.past.line, past.block,
                       past.warp * warp_size + lane);
  if (past.how.kind != How::Kind::write || past.how.is_strong) return false;
  if (!node.past.how.writes() &&
      !has_touched(cell, piece.word, common, past.how.kind, past.line, node.past.block, thread))
    return false;
  const std::uint64_t from = piece.word + static_cast<unsigned>(std::countr_zero(common)) - a.at(lane);
  const auto count = static_cast<unsigned>(std::bit_width(common)) - static_cast<unsigned>(std::countr_zero(common));
  return !changes_memory(a, lane, from, count);
}

/// A plain access after a strong one of its own thread (or one that is known to it), which came after the other in the
/// order of this word: the last block to count resets the counter.
bool GlobalShadow::comes_after_in_word(const Cell& cell, const Node& node, const WordPiece& piece, unsigned thread,
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
bool GlobalShadow::has_touched(const Cell& cell, std::uint64_t word, std::uint8_t bytes, How::Kind kind,
                               std::uint32_t line, std::uint32_t block, unsigned thread) const {
  for (std::uint32_t n = cell.first; n != none; n = nodes_[n].next) {
    const Node& node = nodes_[n];
    if (node.past.line == line && node.past.how.kind == kind && (node.bytes & bytes) == bytes &&
        node.past.block == block && node.past.warp == thread / warp_size && (node.past.lanes >> thread % warp_size & 1))
      return true;
  }
  if (kind != How::Kind::write || writers_.empty()) return false;
  const auto left = writers_.find({word, line, block});
  return left != writers_.end() && (left->second.bytes & bytes) == bytes &&
         (left->second.lanes[thread / warp_size] >> thread % warp_size & 1);
}

bool GlobalShadow::has_changed(std::uint64_t address, const GlobalConflict::Side& by) {
  bool has_read = false, has_written = false;
  for (std::uint32_t n = cell_at(address / word_bytes * word_bytes).first; n != none; n = nodes_[n].next) {
    const Node& node = nodes_[n];
    if (node.past.block != by.block || node.past.warp != by.thread / warp_size ||
        !(node.past.lanes >> by.thread % warp_size & 1) || !(node.bytes >> address % word_bytes & 1))
      continue;
    has_read |= node.past.how.is_plain_read();
    has_written |= node.past.how.kind == How::Kind::write;
  }
  return has_read && has_written;
}

/// The lanes read the word: what its last write makes visible they know from here on.
void GlobalShadow::see_last_write(const Access& a, const WordPiece& piece, const PastAccess& past, BlockView& block) {
  Cell& cell = cell_at(piece.word);
  if (cell.last_write == none) return;
  const Node& node = nodes_[cell.last_write];
  const PastAccess& then = node.past;
  if (!(node.bytes & piece.bytes)) return;
  const bool is_own = then.block == past.block;
  const bool is_flag = node.is_by_one || (then.how.is_strong && then.how.kind == How::Kind::write);
  if (is_own && node.message.visible.is_empty() && !is_flag) return;
  for_each_lane(piece.lanes, [&](unsigned lane) {
    const unsigned thread = past.warp * warp_size + lane;
    if (!block.unordered(then.block, then.warp, then.lanes, then.when, thread)) return;
    if (block.has_seen(thread, then.order)) return;
    const bool is_in_scope = is_own || !(then.how.is_for_block || past.how.is_for_block);
    if (is_in_scope) block.acquire(thread, node.message.visible);
    if (!is_flag) return;
    cell.is_flag |= then.how.is_strong &&
                    (past.how.is_strong ||
                     has_touched(cell, piece.word, piece.bytes, How::Kind::read, past.line, past.block, thread));
    // Of plain accesses only one that is read again and again is a flag.
    if (!then.how.is_strong && !past.how.is_strong &&
        !has_touched(cell, piece.word, piece.bytes, How::Kind::read, past.line, past.block, thread))
      return;
    SeenFlag flag;
    flag.order = then.order;
    flag.set_by = then.warp * warp_size + first_lane(then.lanes);
    flag.set_line = then.line;
    flag.seen_line = past.line;
    flag.seen_by = thread;
    flag.seen_in = past.block;
    flag.has_block_fence = node.message.after_block_fence;
    flag.has_block_scope = !is_in_scope;
    flag.is_count = node.is_count && past.how.kind == How::Kind::atomic && counts(a);
    flag.is_lock = past.how.kind == How::Kind::atomic && !flag.is_count;
    block.follow(thread, then.block, then.warp, then.lanes, node.message, flag);
  });
}

void GlobalShadow::keep(const WordPiece& piece, const PastAccess& past, const BlockView::Message& message,
                        bool is_by_one, bool is_count) {
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
        ((then.when == past.when && (!past.how.writes() || then.order == past.order)) ||
         (then.lanes & ~piece.lanes) == 0)) {
      to = n;
      break;
    }
    ++alike;
    if (n != cell.last_write && (oldest == none || then.order < nodes_[oldest].past.order)) oldest = n;
  }
  const bool is_added = to != none && nodes_[to].past.when == past.when;
  const Mask lanes = is_added ? nodes_[to].past.lanes : 0, guessed = is_added ? nodes_[to].guessed : 0,
             looked = is_added ? nodes_[to].looked : 0;
  if (to == none && alike >= (past.how.writes() ? most_alike_writes : most_alike_reads)) to = oldest;
  if (to != none && to == oldest && past.how.kind == How::Kind::write && !past.how.is_strong) {
    const Node& left = nodes_[to];
    WritersOf& writers = writers_[{piece.word, left.past.line, left.past.block}];
    writers.lanes[left.past.warp] |= left.past.lanes;
    writers.bytes |= left.bytes;
  }
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
  node.guessed = guessed & ~piece.lanes;
  node.looked = looked & ~piece.lanes;
  node.is_count = is_count;
  node.message = message;
  if (past.how.writes()) cell.last_write = to;
}

}  // namespace scanlab::vgpu
