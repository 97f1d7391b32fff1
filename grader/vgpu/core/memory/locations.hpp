// The locations of strong accesses in global memory, and the writes to each in modification order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "vgpu/core/memory/known_writes.hpp"
#include "vgpu/core/memory/location_write.hpp"
#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// The bytes of strong accesses of one size. Writes are numbered in the order in which they were made, from 0, the
/// initial value.
class Location {
 public:
  Location(Address address, std::uint32_t bytes, std::uint32_t line) : address_(address), bytes_(bytes), line_(line) {}
  /// The location of a granule in which accesses of different sizes overlap: each reads the latest value, and learns
  /// what all writes before it have released. Its only write stands for them all, and carries `message`.
  static Location mixed(Address address, std::uint32_t bytes, std::shared_ptr<const LocationWrite::Message> message);

  Address address() const { return address_; }
  std::uint32_t bytes() const { return bytes_; }
  std::uint32_t line() const { return line_; }
  bool is_mixed() const { return is_mixed_; }
  bool is_at(Address address, std::uint32_t bytes) const { return address_ == address && bytes_ == bytes; }
  bool overlaps(Address address, std::uint64_t bytes) const {
    return address_ < address + bytes && address < address_ + bytes_;
  }

  LocationWrite& of(std::uint32_t write) { return writes_[write - forgotten_]; }
  const LocationWrite& of(std::uint32_t write) const { return writes_[write - forgotten_]; }
  /// Whether no thread can read the write any more. It is older than all that are kept.
  bool is_forgotten(std::uint32_t write) const { return write < forgotten_; }
  std::uint32_t rank(std::uint32_t write) const { return is_forgotten(write) ? 0 : of(write).rank; }
  std::span<const std::uint32_t> order() const { return order_; }
  std::uint32_t newest() const { return order_.back(); }
  const std::vector<LocationWrite>& writes() const { return writes_; }
  /// The write that stands for all, where the location is mixed.
  LocationWrite& all() { return writes_.front(); }
  const LocationWrite& all() const { return writes_.front(); }

  /// Sets `to` to the writes, newest first, that a thread may choose which knows of `known`, and whose places in
  /// modification order satisfy is_offered(place); of the newest 64, or, with `is_exact`, to the newest 64 that do.
  /// False: with `is_exact`, there are more.
  template <class IsOffered>
  bool offer(std::vector<std::uint32_t>& to, std::uint32_t known, bool is_exact, IsOffered is_offered) const {
    to.clear();
    const std::size_t most = is_exact ? order_.size() : std::min(most_offered, order_.size());
    const std::size_t oldest = std::max<std::size_t>(rank(known), order_.size() - most);
    for (std::size_t k = order_.size(); k-- > oldest;) {
      if (!is_offered(k)) continue;
      if (to.size() == most_offered) return false;
      to.push_back(order_[k]);
    }
    return true;
  }
  /// Whether another write may come right behind the one at this place.
  bool has_place_behind(std::size_t place) const {
    return place + 1 == order_.size() || !of(order_[place + 1]).is_tied;
  }
  /// Makes a write right behind `before` in modification order, and returns its number. Where that is the newest of
  /// more than `most_kept` writes, the older half of them is forgotten.
  std::uint32_t insert(std::uint32_t before, LocationWrite write, std::size_t most_kept);

 private:
  static constexpr std::size_t most_offered = 64;

  std::uint32_t count() const { return forgotten_ + static_cast<std::uint32_t>(writes_.size()); }
  void forget_older_half();

  Address address_ = 0;
  std::uint32_t bytes_ = 0;
  std::uint32_t line_ = 0;  ///< of the first access
  bool is_mixed_ = false;
  std::vector<LocationWrite> writes_ = std::vector<LocationWrite>(1);  ///< without those that are forgotten
  std::vector<std::uint32_t> order_{0};                                ///< the same in modification order, by number
  std::uint32_t forgotten_ = 0;                                        ///< how many of the first writes are not kept
};

/// The lines of two strong accesses that have different sizes and overlap.
struct MixedSizes {
  std::uint32_t line = 0, other_line = 0;
};

