#include "vgpu/checks/uninitialised/launch_footprint.hpp"

#include <sys/mman.h>

#include <limits>

namespace scanlab::vgpu {

void LaunchFootprint::begin(std::uint64_t blocks) {
  constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
  before_.clear();
  blocks_work_together_ = is_too_large_ = false;
  if (++launch_ > limit / (all_uses + 1)) {
    pages_.reset(global_window_bytes / page_bytes);
    launch_ = 1;
  }
  several_blocks_ += blocks_ + 1;
  blocks_ = blocks;
  if (several_blocks_ + blocks <= limit) return;
  writers_.reset(global_window_bytes / segment_bytes);
  several_blocks_ = 1;
  if (blocks >= limit) is_too_large_ = true;
}

void LaunchFootprint::touch(std::uint64_t page, Use how) {
  std::uint32_t& now = pages_[page];
  if (now / (all_uses + 1) != launch_) now = launch_ * (all_uses + 1);
  if (now & how) return;
  now |= how;
  if ((now & all_uses) != all_uses) return;
  if (before_.size() < most_pages)
    before_.save(page);
  else
    is_too_large_ = true;
}

void LaunchFootprint::read(std::uint64_t block, Address address, std::uint64_t bytes) {
  const std::uint64_t from = address - global_window, last = from + bytes - 1;
  for (std::uint64_t page = from / page_bytes; page <= last / page_bytes; ++page) touch(page, is_read);
  if (blocks_work_together_) return;
  for (std::uint64_t s = from / segment_bytes; s <= last / segment_bytes; ++s)
    if (writers_[s] >= several_blocks_ && writers_[s] != several_blocks_ + 1 + block) blocks_work_together_ = true;
}

void LaunchFootprint::write(std::uint64_t block, Address address, std::uint64_t bytes) {
  const std::uint64_t from = address - global_window, last = from + bytes - 1;
  for (std::uint64_t page = from / page_bytes; page <= last / page_bytes; ++page) touch(page, is_written);
  if (blocks_work_together_) return;
  const auto mine = static_cast<std::uint32_t>(several_blocks_ + 1 + block);
  for (std::uint64_t s = from / segment_bytes; s <= last / segment_bytes; ++s)
    writers_[s] =
        writers_[s] < several_blocks_ || writers_[s] == mine ? mine : static_cast<std::uint32_t>(several_blocks_);
}

void LaunchFootprint::forget(Address address, std::uint64_t bytes) {
  constexpr std::uint64_t covered = page_bytes / sizeof(std::uint32_t) * segment_bytes;
  const std::uint64_t from = address - global_window;
  const std::uint64_t begin = (from + covered - 1) / covered, end = (from + bytes) / covered;
  if (begin < end)
    madvise(reinterpret_cast<std::byte*>(&writers_[0]) + begin * page_bytes, (end - begin) * page_bytes, MADV_DONTNEED);
}

}  // namespace scanlab::vgpu
