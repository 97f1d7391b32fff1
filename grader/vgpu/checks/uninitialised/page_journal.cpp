#include "vgpu/checks/uninitialised/page_journal.hpp"

#include <algorithm>
#include <cstring>

#include "vgpu/checks/byte_bits.hpp"

namespace scanlab::vgpu {

void PageJournal::clear() {
  count_ = 0;
  places_.clear();
  last_ = ~std::uint64_t{0};
}

PageJournal::Page& PageJournal::save(std::uint64_t number) {
  if (number == last_) return *last_page_;
  const auto [place, is_new] = places_.try_emplace(number, count_);
  if (is_new) {
    if (count_ == pages_.size()) pages_.push_back(std::make_unique_for_overwrite<Page>());
    Page& page = *pages_[count_++];
    page.number = number;
    std::memcpy(page.bytes, memory_.host(global_window + number * page_bytes), page_bytes);
    std::copy_n(defined_.page(number), ByteSet::words_a_page, page.defined.begin());
    page.stored.fill(0);
  }
  last_ = number;
  last_page_ = pages_[place->second].get();
  return *last_page_;
}

void PageJournal::note_store(Address address, std::uint64_t bytes) {
  std::uint64_t from = address - global_window;
  const std::uint64_t end = from + bytes;
  while (from < end) {
    const std::uint64_t number = from / page_bytes, stop = std::min(end, (number + 1) * page_bytes);
    set_bits(save(number).stored.data(), from % page_bytes, stop - from);
    from = stop;
  }
}

void PageJournal::swap() {
  for (std::size_t k = 0; k < count_; ++k) {
    Page& page = *pages_[k];
    std::swap_ranges(page.bytes, page.bytes + page_bytes, memory_.host(global_window + page.number * page_bytes));
    std::swap_ranges(page.defined.begin(), page.defined.end(), defined_.page(page.number));
  }
}

const PageJournal::Page* PageJournal::find(std::uint64_t number) const {
  const auto place = places_.find(number);
  return place == places_.end() ? nullptr : pages_[place->second].get();
}

std::byte PageJournal::at(Address address) const {
  const Page* const page = find((address - global_window) / page_bytes);
  return page ? page->bytes[(address - global_window) % page_bytes] : *memory_.host(address);
}

}  // namespace scanlab::vgpu
