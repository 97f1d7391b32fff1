#include "vgpu/checks/global/global_shadow.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>

#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {
namespace {

/// Rows whose lanes lie further apart are looked at one by one.
constexpr std::int64_t most_stride = 64;
/// Of reads of the same place by different blocks a chunk keeps this many: the first and the latest, or only the
/// latest.
constexpr unsigned most_readers = 2, most_readers_when_nearly_full = 1, nearly_full = 14;
/// Rows to which one of the next warp may belong.
constexpr std::size_t last_rows = 4;

}  // namespace

void GlobalShadow::begin_launch(bool has_rows) {
  has_rows_ = has_rows;
  open_.clear();
  writers_.clear();
  rows_.clear();
  many_.clear();
  nodes_.clear();
  expecting_.clear();
  readers_.clear();
  cells_used_ = 0;
  order_ = 0;
  if (++launch_ != 0) return;
  parts_.clear();
  launch_ = 1;
}

GlobalShadow::Chunk& GlobalShadow::chunk_at(std::uint64_t address) {
  const std::uint64_t number = (address - global_window) / chunk_bytes, part = number / chunks_a_part;
  if (parts_.size() <= part) parts_.resize(part + 1);
  if (!parts_[part]) parts_[part] = std::make_unique<Part>();
  Chunk& chunk = (*parts_[part])[number % chunks_a_part];
  if (chunk.launch != launch_) {
    chunk.launch = launch_;
    chunk.count = 0;
    chunk.cells = chunk.many = none;
    chunk.is_written = false;
  }
  return chunk;
}

GlobalShadow::Cell& GlobalShadow::cell_at(std::uint64_t address) {
  Chunk& chunk = chunk_at(address);
  if (chunk.cells == none) open(chunk, address / chunk_bytes * chunk_bytes);
  return (*cells_[chunk.cells])[address / word_bytes % words];
}

// --- rows ------------------------------------------------------------------------------------------------------------

PastAccess GlobalShadow::noted(const Access& a, GlobalHow how, const BlockView& block) {
  return {.when = block.now(a.actor.warp),
          .order = ++order_,
          .block = static_cast<std::uint32_t>(a.actor.block),
          .line = a.actor.line,
          .warp = a.actor.warp,
          .lanes = a.mask,
          .how = how,
          .bytes = static_cast<std::uint8_t>(a.bytes)};
}

void GlobalShadow::access(const AccessRun& run, GlobalHow how, BlockView& block) {
  const Access& a = run.first;
  if (!a.mask) return;
  if (!run.is_whole()) {
    access({a, 1, 0}, how, block);
    return access(run.rest(), how, block);
  }
  const PastAccess past = noted(a, how, block);
  if (how.is_strong && !how.writes()) {
    if (readers_.size() <= past.line) readers_.resize(past.line + 1);
    std::uint64_t& reader = readers_[past.line];
    reader = reader == 0 || reader == a.actor.block + 1 ? a.actor.block + 1 : several;
  }
  // Threads that write to the same place are compared with each other.
  const bool may_meet = how.writes() && std::abs(a.stride) < a.bytes;
  const bool is_even = a.is_affine() && !may_meet && (run.step == a.stride * std::int64_t{warp_size} || run.count == 1);
  const bool is_read_in_rows = !how.writes() && are_few_rows(a);
  if (run.count > 1 &&
      (how.is_strong || !has_rows_ || !(is_even || is_read_in_rows) || !block.clocks().is_even() || block.is_apart())) {
    for (unsigned k = 0; k < run.count; ++k) access({run.of(k), 1, 0}, how, block);
    return;
  }
  if (how.kind == How::Kind::write && !(a.is_affine() && std::abs(a.stride) >= a.bytes)) compare_lanes(a, past);
  if (how.is_strong || !has_rows_) return one_by_one(a, a.mask, past, block);
  const bool is_row = a.is_affine() && std::abs(a.stride) <= most_stride;
  Row row{.past = past,
          .count = is_row ? run.count : 1,
          .stride = is_row || is_read_in_rows ? static_cast<std::int32_t>(a.stride) : 0,
          .first = a.first,
          .step = is_row ? run.step : 0,
          .message = {}};
  if (how.writes()) {
    row.message = block.message_of(a.actor.warp, a.mask & -a.mask);
    row.message.after_block_fence = block.has_block_fence(a.actor.warp, a.mask);
  }
  if (is_row) return enter(row, run, block);
  if (is_read_in_rows) return enter_rows(row, run, block);
  std::array<Row, most_rows_of_warp> rows;
  rows.fill(row);
  unsigned count = 0;
  if (!make_rows(a, rows, count) || (how.writes() && do_overlap(rows, count)))
    return one_by_one(a, a.mask, past, block);
  for (unsigned k = 0; k < count; ++k) enter(rows[k], run, block);
}

