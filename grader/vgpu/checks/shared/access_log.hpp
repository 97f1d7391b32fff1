// The accesses of a block to shared memory since its threads last met, as long as it is plain that no two of them race.
//
// Most accesses are rows: thread t accesses first + t * stride. Whether two rows meet anywhere but in the same thread
// is one comparison, however many warps they have, and where no thread writes there is nothing to compare. What the log
// cannot decide that way it does not take, and the shadow memory (access_shadow.hpp) has to.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "vgpu/checks/block_clocks.hpp"
#include "vgpu/checks/footprint.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

class AccessLog {
 public:
  void clear();

  /// Takes the accesses, and true, when none of them can race with one that is here. `what` is that of the first warp;
  /// all warps of a run with more than one have the same stamp.
  bool add(const AccessRun& run, Footprint what, const BlockClocks& clocks);

  /// Visits all accesses, warp by warp: visit(what, at), where at(lane) is the address.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::vector<Entry>* entries : {&reads_, &writes_, &strong_})
      for (const Entry& e : *entries)
        for (unsigned k = 0; k < e.count; ++k) {
          const auto at = [&](unsigned lane) {
            return e.scattered == none ? e.lanes.at(lane) + static_cast<std::uint64_t>(e.step) * k
                                       : scattered_[e.scattered][lane];
          };
          visit(e.what.of_warp(e.what.warp + k, k ? full_mask : e.what.lanes), at);
        }
  }

 private:
  static constexpr std::uint32_t none = ~0u;
  using Addresses = std::array<std::uint32_t, warp_size>;

  /// The warps from `what.warp` on, of which each begins `step` bytes after the one before. `what.lanes` are those of
  /// the first; the others' all take part.
  struct Entry {
    Footprint what;
    std::uint16_t count = 1;
    std::uint32_t scattered = none;   ///< index of its addresses, when they are no pattern
    std::uint32_t low = 0, high = 0;  ///< all bytes lie in [low, high)
    Pattern lanes;
    std::int64_t step = 0;

    /// Thread t of the block accesses origin(stride) + t * stride, with the same stride across warps.
    bool is_even() const {
      return scattered == none && lanes.is_one_row() && (count == 1 || step == lanes.stride * warp_size);
    }
    /// A row of one element goes with every stride.
    bool is_single() const { return count == 1 && (what.lanes & (what.lanes - 1)) == 0; }
    std::int64_t origin(std::int64_t stride) const {
      const int lane = is_single() ? std::countr_zero(what.lanes) : 0;
      return static_cast<std::int64_t>(lanes.at(static_cast<unsigned>(lane))) -
             stride * (what.warp * std::int64_t{warp_size} + lane);
    }
    std::int64_t first_thread() const { return what.warp * std::int64_t{warp_size} + first_lane(what.lanes); }
    std::int64_t last_thread() const;
  };

  bool make(const AccessRun& run, Footprint what, Entry& e);
  static bool meet_only_in_threads(const Entry& a, const Entry& b);
  static bool are_apart(const Entry& a, const Entry& b, const BlockClocks& clocks);
  bool is_apart_from(const std::vector<Entry>& others, const Entry& e, const BlockClocks& clocks);
  static bool joins(Entry& to, const Entry& e);

  std::vector<Entry> reads_, writes_;
  std::vector<Entry> strong_;         ///< atomics and strong writes
  std::vector<Addresses> scattered_;  ///< the first `scattered_count_` are in use
  std::uint32_t scattered_count_ = 0;
  std::uint32_t compared_ = 0;
};

}  // namespace scanlab::vgpu
