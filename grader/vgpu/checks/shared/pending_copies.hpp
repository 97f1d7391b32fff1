// Copies (cp.async) that have begun and that their threads have not waited for: they may write at any time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "vgpu/checks/footprint.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class PendingCopies {
 public:
  struct Copy {
    Footprint what;
    std::array<std::uint32_t, warp_size> address{};
    std::uint32_t low = ~0u, high = 0;  ///< all bytes lie in [low, high)
    std::uint32_t commits = 0;          ///< groups that its lanes have made since, its own included
  };

  bool is_empty() const { return copies_.empty(); }
  void clear() { copies_.clear(); }

  void add(const Access& a, Footprint what) {
    Copy& copy = copies_.emplace_back();
    copy.what = what;
    for (Mask m = a.mask; m; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      copy.address[l] = static_cast<std::uint32_t>(a.at(l));
      copy.low = std::min(copy.low, copy.address[l]);
      copy.high = std::max(copy.high, copy.address[l] + a.bytes);
    }
  }

  void commit(unsigned warp, Mask lanes) {
    // Copies made by more lanes than these fall into two.
    for (std::size_t k = 0, count = copies_.size(); k < count; ++k) {
      const Mask common = copies_[k].what.lanes & lanes;
      if (copies_[k].what.warp != warp || !common) continue;
      if (copies_[k].what.lanes != common) {
        copies_.push_back(copies_[k]);
        copies_.back().what.lanes &= ~common;
        copies_[k].what.lanes = common;
      }
      ++copies_[k].commits;
    }
  }

  /// The lanes have waited for all but the latest `left` groups: takes what is complete, the oldest first.
  std::vector<Copy> take(unsigned warp, Mask lanes, std::uint32_t left) {
    std::vector<Copy> complete;
    for (Copy& c : copies_) {
      const Mask common = c.what.lanes & lanes;
      if (c.what.warp != warp || !common) continue;
      if (left != Observer::wait_for_all && c.commits <= left) continue;
      complete.push_back(c);
      complete.back().what.lanes = common;
      c.what.lanes &= ~common;
    }
    std::erase_if(copies_, [](const Copy& c) { return c.what.lanes == 0; });
    return complete;
  }

  /// Visits copies that an access to [low, high) may meet.
  template <class Visit>
  void for_each_near(std::uint64_t low, std::uint64_t high, Visit visit) const {
    for (const Copy& c : copies_)
      if (c.low < high && low < c.high) visit(c);
  }

 private:
  std::vector<Copy> copies_;
};

}  // namespace scanlab::vgpu
