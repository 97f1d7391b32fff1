#include "vgpu/core/explore/races.hpp"

#include <algorithm>
#include <utility>

#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {

void RaceWatch::begin(Views& views) {
  views_ = &views;
  views.causality().follow_instants();
  ++run_;
  nodes_.clear();
}

void RaceWatch::atomic(const Access& access) {
  // As its thread finds it now; where it reads something older, it is no more than that.
  if (access.space == ptx::StateSpace::global) touch(access, lanes_that_change(access), true);
}

void RaceWatch::touch(const Access& a, Mask writing, bool is_strong) {
  if (a.space != ptx::StateSpace::global) return;
  Node now;
  now.line = a.actor.line;
  now.when = views_->causality().now(a.actor);
  now.is_strong = is_strong;
  now.reach = reach_of(a.scope);
  for (const unsigned lane : lanes_in(a.mask)) {
    const std::uint64_t begin = a.at(lane), end = begin + a.bytes;
    now.lanes = Mask{1} << lane;
    now.writes = writing >> lane & 1;
    for (std::uint64_t word = begin / word_bytes * word_bytes; word < end; word += word_bytes) {
      const std::uint64_t from = std::max(begin, word) - word, to = std::min(end - word, std::uint64_t{word_bytes});
      now.bytes = static_cast<std::uint8_t>((1u << to) - (1u << from));
      touch_word(a, lane, word, now);
    }
  }
}

void RaceWatch::touch_word(const Access& a, unsigned lane, std::uint64_t word, const Node& now) {
  std::uint32_t& first = cell(word);
  for (std::uint32_t n = first; n != none; n = nodes_[n].next) {
    const Node& then = nodes_[n];
    const bool is_own_block = then.when.block == now.when.block;
    if ((is_own_block && (then.when.warp == now.when.warp || then.when.interval < now.when.interval)) ||
        !(then.writes || now.writes) || !(then.bytes & now.bytes))
      continue;
    const bool reach_each_other = is_own_block || (then.reach == Reach::device && now.reach == Reach::device);
    if (then.is_strong && now.is_strong && reach_each_other) continue;
    if (!views_->causality().unordered(then.when, then.lanes, a.actor, lane)) continue;
    // Whoever has read a strong write is behind it: causality order includes that.
    if (then.is_strong && then.writes && views_->knows_newest(word, word_bytes, a.actor, lane)) continue;
    // Whichever comes first, the same value remains.
    if (then.writes && now.writes && !now.is_strong && !changes_memory(a, lane, 0, a.bytes)) continue;
    const bool lacks_fence = then.writes && !now.is_strong &&
                             !views_->causality().unordered_behind_fence(then.when, then.lanes, a.actor, lane);
    report(then, now, word, lacks_fence);
    break;
  }
  keep(first, now);
}

std::uint32_t& RaceWatch::cell(std::uint64_t word) {
  const std::uint64_t number = word / (word_bytes * words);
  if (number != last_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_number_ = number;
    last_page_ = page.get();
  }
  if (std::exchange(last_page_->run, run_) != run_) last_page_->first.fill(none);
  return last_page_->first[word / word_bytes % words];
}

void RaceWatch::keep(std::uint32_t& first, const Node& now) {
  for (std::uint32_t n = first; n != none; n = nodes_[n].next) {
    Node& then = nodes_[n];
    if (then.when.block != now.when.block || then.when.warp != now.when.warp || then.bytes != now.bytes ||
        then.writes != now.writes || then.is_strong != now.is_strong || then.reach != now.reach)
      continue;
    const bool is_one_time = then.when.interval == now.when.interval && then.when.stamp == now.when.stamp;
    if (!is_one_time && then.lanes & ~now.lanes) continue;
    const Mask lanes = is_one_time ? then.lanes | now.lanes : now.lanes;
    const std::uint32_t next = then.next;
    then = now;
    then.lanes = lanes;
    then.next = next;
    return;
  }
  // Field by field: a copy of the whole would wait for the fields that have just been written.
  nodes_.push_back({first, now.line, now.when, now.lanes, now.bytes, now.writes, now.is_strong, now.reach});
  first = static_cast<std::uint32_t>(nodes_.size() - 1);
}

void RaceWatch::report(const Node& then, const Node& now, Address address, bool lacks_fence) {
  BrokenAssumption race;
  race.kind = lacks_fence ? BrokenAssumption::Kind::reader_fence : BrokenAssumption::Kind::race;
  race.where = own_place(module_, now.line);
  race.other = own_place(module_, then.line);
  race.writes = now.writes;
  race.other_writes = then.writes;
  if (const Allocation* const a = grid_.memory->find(address, 1)) {
    // The heap's memory goes from thread to thread through malloc() and free(), which are not observed.
    if (a->on_heap) return;
    const std::size_t number = a->label.find(" #");
    race.memory = number == std::string::npos ? a->label : "memory of " + a->label.substr(0, number);
  }
  const auto is_same = [&](const BrokenAssumption& b) {
    return b.kind == race.kind && b.where.is_same_line(race.where) && b.other.is_same_line(race.other);
  };
  if (races_.size() < most_races && std::ranges::none_of(races_, is_same)) races_.push_back(std::move(race));
}

}  // namespace scanlab::vgpu
