#include "vgpu/core/memory/thread_view.hpp"

#include <algorithm>
#include <utility>

namespace scanlab::vgpu {

ThreadView::AtLocation& ThreadView::at(std::vector<AtLocation>& all, std::uint32_t location) {
  const auto known = std::ranges::find(all, location, &AtLocation::location);
  return known == all.end() ? all.emplace_back(location) : *known;
}

void ThreadView::observe(std::uint32_t location, const LocationWrite& w, const StrongAccess& access,
                         const WriteRanks& ranks) {
  const std::uint64_t block = access.actor.block;
  if (access.is_reduction) return;
  if (w.message && w.is_strong_together_with(access)) {
    KnownWrites to_block, to_device = w.message->device;
    for (const auto& [b, known] : w.message->blocks)
      if (b == block) to_block = known;
    if (!to_block.is_empty() || !to_device.is_empty()) {
      AtLocation& here = at(pending_, location);
      here.block.join(to_block, ranks);
      here.device.join(to_device, ranks);
    }
  }
  if (!access.acquires()) return;
  for (const AtLocation& p : pending_) {
    if (p.location != location) continue;
    now.join(p.block, ranks);
    if (access.reach() == Reach::device) now.join(p.device, ranks);
  }
}

void ThreadView::release(std::uint32_t location, Reach reach) {
  now.settle();
  AtLocation& here = at(released_, location);
  here.block = now;
  if (reach == Reach::device) here.device = now;
}

std::shared_ptr<const LocationWrite::Message> ThreadView::message(std::uint32_t location, const StrongAccess& access,
                                                                  const LocationWrite* before,
                                                                  const WriteRanks& ranks) const {
  LocationWrite::Message message;
  KnownWrites to_block = released_to_block_;
  message.device = released_to_device_;
  for (const AtLocation& r : released_)
    if (r.location == location) {
      to_block.join(r.block, ranks);
      message.device.join(r.device, ranks);
    }
  if (!to_block.is_empty()) message.of_block(access.actor.block) = std::move(to_block);
  if (before && before->message && before->is_strong_together_with(access)) message.join(*before->message, ranks);
  if (message.is_empty()) return nullptr;
  message.settle();
  return std::make_shared<const LocationWrite::Message>(std::move(message));
}

bool ThreadView::has_released_to(std::uint32_t location) const {
  return !released_to_block_.is_empty() || !released_to_device_.is_empty() ||
         std::ranges::find(released_, location, &AtLocation::location) != released_.end();
}

void ThreadView::acquire_all(Reach reach, const WriteRanks& ranks) {
  for (AtLocation& p : pending_) {
    now.join(p.block, ranks);
    p.block.clear();
    if (reach == Reach::device) now.join(p.device, ranks);
  }
  if (reach == Reach::device) pending_.clear();
}

void ThreadView::release_all(Reach reach) {
  now.settle();
  released_to_block_ = now;
  if (reach == Reach::device) released_to_device_ = now;
}

}  // namespace scanlab::vgpu
