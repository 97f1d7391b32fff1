#include "vgpu/core/memory/known_writes.hpp"

#include <algorithm>

namespace scanlab::vgpu {

std::uint32_t KnownWrites::of(std::uint32_t location) const {
  for (const KnownWrite& k : own_)
    if (k.location == location) return k.write;
  if (!shared_) return 0;
  const auto at = std::ranges::lower_bound(*shared_, location, {}, &KnownWrite::location);
  return at != shared_->end() && at->location == location ? at->write : 0;
}

void KnownWrites::set(KnownWrite write) {
  for (KnownWrite& k : own_)
    if (k.location == write.location) return void(k.write = write.write);
  own_.push_back(write);
  if (own_.size() > most_own) settle();
}

void KnownWrites::settle() {
  if (own_.empty()) return;
  std::ranges::sort(own_, {}, &KnownWrite::location);
  auto merged = std::make_shared<Entries>();
  merged->reserve(own_.size() + (shared_ ? shared_->size() : 0));
  auto own = own_.begin();
  if (shared_)
    for (const KnownWrite& k : *shared_) {
      while (own != own_.end() && own->location < k.location) merged->push_back(*own++);
      if (own != own_.end() && own->location == k.location)
        merged->push_back(*own++);
      else
        merged->push_back(k);
    }
  merged->insert(merged->end(), own, own_.end());
  shared_ = std::move(merged);
  own_.clear();
}

bool KnownWrites::includes(const KnownWrites& other, const WriteRanks& ranks) const {
  const auto has = [&](const KnownWrite& k) {
    const std::uint32_t mine = of(k.location);
    return mine == k.write || ranks.rank({k.location, mine}) >= ranks.rank(k);
  };
  if (!std::ranges::all_of(other.own_, has)) return false;
  return !other.shared_ || other.shared_ == shared_ || std::ranges::all_of(*other.shared_, has);
}

void KnownWrites::join(const KnownWrites& other, const WriteRanks& ranks) {
  if (other.is_empty()) return;
  if (is_empty()) return void(*this = other);
  const auto newer = [&](const KnownWrite& k, std::uint32_t mine) {
    return mine != k.write && ranks.rank(k) > ranks.rank({k.location, mine});
  };
  const auto take = [&](const KnownWrite& k) {
    if (newer(k, of(k.location))) set(k);
  };
  if (other.shared_ && other.shared_ != shared_) {
    if (!shared_ || other.shared_->size() > most_own) {
      // One pass over both, and nothing new where one of them has it all.
      settle();
      auto merged = std::make_shared<Entries>();
      merged->reserve(shared_->size() + other.shared_->size());
      bool takes = false, gives = false;  // does either know more than the other?
      auto mine = shared_->begin(), theirs = other.shared_->begin();
      while (mine != shared_->end() || theirs != other.shared_->end()) {
        if (theirs == other.shared_->end() || (mine != shared_->end() && mine->location < theirs->location)) {
          merged->push_back(*mine++);
          gives = true;
        } else if (mine == shared_->end() || theirs->location < mine->location) {
          merged->push_back(*theirs++);
          takes = true;
        } else {
          const bool is_newer = newer(*theirs, mine->write);
          takes |= is_newer;
          gives |= !is_newer && theirs->write != mine->write;
          merged->push_back(is_newer ? *theirs : *mine);
          ++mine, ++theirs;
        }
      }
      if (takes) shared_ = gives ? std::move(merged) : other.shared_;
    } else {
      for (const KnownWrite& k : *other.shared_) take(k);
    }
  }
  for (const KnownWrite& k : other.own_) take(k);
}

}  // namespace scanlab::vgpu
