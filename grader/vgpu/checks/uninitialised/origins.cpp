#include "vgpu/checks/uninitialised/origins.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace scanlab::vgpu {

void Origins::add(Origin origin) {
  std::erase_if(origins_, [&](const Origin& o) { return o.begin >= origin.begin && o.end <= origin.end; });
  origins_.push_front(std::move(origin));
  if (origins_.size() > most) origins_.pop_back();
}

void Origins::copy(Address to, Address from, std::uint64_t bytes) {
  std::vector<Origin> copies;
  for (const Origin& o : origins_) {
    if (o.end <= from || o.begin >= from + bytes) continue;
    Origin copy = o;
    copy.begin = std::max(o.begin, from) - from + to;
    copy.end = std::min(o.end, from + bytes) - from + to;
    copies.push_back(std::move(copy));
  }
  for (std::size_t k = copies.size(); k-- > 0;) add(std::move(copies[k]));
}

void Origins::forget(Address address, std::uint64_t bytes) {
  std::erase_if(origins_, [&](const Origin& o) { return o.begin >= address && o.end <= address + bytes; });
}

Origin* Origins::find(Address address) {
  const auto found =
      std::ranges::find_if(origins_, [&](const Origin& o) { return o.begin <= address && address < o.end; });
  return found == origins_.end() ? nullptr : &*found;
}

}  // namespace scanlab::vgpu
