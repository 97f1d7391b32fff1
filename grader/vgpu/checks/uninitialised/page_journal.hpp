// Pages of global memory as they were: so that a launch can be run again, and leaves no trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/checks/byte_set.hpp"
#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

class PageJournal {
 public:
  struct Page {
    std::uint64_t number = 0;  ///< from the beginning of the window
    std::byte bytes[page_bytes];
    ByteSet::PageBits defined;
    ByteSet::PageBits stored;  ///< see `note_store`
  };

  PageJournal(Memory& memory, ByteSet& defined) : memory_(memory), defined_(defined) {}

  void clear();
  /// Keeps the page as it is now, unless it has been kept before.
  Page& save(std::uint64_t number);
  /// Keeps the pages that a store is about to change, and which of their bytes it changes.
  void note_store(Address address, std::uint64_t bytes);
  /// Swaps memory and the journal: once, memory is as it was; twice, as it is now.
  void swap();

  std::size_t size() const { return count_; }
  const Page& page(std::size_t k) const { return *pages_[k]; }
  const Page* find(std::uint64_t number) const;
  /// The byte as it is here, or else in memory.
  std::byte at(Address address) const;

 private:
  Memory& memory_;
  ByteSet& defined_;
  std::vector<std::unique_ptr<Page>> pages_;  ///< the first `count_` are in use
  std::size_t count_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> places_;  ///< by number
  std::uint64_t last_ = ~std::uint64_t{0};                 ///< number of the page that was asked for last
  Page* last_page_ = nullptr;
};

}  // namespace scanlab::vgpu
