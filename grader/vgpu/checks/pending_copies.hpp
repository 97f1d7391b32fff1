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

  bool is_empty() const { return copies_.empty() && bound_count_ == 0; }
  void clear() {
    copies_.clear();
    for (std::vector<Copy>& bound : bound_) bound.clear();
    bound_count_ = 0;
  }

  void add(const Access& a, Footprint what) {
    Copy& copy = copies_.emplace_back();
    copy.what = what;
    copy.block = a.block;
    copy.extent = extent_of({a, 1, 0});
    for (const unsigned l : lanes_in(a.mask)) copy.address[l] = a.at(l);
    if (copies_.size() == 1) extent_ = copy.extent;
    extent_ = {std::min(extent_.begin, copy.extent.begin), std::max(extent_.end, copy.extent.end)};
  }

  void commit(unsigned warp, Mask lanes) {
    cut_out(copies_, warp, lanes, [](Copy& copy) { ++copy.commits; });
  }

  /// The lanes have waited for all but the latest `left` groups: takes what is complete, the oldest first.
  std::vector<Copy> take(unsigned warp, Mask lanes, std::uint32_t left) {
    std::vector<Copy> complete;
    cut_out(copies_, warp, lanes, [&](Copy& copy) {
      if (left != Observer::wait_for_all && copy.commits <= left) return;
      complete.push_back(copy);
      copy.what.lanes = 0;
    });
    drop_empty(copies_);
    if (left == Observer::wait_for_all && bound_count_ != 0)
      forget_bound(warp, lanes, [](const Copy&) { return true; });
    return complete;
  }

  /// An mbarrier waits for the copies of the lanes that arrive there. Returns those.
  std::vector<Copy> bind(const Access& arrival) {
    std::vector<Copy> now;
    if (copies_.empty()) return now;
    const unsigned warp = arrival.actor.warp;
    for_each_phase(arrival, [&](Mask lanes, std::uint64_t barrier, std::uint64_t phase) {
      cut_out(copies_, warp, lanes, [&](Copy& copy) {
        copy.barrier = barrier;
        copy.phase = phase;
        now.push_back(copy);
        copy.what.lanes = 0;
      });
    });
    drop_empty(copies_);
    if (bound_.size() <= warp) bound_.resize(warp + 1);
    bound_[warp].insert(bound_[warp].end(), now.begin(), now.end());
    bound_count_ += now.size();
    return now;
  }

  /// The lanes have seen phases of mbarriers complete.
  void see(const Access& seen) {
    if (bound_count_ == 0) return;
    for_each_phase(seen, [&](Mask, std::uint64_t barrier, std::uint64_t phase) {
      for (std::vector<Copy>& bound : bound_)
        for (Copy& copy : bound) copy.is_known_complete |= copy.barrier == barrier && phase >= copy.phase;
    });
    meet(seen.actor.warp, seen.mask);
  }
  /// The lanes, or all threads, have waited for others: also for one that has seen a copy complete, if any has.
  void meet(unsigned warp, Mask lanes) {
    if (bound_count_ != 0) forget_bound(warp, lanes, [](const Copy& copy) { return copy.is_known_complete; });
  }
  void meet_all() {
    for (unsigned warp = 0; bound_count_ != 0 && warp < bound_.size(); ++warp) meet(warp, full_mask);
  }

  /// Whose access meets the copies: another block's has nothing to do with those that an mbarrier waits for.
  enum class By : std::uint8_t { own_block, other_block };

  /// Can an access by these warps meet a copy?
  bool may_meet(const AccessRun& run, By by = By::own_block) const {
    for (unsigned k = 0; bound_count_ != 0 && by == By::own_block && k < run.count; ++k)
      if (run.first.actor.warp + k < bound_.size() && !bound_[run.first.actor.warp + k].empty()) return true;
    if (copies_.empty()) return false;
    const Extent extent = extent_of(run);
    return extent_.begin < extent.end && extent.begin < extent_.end;
  }

  /// Visits a meeting of the access with each copy that it meets.
  template <class Visit>
  void for_each_meeting(const Access& a, Visit visit, By by = By::own_block) const {
    if (!may_meet({a, 1, 0}, by)) return;
    const Extent extent = extent_of({a, 1, 0});
    const auto look_at = [&](const std::vector<Copy>& copies) {
      for (const Copy& copy : copies)
        if (copy.extent.begin < extent.end && extent.begin < copy.extent.end)
          if (const auto met = meeting(a, copy)) visit(*met);
    };
    look_at(copies_);
    if (by == By::own_block && a.actor.warp < bound_.size()) look_at(bound_[a.actor.warp]);
  }

 private:
  /// act(copy) for each copy of some of the lanes, and of no others: copies made by more lanes fall into two.
  template <class Act>
  static void cut_out(std::vector<Copy>& copies, unsigned warp, Mask lanes, Act act) {
    for (std::size_t k = 0, count = copies.size(); k < count; ++k) {
      const Mask common = copies[k].what.lanes & lanes;
      if (copies[k].what.warp != warp || !common) continue;
      if (const Mask rest = copies[k].what.lanes & ~common) {
        copies.push_back(copies[k]);
        copies.back().what.lanes = rest;
        copies[k].what.lanes = common;
      }
      act(copies[k]);
    }
  }
  static void drop_empty(std::vector<Copy>& copies) {
    std::erase_if(copies, [](const Copy& copy) { return copy.what.lanes == 0; });
  }

  template <class Is>
  void forget_bound(unsigned warp, Mask lanes, Is is) {
    if (warp >= bound_.size()) return;
    std::vector<Copy>& bound = bound_[warp];
    bound_count_ -= bound.size();
    for (Copy& copy : bound)
      if (is(copy)) copy.what.lanes &= ~lanes;
    drop_empty(bound);
    bound_count_ += bound.size();
  }

  /// visit(lanes, barrier, phase) for each mbarrier and phase at which the lanes arrive, or which they have seen.
  template <class Visit>
  static void for_each_phase(const Access& a, Visit visit) {
    for (Mask left = a.mask; left;) {
      const auto first = first_lane(left);
      const std::uint64_t barrier = a.at(first), phase = a.phase[first];
      const Mask same = lanes_where(left, [&](unsigned l) { return a.at(l) == barrier && a.phase[l] == phase; });
      visit(same, barrier, phase);
      left &= ~same;
    }
  }

  static std::optional<Meeting> meeting(const Access& a, const Copy& copy) {
    for (const unsigned lane : lanes_in(a.mask)) {
      for (const unsigned copying : lanes_in(copy.phase ? copy.what.lanes & Mask{1} << lane : copy.what.lanes)) {
        const std::uint64_t at = a.at(lane), there = copy.address[copying];
        if (at + a.bytes > there && there + copy.what.bytes > at)
          return Meeting{copy, lane, copying, std::max(at, there), std::min<std::uint32_t>(copy.what.bytes, a.bytes)};
      }
    }
    return std::nullopt;
  }

  std::vector<Copy> copies_;              ///< that a thread has to wait for
  Extent extent_;                         ///< of all of these, and maybe more
  std::vector<std::vector<Copy>> bound_;  ///< by warp: that an mbarrier waits for
  std::size_t bound_count_ = 0;
};

}  // namespace scanlab::vgpu
