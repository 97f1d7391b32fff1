#include "vgpu/core/memory/location_write.hpp"

#include <algorithm>

namespace scanlab::vgpu {

KnownWrites& LocationWrite::Message::of_block(std::uint64_t block) {
  for (auto& [b, known] : blocks)
    if (b == block) return known;
  return blocks.emplace_back(block, KnownWrites{}).second;
}

void LocationWrite::Message::join(const Message& other, const WriteRanks& ranks) {
  device.join(other.device, ranks);
  for (const auto& [block, known] : other.blocks) of_block(block).join(known, ranks);
}

void LocationWrite::Message::settle() {
  device.settle();
  for (auto& [block, known] : blocks) known.settle();
}

bool LocationWrite::is_strong_together_with(const StrongAccess& access) const {
  if (!is_strong) return false;
  if (writer.is_initial()) return true;  // it stands for all writes to a location of mixed sizes
  return writer.block == access.actor.block || (reach == Reach::device && access.reach() == Reach::device);
}

bool LocationWrite::carries_no_more_than(const LocationWrite& other, const WriteRanks& ranks) const {
  if (!message) return true;
  static const Message nothing;
  const bool are_read_alike = is_strong == other.is_strong && reach == other.reach &&
                              (reach == Reach::device || writer.block == other.writer.block);
  const Message& theirs = other.message && are_read_alike ? *other.message : nothing;
  if (!theirs.device.includes(message->device, ranks)) return false;
  return std::ranges::all_of(message->blocks, [&](const auto& block) {
    const auto same = std::ranges::find(theirs.blocks, block.first, [](const auto& b) { return b.first; });
    if (same == theirs.blocks.end()) return theirs.device.includes(block.second, ranks);
    if (same->second.includes(block.second, ranks)) return true;
    KnownWrites known = same->second;
    known.join(theirs.device, ranks);
    return known.includes(block.second, ranks);
  });
}

}  // namespace scanlab::vgpu
