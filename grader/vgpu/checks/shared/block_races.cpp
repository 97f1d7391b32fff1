#include "vgpu/checks/shared/block_races.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "vgpu/core/memory/stored.hpp"

namespace scanlab::vgpu {
namespace {

bool has_lanes_apart(const Access& a) {
  return a.is_affine() && static_cast<std::uint64_t>(std::abs(a.stride)) >= a.bytes;
}

}  // namespace

void BlockRaces::begin(std::uint64_t block, unsigned threads, std::uint64_t window_bytes, bool has_log) {
  block_ = block;
  has_log_ = has_log;
  window_bytes_ = window_bytes;
  sync_.begin_block(threads);
  log_.clear();
  copies_.clear();
  has_fenced_.assign((threads + warp_size - 1) / warp_size, 0);
  open_.clear();
  guesses_.clear();
  order_ = 0;
  is_idle_ = true;
  in_shadow_ = has_shadow_ = false;
  repetition_.begin(repeated_);
}

/// What follows depends on more than the steps that a block can repeat.
void BlockRaces::part() {
  repetition_.part([&](std::span<const BlockStep> steps) { catch_up(steps); });
}

void BlockRaces::catch_up(std::span<const BlockStep> steps) {
  using enum BlockStep::Kind;
  is_idle_ = true;
  for (const BlockStep& step : steps) switch (step.kind) {
      case read:
      case write:
        is_idle_ = false;
        compare(step.run(block_), step.kind == read ? How::Kind::read : How::Kind::write);
        break;
      case barrier:
        begin_interval();
        break;
      case warp_sync:
        sync_.meet(step.warp, step.lanes);
        break;
      case fence:
        sync_.fence(step.warp, step.lanes);
        break;
    }
}

void BlockRaces::begin_interval() {
  if (is_idle_) return;
  sync_.begin_interval();
  log_.clear();
  guesses_.clear();
  if (in_shadow_) shadow_.begin_interval();
  is_idle_ = true;
  in_shadow_ = false;
}

void BlockRaces::fence(unsigned warp, Mask lanes) {
  has_fenced_[warp] |= lanes;
  if (!is_idle_ && !repeats(BlockStep::Kind::fence, warp, lanes)) sync_.fence(warp, lanes);
}

void BlockRaces::meet(unsigned warp, Mask lanes) {
  copies_.meet(warp, lanes);
  if (!is_idle_ && !repeats(BlockStep::Kind::warp_sync, warp, lanes)) sync_.meet(warp, lanes);
}

void BlockRaces::complete(std::uint32_t id, Observer::Meeting meeting) {
  copies_.meet_all();
  if (meeting == Observer::Meeting::counted)
    part();
  else if (!is_idle_ && repeats(BlockStep::Kind::barrier, 0, 0))
    is_idle_ = true;
  if (sync_.complete(id, meeting)) begin_interval();
}

How BlockRaces::how_of(const Access& a, How::Kind kind) const {
  using enum How::Strength;
  if (kind == How::Kind::atomic || kind == How::Kind::idle) return {kind, strong};
  if (a.order == Access::Order::weak) return {kind, weak};
  const bool is_unfenced =
      kind == How::Kind::write && a.order == Access::Order::volatile_ && (a.mask & ~has_fenced_[a.actor.warp]) != 0;
  return {kind, is_unfenced ? unfenced : strong};
}

void BlockRaces::access(const AccessRun& run, How::Kind kind) {
  using enum How::Kind;
  const Access& a = run.first;
  const bool is_step = (kind == read || kind == write) && BlockStep::may_be(a);
  if (!is_step) part();
  const bool is_repeated = is_step && repeats(kind == read ? BlockStep::Kind::read : BlockStep::Kind::write, run);
  is_idle_ = false;
  if (!is_repeated) compare(run, kind);
}

void BlockRaces::compare(const AccessRun& run, How::Kind kind) {
  const Access& a = run.first;
  if (kind == How::Kind::atomic) {
    decide(a);
    if (const Mask idle = a.mask & ~lanes_that_change(a); idle == a.mask) {
      kind = How::Kind::idle;
    } else if (idle) {
      AccessRun part = run;
      part.first.mask = idle;
      enter(part, {How::Kind::idle, How::Strength::strong});
      part.first.mask = a.mask & ~idle;
      enter(part, {How::Kind::atomic, How::Strength::strong});
      return synchronise(a, kind);
    }
  }
  const How how = how_of(a, kind);
  if (how.is_plain_read() && !guesses_.empty()) forget_guesses(run);
  const BlockClocks& clocks = sync_.clocks();
  // Rows that are one entry of the log: warps at the same time, whose writes do not meet.
  const bool is_one =
      run.count == 1 ||
      (clocks.is_even() && !copies_.may_meet(run) && !in_shadow_ &&
       (kind == How::Kind::read || (has_lanes_apart(a) && run.step == a.stride * std::int64_t{warp_size})));
  if (is_one) {
    enter(run, how);
  } else {
    for (unsigned k = 0; k < run.count; ++k) {
      AccessRun one;
      one.first = run.of(k);
      enter(one, how);
    }
  }
  if (how.strength != How::Strength::weak) synchronise(a, kind);
}

void BlockRaces::enter(const AccessRun& run, How how) {
  const Access& a = run.first;
  const Footprint what{a.actor.line,
                       a.mask,
                       sync_.clocks().now(a.actor.warp),
                       static_cast<std::uint8_t>(a.actor.warp),
                       how,
                       static_cast<std::uint8_t>(a.bytes)};
  if (copies_.may_meet(run)) compare_with_copies(a, what);
  if (how.kind == How::Kind::copy) copies_.add(a, what);
  const bool is_store = how.kind == How::Kind::write || how.kind == How::Kind::copy;
  if (is_store && !has_lanes_apart(a)) compare_lanes(a, what);
  if (!in_shadow_) {
    if (has_log_ && log_.add(run, what, sync_.clocks())) return;
    move_log_to_shadow();
  }
  for (unsigned k = 0; k < run.count; ++k) enter_shadow(run.of(k), what.of_warp(what.warp + k, run.lanes_of(k)));
}

void BlockRaces::move_log_to_shadow() {
  if (!has_shadow_) shadow_.begin_block(static_cast<unsigned>(has_fenced_.size()), window_bytes_);
  has_shadow_ = in_shadow_ = true;
  log_.for_each([&](Footprint what, auto at) {
    cut(what.lanes, what.bytes, at, pieces_);
    for (const WordPiece& piece : pieces_) shadow_.keep(piece, what, nullptr);
  });
  log_.clear();
}

/// Threads that write the same value do not harm each other, nor what they read back: whichever write comes last, it is
/// the same. CUDA defines so for the lanes of one store ("one of the writes"), and code relies on it for others too. If
/// some of the values were different, these writes would race.
bool BlockRaces::is_harmless(const Access& a, Footprint what, unsigned lane, Footprint earlier, unsigned thread,
                             std::uint64_t address, std::uint32_t bytes) const {
  const BlockClocks& clocks = sync_.clocks();
  if (!what.how.writes())
    return shadow_.has_written(address, earlier.line, earlier.how, what.warp * warp_size + lane, clocks);
  if (what.how.kind != How::Kind::write) return false;
  if (!earlier.how.writes() && !shadow_.has_written(address, what.line, what.how, thread, clocks)) return false;
  const auto count = static_cast<unsigned>(std::bit_width(bytes)) - static_cast<unsigned>(std::countr_zero(bytes));
  return !changes_memory(a, lane, address - a.at(lane), count);
}

void BlockRaces::enter_shadow(const Access& a, Footprint what) {
  cut(
      a.mask, a.bytes, [&](unsigned lane) { return a.at(lane); }, pieces_);
  ++order_;
  const auto report_one = [&](Footprint earlier, Mask racing, unsigned lane, std::uint64_t address,
                              std::uint32_t bytes) {
    repetition_.part();  // the values of another block may differ
    const bool is_read_first = earlier.how.is_plain_read() && what.how.kind == How::Kind::atomic,
               is_read_last = what.how.is_plain_read() && earlier.how.kind == How::Kind::atomic;
    if (is_read_first && !guesses_.empty())
      racing = lanes_where(
          racing, [&](unsigned of) { return !guesses_.contains(place_of(earlier.warp * warp_size + of, address)); });
    if (!racing) return false;
    const unsigned thread = earlier.warp * warp_size + first_lane(racing);
    if (is_harmless(a, what, lane, earlier, thread, address, bytes)) return false;
    Conflict c;
    c.earlier = {earlier.line, thread, earlier.how};
    c.later = {what.line, what.warp * warp_size + lane, what.how};
    c.address = address;
    c.bytes = std::min(earlier.bytes, what.bytes);
    c.block = block_;
    c.is_by_both = earlier.how.is_plain_read() && earlier.warp == what.warp &&
                   (a.mask >> (thread % warp_size) & 1) != 0 && a.at(thread % warp_size) == a.at(lane);
    if (const FlagTrail::Seen* const flag = sync_.flag_seen(c.later.thread, thread)) {
      c.flag = *flag;
      c.is_before_flag = earlier.stamp <= flag->until;
    }
    if (!is_read_first && !is_read_last) {
      sink_.conflict(c);
      return true;
    }
    // What the read was for is seen later.
    PlainRead read;
    read.block = block_;
    read.warp = is_read_first ? earlier.warp : what.warp;
    read.lanes = is_read_first ? racing : Mask{1} << lane;
    read.word = address / word_bytes * word_bytes;
    read.order = is_read_first ? 0 : order_;
    read.value = word_now(a, read.word);
    open_.add(read, c);
    return false;
  };
  for (const WordPiece& piece : pieces_) shadow_.expect(piece);
  for (const WordPiece& piece : pieces_) shadow_.check(piece, what, sync_.clocks(), report_one);
  for (const WordPiece& piece : pieces_) shadow_.keep(piece, what, &sync_.clocks());
}

/// Lanes apply an atomic: what they have read there was a guess where it is a compare-and-swap that expects it.
void BlockRaces::decide(const Access& a) {
  if (a.phase) return;
  for (const unsigned lane : lanes_in(a.mask)) {
    const unsigned thread = a.actor.warp * warp_size + lane;
    const std::optional<LaneValue> expected = value_expected(a, lane);
    if (!expected && open_.is_empty()) return;
    each_word(a.at(lane), a.bytes, [&](std::uint64_t word) {
      const bool is_guess = expected && expects(*expected, a.at(lane), a.bytes, word,
                                                open_.value_read(block_, thread, word, word_now(a, word)));
      if (is_guess) {
        guesses_.insert(place_of(thread, word));
        if (!in_shadow_) move_log_to_shadow();
        shadow_.for_each_read(word, thread, [&](Footprint what) { sink_.guessed(what.line); });
      }
      open_.decide(block_, a.actor.warp, Mask{1} << lane, Mask{is_guess} << lane, word);
    });
  }
}

/// Lanes read anew.
void BlockRaces::forget_guesses(const AccessRun& run) {
  for (unsigned k = 0; k < run.count; ++k) {
    const Access a = run.of(k);
    for (const unsigned lane : lanes_in(a.mask))
      each_word(a.at(lane), a.bytes,
                [&](std::uint64_t word) { guesses_.erase(place_of(a.actor.warp * warp_size + lane, word)); });
  }
}

/// Lanes of one store, or of one asynchronous copy, to the same place: one of their values remains, it is left open
/// which.
void BlockRaces::compare_lanes(const Access& a, Footprint what) {
  // A lane for each hash of an address; aligned elements of one size are the same or apart.
  constexpr unsigned places = 128;
  constexpr std::uint8_t no_lane = 0xFF;
  std::uint8_t lane_at[places];
  std::fill_n(lane_at, places, no_lane);
  for (const unsigned lane : lanes_in(a.mask)) {
    auto k = static_cast<unsigned>(a.at(lane) / a.bytes % places);
    while (lane_at[k] != no_lane && a.at(lane_at[k]) != a.at(lane)) k = (k + 1) % places;
    if (lane_at[k] == no_lane) {
      lane_at[k] = static_cast<std::uint8_t>(lane);
      continue;
    }
    repetition_.part();  // the values of another block may differ
    const unsigned first = lane_at[k];
    if (!stores_differ(a, first, lane)) continue;
    Conflict c;
    c.between = Conflict::Between::lanes_of_one;
    c.earlier = {what.line, a.actor.warp * warp_size + first, what.how};
    c.later = {what.line, a.actor.warp * warp_size + lane, what.how};
    c.address = a.at(lane);
    c.bytes = a.bytes;
    c.block = block_;
    sink_.conflict(c);
    return;
  }
}

void BlockRaces::compare_with_copies(const Access& a, Footprint what) {
  copies_.for_each_meeting(a, [&](const PendingCopies::Meeting& met) {
    const Footprint& copy = met.copy.what;
    Conflict c;
    c.between = Conflict::Between::copy;
    c.earlier = {copy.line, copy.warp * warp_size + met.copying, copy.how};
    c.later = {what.line, what.warp * warp_size + met.lane, what.how};
    c.address = met.address;
    c.bytes = met.bytes;
    c.block = block_;
    sink_.conflict(c);
  });
}

/// The copies are complete, for the thread that waited: as if it wrote now. Accesses to their bytes meanwhile have been
/// compared with them.
void BlockRaces::keep_complete(const std::vector<PendingCopies::Copy>& copies) {
  for (const PendingCopies::Copy& copy : copies) {
    AccessRun run;
    run.first.actor.warp = copy.what.warp;
    run.first.actor.line = copy.what.line;
    run.first.mask = copy.what.lanes;
    run.first.bytes = copy.what.bytes;
    run.first.address = copy.address.data();
    is_idle_ = false;
    Footprint what = copy.what;
    what.stamp = sync_.clocks().now(what.warp);
    if (!in_shadow_) {
      if (has_log_ && log_.add(run, what, sync_.clocks())) continue;
      move_log_to_shadow();
    }
    cut(
        what.lanes, what.bytes, [&](unsigned lane) { return copy.address[lane]; }, pieces_);
    for (const WordPiece& piece : pieces_) shadow_.keep(piece, what, &sync_.clocks());
  }
}

void BlockRaces::synchronise(const Access& a, How::Kind kind) {
  using enum BlockSync::Effect;
  const bool is_atomic = kind == How::Kind::atomic || kind == How::Kind::idle;
  if (a.phase) {
    if (a.is_async)
      keep_complete(copies_.bind(a));
    else if (a.order == Access::Order::acquire)
      copies_.see(a);
    if (!sync_.mbarrier(a)) sink_.unordered_arrival(a.actor.line);
  } else {
    sync_.strong_access(a, is_atomic ? updates : kind == How::Kind::write ? writes : reads);
  }
}

}  // namespace scanlab::vgpu
