#include "vgpu/core/memory/stale_accesses.hpp"

#include <algorithm>
#include <ranges>

namespace scanlab::vgpu {

void StaleAccesses::begin_block(std::uint32_t slot) {
  if (histories_.size() <= slot) histories_.resize(slot + 1);
  histories_[slot].clear();
  histories_[slot].resize((threads_of_block_ + warp_size - 1) / warp_size * warp_size);
}

void StaleAccesses::read(const Actor& actor, unsigned lane, const StrongOperation& by, KnownWrite returned) {
  const StrongOperation& writer = locations_.write_of(returned.location, returned.write).writer;
  if (writer.is_initial() || writer.is_same_thread_as(by)) return;
  History& h = history(actor, lane);
  if (h.seen.size() == most_seen) h.seen.erase(h.seen.begin());
  h.seen.push_back({writer, by, returned.location, returned.write, h.fences});
}

/// What would have ordered the reads of `seen`, a flag, and of the location, to which `newer` was written before it.
StaleAccess::Missing StaleAccesses::missing(const History& history, const History::Seen& seen,
                                            std::uint64_t reader_block, std::uint32_t location,
                                            const LocationWrite& newer) const {
  using Missing = StaleAccess::Missing;
  const auto carries = [&](const KnownWrites& known) {
    return locations_.rank({location, known.of(location)}) >= newer.rank;
  };
  bool is_released = false, is_released_to_other_block = false;
  if (const auto& message = locations_.write_of(seen.location, seen.index).message) {
    is_released = carries(message->device);
    for (const auto& [block, known] : message->blocks)
      if (carries(known)) (block == reader_block ? is_released : is_released_to_other_block) = true;
  }
  const bool has_fence = history.fences != seen.fences;
  if (is_released ? has_fence : is_released_to_other_block) return Missing::device_scope;
  if (is_released) return Missing::acquire;
  return has_fence ? Missing::release : Missing::both;
}

void StaleAccesses::stale_read(const StrongAccess& access, const StrongOperation& by, KnownWrite read) {
  const Location& at = locations_[read.location];
  const LocationWrite& returned = at.of(read.write);
  const LocationWrite& newer = at.of(at.order()[returned.rank + 1]);
  const auto known = std::ranges::find_if(all_, [&](const StaleAccess& s) {
    return s.read.line == by.line && s.returned.line == returned.writer.line && s.newer.line == newer.writer.line;
  });
  if (known != all_.end()) {
    ++known->count;
    if (known->has_flag) return;
  }
  StaleAccess made{by, returned.writer, newer.writer, access.bytes, access.address, false, {}, {}, {}, 1};
  const History& h = history(access.actor, access.lane);
  const auto is_flag = [&](const History::Seen& seen) {
    return seen.write.is_same_thread_as(newer.writer) && seen.location != read.location &&
           !locations_[seen.location].is_forgotten(seen.index) &&
           locations_.write_of(seen.location, seen.index).turn >= newer.turn;
  };
  const auto newest_first = h.seen | std::views::reverse;
  if (const auto flag = std::ranges::find_if(newest_first, is_flag); flag != newest_first.end()) {
    made.has_flag = true;
    made.flag = flag->write;
    made.flag_read = flag->read;
    made.missing = missing(h, *flag, by.block, read.location, newer);
  }
  if (known == all_.end()) {
    if (all_.size() < most) all_.push_back(made);
  } else if (made.has_flag) {
    made.count = known->count;
    *known = made;
  }
}

}  // namespace scanlab::vgpu
