// Numbers by keys of 64 bits: what a map is for, where there are hundreds of thousands of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace scanlab::vgpu {

/// An open hash table, at most half full.
class KeyTable {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit KeyTable(std::size_t expected = 0) : entries_(std::bit_ceil(2 * expected + 8)) {}

  /// What is there, or `none`.
  std::uint32_t find(std::uint64_t key) const { return entries_[slot_of(key)].number; }
  /// The key will be asked for: the tables are larger than caches.
  void expect(std::uint64_t key) const { __builtin_prefetch(&entries_[first_slot(key)]); }
  /// The number there, for the caller to set when it is `none`: the key is then new.
  std::uint32_t& operator[](std::uint64_t key) {
    if (2 * (used_ + 1) > entries_.size()) grow();
    Entry& entry = entries_[slot_of(key)];
    if (entry.number == none) ++used_;
    entry.key = key;
    return entry.number;
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t number = none;  ///< of a free one
  };

  std::size_t first_slot(std::uint64_t key) const {
    return (key * 0x9E37'79B9'7F4A'7C15) >> (64 - std::countr_zero(entries_.size()));
  }
  std::size_t slot_of(std::uint64_t key) const {
    std::size_t slot = first_slot(key);
    while (entries_[slot].number != none && entries_[slot].key != key) slot = (slot + 1) & (entries_.size() - 1);
    return slot;
  }
  void grow() {
    const std::vector<Entry> before = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    for (const Entry& entry : before)
      if (entry.number != none) entries_[slot_of(entry.key)] = entry;
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

}  // namespace scanlab::vgpu