/// Does the warp, with all its lanes, access few rows that are dense?
bool GlobalShadow::are_few_rows(const Access& a) {
  return a.is_pattern() && !a.is_one_row() && a.mask == full_mask && std::abs(a.stride) <= most_stride &&
         warp_size / a.row_lanes <= most_rows_of_warp;
}

/// Enters the rows of each warp. `row` is what they have in common.
void GlobalShadow::enter_rows(Row& row, const AccessRun& run, BlockView& block) {
  const Access& a = run.first;
  for (unsigned k = 0; k < run.count; ++k, ++row.past.warp) {
    const std::uint64_t begin = static_cast<std::uint64_t>(run.step * k);
    for (unsigned lane = 0; lane < warp_size; lane += a.row_lanes) {
      row.first = begin + a.at(lane) - static_cast<std::uint64_t>(a.stride * lane);
      row.past.lanes = full_mask >> (warp_size - a.row_lanes) << lane;
      enter(row, run, block);
    }
  }
}

/// Cuts lanes into rows. False when they are too many.
bool GlobalShadow::make_rows(const Access& a, std::array<Row, most_rows_of_warp>& rows, unsigned& count) const {
  for (Mask left = a.mask; left;) {
    if (count == rows.size()) return false;
    const auto begin = first_lane(left);
    Row& row = rows[count++];
    Mask taken = left & -left;
    row.stride = 0;
    if (const Mask rest = left & (left - 1)) {
      const auto next = first_lane(rest);
      const auto distance = static_cast<std::int64_t>(a.at(next) - a.at(begin));
      const std::int64_t stride = distance / (next - begin);
      if (distance % (next - begin) == 0 && std::abs(stride) <= most_stride)
        row.stride = static_cast<std::int32_t>(stride);
    }
    row.first = a.at(begin) - static_cast<std::uint64_t>(row.stride) * begin;
    for (const unsigned l : lanes_in(left & (left - 1))) {
      if (a.at(l) != row.at(0, l)) break;
      taken |= Mask{1} << l;
    }
    row.past.lanes = taken;
    left &= ~taken;
  }
  return true;
}

std::uint16_t GlobalShadow::Row::key() const {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio: Knuth's multiplicative hashing
  const std::uint64_t place = first * factor ^ static_cast<std::uint64_t>(stride);
  return static_cast<std::uint16_t>((place * factor ^ past.line ^ std::uint64_t{past.lanes} << 32) * factor >> 48);
}

void GlobalShadow::set_range(Row& row) {
  const auto low_lane = first_lane(row.past.lanes),
             high_lane = 31 - static_cast<unsigned>(std::countl_zero(row.past.lanes));
  const auto [low, high] = std::minmax(
      {row.at(0, low_lane), row.at(0, high_lane), row.at(row.count - 1, low_lane), row.at(row.count - 1, high_lane)});
  row.low = low;
  row.high = high + row.past.bytes;
}

/// Lanes of one store are compared with each other as such.
bool GlobalShadow::do_overlap(std::array<Row, most_rows_of_warp>& rows, unsigned count) {
  for (unsigned k = 0; k < count; ++k) {
    set_range(rows[k]);
    for (unsigned m = 0; m < k; ++m)
      if (rows[k].low < rows[m].high && rows[m].low < rows[k].high) return true;
  }
  return false;
}

