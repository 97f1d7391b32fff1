// Copies (cp.async) that have begun and that their threads have not waited for: they may write at any time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/checks/footprint.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class PendingCopies {
 public:
  struct Copy {
    Footprint what;
    std::array<std::uint32_t, warp_size> address{};
    Extent extent;
    std::uint32_t commits = 0;  ///< groups that its lanes have made since, its own included
  };

  bool is_empty() const { return copies_.empty(); }
  void clear() { copies_.clear(); }

  void add(const Access& a, Footprint what) {
    Copy& copy = copies_.emplace_back();
    copy.what = what;
    copy.extent = extent_of({a, 1, 0});
    for (const unsigned l : lanes_in(a.mask)) copy.address[l] = static_cast<std::uint32_t>(a.at(l));
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

  /// Visits copies that an access within these bytes may meet.
  template <class Visit>
  void for_each_near(Extent extent, Visit visit) const {
    for (const Copy& c : copies_)
      if (c.extent.begin < extent.end && extent.begin < c.extent.end) visit(c);
  }

 private:
  std::vector<Copy> copies_;
};

}  // namespace scanlab::vgpu
