// What one thread knows of the writes to each location, and how its accesses and fences change that.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/core/memory/known_writes.hpp"
#include "vgpu/core/memory/location_write.hpp"
#include "vgpu/core/memory/strong_access.hpp"

namespace scanlab::vgpu {

class ThreadView {
 public:
  KnownWrites now;                             ///< of each location, the oldest write that it may still read
  std::uint32_t writes = 0, plain_writes = 0;  ///< how many it has made
  std::uint32_t shared_known = 0;              ///< how much of what its block has passed on in shared memory it knows
  std::uint32_t turn() const { return writes + plain_writes; }

  /// The thread has read `w`. If the access acquires, it also learns what the writes that it had read there carry.
  void observe(std::uint32_t location, const LocationWrite& w, const StrongAccess& access, const WriteRanks& ranks);
  /// The thread releases all that it knows to the readers of its writes to this location, now and later.
  void release(std::uint32_t location, Reach reach);
  /// What its next write to the location carries; null: nothing. `before` is the write that a read-modify-write reads.
  std::shared_ptr<const LocationWrite::Message> message(std::uint32_t location, const StrongAccess& access,
                                                        const LocationWrite* before, const WriteRanks& ranks) const;
  /// Whether its writes to the location carry anything that it has released.
  bool has_released_to(std::uint32_t location) const;

  /// The first half of a fence: what the writes that it has read carry is known from now on.
  void acquire_all(Reach reach, const WriteRanks& ranks);
  /// The second half: all its later writes carry what it knows now.
  void release_all(Reach reach);

  /// Calls visit(known) for each set of writes that a fence would make known.
  template <class Visit>
  void for_each_pending(Visit visit) const {
    for (const AtLocation& p : pending_) {
      visit(p.block);
      visit(p.device);
    }
  }

 private:
  struct AtLocation {
    std::uint32_t location = 0;
    KnownWrites block, device;
  };
  static AtLocation& at(std::vector<AtLocation>& all, std::uint32_t location);

  KnownWrites released_to_block_, released_to_device_;  ///< at its latest fence of that scope, or a wider one
  /// What writes that it has read carry. It is known from the next fence on, or the next acquire of the location.
  std::vector<AtLocation> pending_;
  /// What a release write to a location has released. Its later writes there carry it too.
  std::vector<AtLocation> released_;
};

}  // namespace scanlab::vgpu