void GlobalShadow::enter(Row& row, const AccessRun& run, BlockView& block) {
  set_range(row);
  std::uint32_t number = extend_last(row, block);
  const bool extends = number != none;
  if (!extends) number = static_cast<std::uint32_t>(rows_.size());
  bool is_kept = false;
  for (std::uint64_t begin = row.low / chunk_bytes * chunk_bytes; begin < row.high; begin += chunk_bytes) {
    Chunk& chunk = chunk_at(begin);
    if (place(row, number, chunk, block)) {
      is_kept |= chunk.count > 0 && rows_of(chunk)[chunk.count - 1] == number;
      continue;
    }
    if (chunk.cells == none) open(chunk, begin);
    for (unsigned k = 0; k < row.count; ++k) {
      Mask inside = 0;
      for_each_lane(row.past.lanes, [&](unsigned l) {
        if (row.at(k, l) - begin < chunk_bytes) inside |= Mask{1} << l;
      });
      if (!inside) continue;
      PastAccess past = row.past;
      past.warp += k;
      past.lanes = inside;
      one_by_one(run.of(past.warp - run.first.actor.warp), inside, past, block);
    }
  }
  if (!extends) {
    if (is_kept) rows_.push_back(row);
    return;
  }
  Row& longer = rows_[number];
  longer.count += row.count;
  longer.low = std::min(longer.low, row.low);
  longer.high = std::max(longer.high, row.high);
}

/// The number of a row of which this one is the next warp.
std::uint32_t GlobalShadow::extend_last(const Row& row, const BlockView& block) {
  if (row.count != 1 || row.past.lanes != full_mask || block.is_apart()) return none;
  if (row.past.how.writes() && std::abs(row.stride) < row.past.bytes) return none;
  const std::size_t oldest = rows_.size() - std::min(rows_.size(), last_rows);
  for (std::size_t k = rows_.size(); k-- > oldest;) {
    const Row& to = rows_[k];
    const PastAccess &a = to.past, &b = row.past;
    if (a.line == b.line && a.block == b.block && a.warp + to.count == b.warp && a.when == b.when &&
        a.lanes == full_mask && a.how == b.how && a.bytes == b.bytes && to.stride == row.stride &&
        to.at(to.count, 0) + (to.count == 1 ? static_cast<std::uint64_t>(to.stride) * warp_size : 0) == row.first &&
        (to.count == 1 || to.step == to.stride * std::int64_t{warp_size}) && to.message.is_same(row.message)) {
      rows_[k].step = to.stride * std::int64_t{warp_size};
      return static_cast<std::uint32_t>(k);
    }
  }
  return none;
}

/// A bit for each row of the chunk with this key.
Mask GlobalShadow::rows_with(std::uint16_t key, const Chunk& chunk) const {
  Mask found = 0;
  if (chunk.many == none) {
    for (unsigned k = 0; k < chunk.count; ++k) found |= Mask{chunk.few.keys[k] == key} << k;
    return found;
  }
  const std::uint16_t* const keys = many_[chunk.many].keys;
  found = mask_where<std::uint16_t>([&](auto& are_so, unsigned part) { are_so = vector_at(keys, part) == key; });
  return found & ~(full_mask << chunk.count);
}

void GlobalShadow::keep_row(Chunk& chunk, std::uint32_t number, std::uint16_t key) {
  const auto keep_in = [&](auto& kept) {
    kept.keys[chunk.count] = key;
    kept.rows[chunk.count++] = number;
  };
  if (chunk.count < Chunk::few_rows) return keep_in(chunk.few);
  if (chunk.many == none) {
    chunk.many = static_cast<std::uint32_t>(many_.size());
    Kept<warp_size>& many = many_.emplace_back();
    std::ranges::copy(chunk.few.keys, many.keys);
    std::ranges::copy(chunk.few.rows, many.rows);
  }
  keep_in(many_[chunk.many]);
}