/// The locations of a launch, by number, in the order of their first accesses. Ranks include those of instants.
class Locations final : public WriteRanks {
 public:
  explicit Locations(Memory& memory);

  bool is_empty() const { return locations_.empty(); }
  Location& operator[](std::uint32_t location) { return locations_[location]; }
  const Location& operator[](std::uint32_t location) const { return locations_[location]; }
  const LocationWrite& write_of(std::uint32_t location, std::uint32_t write) const {
    return locations_[location].of(write);
  }
  /// From now on no write is forgotten, and none left out of what is offered, unless `cut_off` says so.
  void be_exact() { most_kept_ = most_kept_exactly; }
  bool is_exact() const { return most_kept_ == most_kept_exactly; }
  /// The line of an access to a location with too many writes.
  const std::optional<std::uint32_t>& cut_off() const { return cut_off_; }
  /// The same as Location::offer, for an access on `line`.
  template <class IsOffered>
  void offer(std::vector<std::uint32_t>& to, std::uint32_t location, std::uint32_t known, std::uint32_t line,
             IsOffered is_offered) {
    if (!locations_[location].offer(to, known, is_exact(), is_offered) && !cut_off_) cut_off_ = line;
  }
  /// The value that a write has left. That of the newest stands in memory.
  std::span<const std::byte> value_of(std::uint32_t location, std::uint32_t write) const;

  /// The location of an access on `line`, which may be the first there.
  std::uint32_t at(Address address, std::uint32_t bytes, std::uint32_t line);
  /// Calls visit(location) for each location that overlaps these bytes, except mixed ones.
  template <class Visit>
  void for_each_in(Address address, std::uint64_t bytes, Visit visit) const;

  /// Makes the newest write, on `line`. Its value has to be stored in memory after this call.
  std::uint32_t append(std::uint32_t location, LocationWrite write, std::uint32_t line);
  /// Makes a write right behind `before`, which is not the newest.
  std::uint32_t insert(std::uint32_t location, std::uint32_t before, LocationWrite write);

  std::uint32_t rank(KnownWrite write) const override;
  /// The first accesses of different sizes that overlapped. What the memory model allows there is not all shown.
  const std::optional<MixedSizes>& mixed_sizes() const { return mixed_sizes_; }

 private:
  static constexpr std::uint64_t granule_bytes = 16;  // no strong access crosses a granule
  static constexpr std::size_t filter_bits = 1 << 16;
  static constexpr std::size_t most_kept_usually = 1024, most_kept_exactly = 4096;

  static std::size_t filter_place(std::uint64_t granule) {
    return static_cast<std::size_t>(granule * 0x9E3779B97F4A7C15ull >> 48) % filter_bits;
  }
  void make_mixed(std::uint64_t granule);

  Memory& memory_;
  std::vector<Location> locations_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> granules_;  ///< locations by address / granule_bytes
  std::vector<std::uint64_t> filter_;  ///< bits: whether the granule may have locations
  std::optional<MixedSizes> mixed_sizes_;
  std::size_t most_kept_ = most_kept_usually;
  std::optional<std::uint32_t> cut_off_;
};

/// Ranks that compare known values: a write that repeats the value before it is no newer than that one. They leave out
/// the writes to `location`, because its readers know them anyhow, and instants, because those order plain accesses
/// only, on which no value depends.
class ValueRanks final : public WriteRanks {
 public:
  ValueRanks(const Locations& locations, std::uint32_t location) : locations_(locations), location_(location) {}
  std::uint32_t rank(KnownWrite write) const override;

 private:
  const Locations& locations_;
  const std::uint32_t location_;
};

template <class Visit>
void Locations::for_each_in(Address address, std::uint64_t bytes, Visit visit) const {
  for (std::uint64_t g = address / granule_bytes; g <= (address + bytes - 1) / granule_bytes; ++g) {
    const std::size_t place = filter_place(g);
    if (!(filter_[place / 64] >> place % 64 & 1)) continue;
    const auto found = granules_.find(g);
    if (found == granules_.end()) continue;
    for (const std::uint32_t k : found->second) {
      const Location& at = locations_[k];
      if (!at.is_mixed() && at.overlaps(address, bytes)) visit(k);
    }
  }
}

}  // namespace scanlab::vgpu
