#include "vgpu/checks/flag_trail.hpp"

namespace scanlab::vgpu {

void FlagTrail::set(const Touch& touch, BlockClocks::Stamp now) {
  const auto own = trails_.find(touch.thread);
  flags_[touch.location] = {touch, now, own != trails_.end() ? own->second : nullptr};
}

void FlagTrail::see(const Touch& touch, bool is_lock) {
  const auto found = flags_.find(touch.location);
  if (found == flags_.end()) return;
  const Flag& flag = found->second;
  if (flag.touch.thread == touch.thread || (flag.touch.is_count && touch.is_count)) return;
  if (const Seen* const known = seen(touch.thread, flag.touch.thread); known && known->until >= flag.stamp) return;
  std::shared_ptr<const Trail>& own = trails_[touch.thread];
  auto made = own ? std::make_shared<Trail>(*own) : std::make_shared<Trail>();
  const auto add = [&](unsigned thread, const Seen& seen) {
    Seen& known = (*made)[thread];
    if (seen.until > known.until) known = seen;
  };
  if (flag.trail)
    for (const auto& [thread, seen] : *flag.trail) add(thread, seen);
  add(flag.touch.thread, {flag.stamp, flag.touch.line, touch.line, is_lock});
  own = std::move(made);
}

const FlagTrail::Seen* FlagTrail::seen(unsigned thread, unsigned other) const {
  const auto own = trails_.find(thread);
  if (own == trails_.end()) return nullptr;
  const auto of = own->second->find(other);
  return of != own->second->end() ? &of->second : nullptr;
}

}  // namespace scanlab::vgpu