/// Remembers the row in the chunk. False when its lanes have to be looked at one by one.
bool GlobalShadow::place(const Row& row, std::uint32_t number, Chunk& chunk, BlockView& block) {
  if (chunk.cells != none) return false;
  const bool writes = row.past.how.writes(), may_race = writes || chunk.is_written;
  const std::uint16_t key = row.key();
  const std::span rows(rows_of(chunk), chunk.count);
  if (may_race)
    for (const std::uint32_t other : rows)
      if (other != number && !are_apart(rows_[other], row, block)) return false;
  unsigned readers = 0, latest = 0;
  const bool is_there = number < rows_.size() && std::ranges::find(rows, number) != rows.end();
  for (const unsigned k : lanes_in(writes || rows.empty() ? 0 : rows_with(key, chunk))) {
    if (rows[k] == number) continue;
    Row& other = rows_[rows[k]];
    const PastAccess &a = other.past, &b = row.past;
    if (!(a.how == b.how) || a.line != b.line || other.first != row.first || other.stride != row.stride ||
        other.step != row.step || other.count != row.count || a.lanes != b.lanes || a.bytes != b.bytes)
      continue;
    if (a.block == b.block && a.warp == b.warp) {
      other.past.when = b.when;
      return true;
    }
    ++readers;
    latest = k;
  }
  if (is_there) return true;
  if (readers >= (chunk.count < nearly_full ? most_readers : most_readers_when_nearly_full)) {
    rows_[rows[latest]].past = row.past;
    return true;
  }
  if (chunk.count == Chunk::most_rows) return false;
  keep_row(chunk, number, key);
  chunk.is_written |= writes;
  return true;
}

/// False when the rows do not show that.
bool GlobalShadow::are_apart(const Row& a, const Row& b, const BlockView& block) const {
  if (a.high <= b.low || b.high <= a.low || !can_race(a.past, b.past)) return true;
  if (a.past.block != b.past.block)
    return !block.is_apart() && block.knowledge_of(0).settled.knows_all(a.past.block, a.past.when);
  if (interval_of(a.past.when) < interval_of(b.past.when)) return true;
  // Of the same block, since its last barrier: apart when threads touch only what is theirs.
  const auto is_even = [](const Row& r) {
    return r.stride != 0 && (r.count == 1 || r.step == r.stride * std::int64_t{warp_size});
  };
  if (!is_even(a) || !is_even(b) || (a.stride != b.stride && !a.is_single() && !b.is_single())) return false;
  const std::int64_t stride = a.is_single() ? b.stride : a.stride, distance = std::abs(stride);
  const auto origin = [&](const Row& r) {
    if (!r.is_single()) return static_cast<std::int64_t>(r.first) - stride * (r.past.warp * std::int64_t{warp_size});
    const auto lane = first_lane(r.past.lanes);
    return static_cast<std::int64_t>(r.at(0, lane)) - stride * (r.past.warp * std::int64_t{warp_size} + lane);
  };
  const std::int64_t shift = origin(a) - origin(b);
  if (shift == 0) return a.past.bytes <= distance && b.past.bytes <= distance;
  const std::int64_t within = (shift % distance + distance) % distance;
  return within >= b.past.bytes && within + a.past.bytes <= distance;
}

// --- what the launch has touched -------------------------------------------------------------------------------------

