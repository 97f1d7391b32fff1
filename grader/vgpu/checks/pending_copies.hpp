// Copies (cp.async) that have begun and that their threads have not waited for: they may read and write at any time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/checks/footprint.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// One side of the copies of a block: where they read, or where they write.
///
/// A thread waits for its own copies, and others for that thread. Or an mbarrier waits for them, and threads for a
/// phase of it. What orders a copy before accesses of other threads is then the arrival, as for any access; its own
/// thread has arrived before the copy is complete, and may go on.
class PendingCopies {
 public:
  struct Copy {
    Footprint what;
    std::array<std::uint64_t, warp_size> address{};
    Extent extent;
    const Block* block = nullptr;    ///< as of Access
    std::uint32_t commits = 0;       ///< groups that its lanes have made since, its own included
    std::uint64_t barrier = 0;       ///< the mbarrier that waits for it
    std::uint64_t phase = 0;         ///< … and the phase; 0: none does
    bool is_known_complete = false;  ///< some thread has seen the phase complete
  };
  /// A lane of an access and one of a copy that touch the same bytes.
  struct Meeting {
    const Copy& copy;
    unsigned lane = 0, copying = 0;
    std::uint64_t address = 0;  ///< of the first byte that both touch
    std::uint32_t bytes = 0;    ///< of the smaller of the two
  };

  bool is_empty() const { return copies_.empty(); }
  void clear() { copies_.clear(); }

  void add(const Access& a, Footprint what) {
    Copy& copy = copies_.emplace_back();
    copy.what = what;
    copy.block = a.block;
    copy.extent = extent_of({a, 1, 0});
    for (const unsigned l : lanes_in(a.mask)) copy.address[l] = a.at(l);
  }

  void commit(unsigned warp, Mask lanes) {
    cut_out(warp, lanes, [](Copy& copy) { ++copy.commits; });
  }

  /// The lanes have waited for all but the latest `left` groups: takes what is complete, the oldest first.
  std::vector<Copy> take(unsigned warp, Mask lanes, std::uint32_t left) {
    std::vector<Copy> complete;
    cut_out(warp, lanes, [&](Copy& copy) {
      if (left != Observer::wait_for_all && copy.commits <= left) return;
      if (!copy.phase) complete.push_back(copy);
      copy.what.lanes = 0;
    });
    drop_empty();
    return complete;
  }

  /// An mbarrier waits for the copies of the lanes that arrive there. Returns those that no other waits for.
  std::vector<Copy> bind(const Access& arrival) {
    std::vector<Copy> bound;
    for (const unsigned l : lanes_in(arrival.mask))
      cut_out(arrival.actor.warp, Mask{1} << l, [&](Copy& copy) {
        if (copy.phase) return;
        bound.push_back(copy);
        copy.barrier = arrival.at(l);
        copy.phase = arrival.phase[l];
      });
    return bound;
  }

  /// The lanes have seen phases of mbarriers complete.
  void see(const Access& seen) {
    for (Copy& copy : copies_)
      for (const unsigned l : lanes_in(copy.phase ? seen.mask : 0))
        copy.is_known_complete |= seen.at(l) == copy.barrier && seen.phase[l] >= copy.phase;
    meet(seen.actor.warp, seen.mask);
  }
  /// The lanes, or all threads, have waited for others: also for one that has seen a copy complete, if any has.
  void meet(unsigned warp, Mask lanes) {
    for (Copy& copy : copies_)
      if (copy.is_known_complete && copy.what.warp == warp) copy.what.lanes &= ~lanes;
    drop_empty();
  }
  void meet_all() {
    std::erase_if(copies_, [](const Copy& copy) { return copy.is_known_complete; });
  }

  /// Visits a meeting of the access with each copy that it meets.
  template <class Visit>
  void for_each_meeting(const Access& a, Visit visit) const {
    const Extent extent = extent_of({a, 1, 0});
    for (const Copy& copy : copies_)
      if (copy.extent.begin < extent.end && extent.begin < copy.extent.end)
        if (const auto met = meeting(a, copy)) visit(*met);
  }

 private:
  /// act(copy) for each copy of some of the lanes, and of no others: copies made by more lanes fall into two.
  template <class Act>
  void cut_out(unsigned warp, Mask lanes, Act act) {
    for (std::size_t k = 0, count = copies_.size(); k < count; ++k) {
      const Mask common = copies_[k].what.lanes & lanes;
      if (copies_[k].what.warp != warp || !common) continue;
      if (const Mask rest = copies_[k].what.lanes & ~common) {
        copies_.push_back(copies_[k]);
        copies_.back().what.lanes = rest;
        copies_[k].what.lanes = common;
      }
      act(copies_[k]);
    }
  }

  void drop_empty() {
    std::erase_if(copies_, [](const Copy& copy) { return copy.what.lanes == 0; });
  }

  static std::optional<Meeting> meeting(const Access& a, const Copy& copy) {
    for (const unsigned lane : lanes_in(a.mask)) {
      const Mask own = a.actor.warp == copy.what.warp ? Mask{1} << lane : 0;
      for (const unsigned copying : lanes_in(copy.phase ? copy.what.lanes & own : copy.what.lanes)) {
        const std::uint64_t at = a.at(lane), there = copy.address[copying];
        if (at + a.bytes > there && there + copy.what.bytes > at)
          return Meeting{copy, lane, copying, std::max(at, there), std::min<std::uint32_t>(copy.what.bytes, a.bytes)};
      }
    }
    return std::nullopt;
  }

  std::vector<Copy> copies_;
};

}  // namespace scanlab::vgpu
