#include "vgpu/core/memory/locations.hpp"

#include <cstring>
#include <utility>

#include "vgpu/core/memory/instant.hpp"

namespace scanlab::vgpu {

Location Location::mixed(Address address, std::uint32_t bytes, std::shared_ptr<const LocationWrite::Message> message) {
  Location made(address, bytes, 0);
  made.is_mixed_ = true;
  made.all().message = std::move(message);
  made.all().is_strong = true;
  return made;
}

std::uint32_t Location::insert(std::uint32_t before, LocationWrite write, std::size_t most_kept) {
  if (order_.size() > most_kept && before == newest()) forget_older_half();
  const std::uint32_t made = count();
  const std::uint32_t place = of(before).rank + 1;
  write.rank = place;
  order_.insert(order_.begin() + place, made);
  writes_.push_back(std::move(write));
  for (std::size_t k = place + 1; k < order_.size(); ++k) ++of(order_[k]).rank;
  return made;
}

/// Only where modification order is the order in which the writes were made.
void Location::forget_older_half() {
  if (newest() != count() - 1 || !std::ranges::is_sorted(order_)) return;
  const std::size_t half = order_.size() / 2;
  forgotten_ = order_[half];
  writes_.erase(writes_.begin(), writes_.begin() + static_cast<std::ptrdiff_t>(half));
  order_.erase(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(half));
  for (std::size_t k = 0; k < order_.size(); ++k) writes_[k].rank = static_cast<std::uint32_t>(k);
}

Locations::Locations(Memory& memory) : memory_(memory), filter_(filter_bits / 64) {}

std::span<const std::byte> Locations::value_of(std::uint32_t location, std::uint32_t write) const {
  const Location& at = locations_[location];
  const bool is_newest = write == at.newest();
  return {is_newest ? memory_.host(at.address()) : at.of(write).value.data(), at.bytes()};
}

std::uint32_t Locations::at(Address address, std::uint32_t bytes, std::uint32_t line) {
  const std::uint64_t granule = address / granule_bytes;
  std::vector<std::uint32_t>& here = granules_[granule];
  bool overlaps = false;
  for (const std::uint32_t k : here) {
    const Location& known = locations_[k];
    if (known.is_mixed() || known.is_at(address, bytes)) return k;
    const bool is_here = known.overlaps(address, bytes);
    if (is_here && !mixed_sizes_) mixed_sizes_ = {known.line(), line};
    overlaps |= is_here;
  }
  if (overlaps) {
    make_mixed(granule);
    return here.front();
  }
  const auto location = static_cast<std::uint32_t>(locations_.size());
  here.push_back(location);
  const std::size_t place = filter_place(granule);
  filter_[place / 64] |= std::uint64_t{1} << place % 64;
  locations_.emplace_back(address, bytes, line);
  return location;
}

void Locations::make_mixed(std::uint64_t granule) {
  std::vector<std::uint32_t>& here = granules_[granule];
  const auto all = std::make_shared<LocationWrite::Message>();
  for (const std::uint32_t k : here)
    for (const LocationWrite& w : locations_[k].writes())
      if (w.message) all->join(*w.message, *this);
  here.assign(1, static_cast<std::uint32_t>(locations_.size()));
  locations_.push_back(Location::mixed(granule * granule_bytes, granule_bytes, all));
}

std::uint32_t Locations::append(std::uint32_t location, LocationWrite write, std::uint32_t line) {
  Location& at = locations_[location];
  if (is_exact() && at.order().size() > most_kept_ && !cut_off_) cut_off_ = line;
  std::memcpy(at.of(at.newest()).value.data(), memory_.host(at.address()), at.bytes());
  return at.insert(at.newest(), std::move(write), most_kept_);
}

std::uint32_t Locations::insert(std::uint32_t location, std::uint32_t before, LocationWrite write) {
  return locations_[location].insert(before, std::move(write), most_kept_);
}

std::uint32_t Locations::rank(KnownWrite write) const {
  if (InstantLocations::has(write.location)) return write.write;
  const Location& at = locations_[write.location];
  return at.is_mixed() ? 0 : at.rank(write.write);
}

std::uint32_t ValueRanks::rank(KnownWrite write) const {
  if (InstantLocations::has(write.location) || write.location == location_) return 0;
  const Location& at = locations_[write.location];
  std::uint32_t rank = locations_.rank(write);
  while (rank > 0 && at.of(at.order()[rank]).is_repeat) --rank;
  return rank;
}

}  // namespace scanlab::vgpu