// Of similar accesses, rows and cells keep only some, but they lose no place that was accessed.
void GlobalShadow::collect(AccessedSpans& spans) const {
  for (const Row& row : rows_) {
    const AccessSite site{row.past.how, row.past.line, row.past.bytes};
    const Mask lanes = row.past.lanes;
    const auto first = first_lane(lanes);
    const auto count = static_cast<unsigned>(std::popcount(lanes));
    if (lanes == full_mask && row.step == row.stride * std::int64_t{warp_size}) {
      spans.add(row.first, row.stride, std::uint64_t{row.count} * warp_size, site.bytes, site);
      continue;
    }
    // Every lane, every second one, …
    const unsigned gap = count > 1 ? first_lane(lanes & (lanes - 1)) - first : 1;
    Mask regular = 0;
    for (unsigned k = 0; k < count && first + k * gap < warp_size; ++k) regular |= Mask{1} << (first + k * gap);
    for (unsigned k = 0; k < row.count; ++k) {
      if (regular == lanes)
        spans.add(row.at(k, first), row.stride * std::int64_t{gap}, count, site.bytes, site);
      else
        for_each_lane(lanes, [&](unsigned lane) { spans.add(row.at(k, lane), 0, 1, site.bytes, site); });
    }
  }
  // Words side by side are usually touched in the same way.
  std::uint64_t begin = 0, end = 0;
  AccessSite site;
  for (std::uint32_t c = 0; c < cells_used_; ++c)
    for (std::uint64_t word = 0; word < words; ++word) {
      // Nodes lie in the order of accesses, which may be any.
      if (const std::uint32_t ahead = (*cells_[c])[(word + 16) % words].first; ahead != none) {
        __builtin_prefetch(&nodes_[ahead]);
        __builtin_prefetch(&nodes_[ahead].bytes);
      }
      for (std::uint32_t n = (*cells_[c])[word].first; n != none; n = nodes_[n].next) {
        const Node& node = nodes_[n];
        const std::uint64_t at = cells_at_[c] + word * word_bytes + static_cast<unsigned>(std::countr_zero(node.bytes));
        const AccessSite own{node.past.how, node.past.line, node.past.bytes};
        if (at != end || own != site) {
          spans.add(begin, 0, 1, end - begin, site);
          begin = at;
          site = own;
        }
        end = at + static_cast<unsigned>(std::popcount(node.bytes));
      }
    }
  spans.add(begin, 0, 1, end - begin, site);
}

std::optional<GlobalConflict::Side> GlobalShadow::thread_at(Address address, const AccessSite& site) const {
  const auto side = [&](const PastAccess& past, unsigned warp, unsigned lane) {
    return GlobalConflict::Side{past.line, past.block, warp * warp_size + lane, past.how};
  };
  const auto is_so = [&](const PastAccess& past) {
    return past.line == site.line && past.how == site.how && past.bytes == site.bytes;
  };
  for (const Row& row : rows_) {
    if (!is_so(row.past) || address < row.low || address >= row.high) continue;
    for (unsigned k = 0; k < row.count; ++k)
      for (const unsigned lane : lanes_in(row.past.lanes))
        if (address - row.at(k, lane) < row.past.bytes) return side(row.past, row.past.warp + k, lane);
  }
  for (std::uint32_t c = 0; c < cells_used_; ++c) {
    if (address - cells_at_[c] >= chunk_bytes) continue;
    for (std::uint32_t n = (*cells_[c])[address / word_bytes % words].first; n != none; n = nodes_[n].next)
      if (const Node& node = nodes_[n]; is_so(node.past) && (node.bytes >> address % word_bytes & 1))
        return side(node.past, node.past.warp, first_lane(node.past.lanes));
  }
  return {};
}

/// From here on the chunk's words are looked at one by one.
void GlobalShadow::open(Chunk& chunk, std::uint64_t begin) {
  if (cells_used_ == cells_.size()) cells_.push_back(std::make_unique<Cells>());
  cells_at_.resize(cells_.size());
  cells_[cells_used_]->fill({});
  cells_at_[cells_used_] = begin;
  chunk.cells = cells_used_++;
  for (const std::uint32_t number : std::span(rows_of(chunk), chunk.count)) {
    const Row& row = rows_[number];
    for (unsigned k = 0; k < row.count; ++k)
      for_each_lane(row.past.lanes, [&](unsigned l) {
        const std::uint64_t address = row.at(k, l);
        if (address - begin >= chunk_bytes) return;
        PastAccess past = row.past;
        past.warp += k;
        past.lanes = Mask{1} << l;
        each_word(address, past.bytes, [&](std::uint64_t word) {
          keep({word, bytes_of_word(address, past.bytes), past.lanes}, past, row.message, row.is_single(), false);
        });
      });
  }
}

}  // namespace scanlab::vgpu
