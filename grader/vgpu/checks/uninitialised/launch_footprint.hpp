// What a launch does to global memory, as far as one has to know it to run blocks of it again: what memory held before,
// and whether a block has read what another one has written.
#pragma once

#include <cstdint>

#include "vgpu/checks/uninitialised/page_journal.hpp"
#include "vgpu/core/memory/claims.hpp"

namespace scanlab::vgpu {

/// Only pages that a launch both reads and writes are kept, when the second of the two comes: whatever is read before
/// it is written is then still there. What is written first does not matter, since a second run writes it again.
class LaunchFootprint {
 public:
  LaunchFootprint(Memory& memory, ByteSet& defined) : before_(memory, defined) {}

  void begin(std::uint64_t blocks);
  /// Accesses that have been found valid; to be reported before they happen.
  void read(std::uint64_t block, Address address, std::uint64_t bytes);
  void write(std::uint64_t block, Address address, std::uint64_t bytes);
  /// For addresses that are never used again.
  void forget(Address address, std::uint64_t bytes);

  /// Have blocks read what others have written? Never false when they have.
  bool blocks_work_together() const { return blocks_work_together_; }
  /// There was too much to keep: it cannot be run again.
  bool is_too_large() const { return is_too_large_; }
  PageJournal& before() { return before_; }

 private:
  enum Use : std::uint32_t { is_read = 1, is_written = 2, all_uses = 3 };
  static constexpr std::uint64_t segment_bytes = 128;
  static constexpr std::size_t most_pages = (64u << 20) / page_bytes;

  void touch(std::uint64_t page, Use how);

  PageJournal before_;
  ZeroArray<std::uint32_t> pages_{global_window_bytes / page_bytes};  ///< Use, and above it the number of the launch
  /// By segment: below `several_blocks_`: no block; above it: + 1 + the block.
  ZeroArray<std::uint32_t> writers_{global_window_bytes / segment_bytes};
  std::uint32_t launch_ = 0;
  std::uint64_t several_blocks_ = 1, blocks_ = 0;
  bool blocks_work_together_ = false, is_too_large_ = false;
};

}  // namespace scanlab::vgpu
