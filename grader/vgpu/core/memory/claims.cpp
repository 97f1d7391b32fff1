#include "vgpu/core/memory/claims.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

namespace scanlab::vgpu {
namespace {

/// Copies that one thread may hold: a round writes much less, unless its blocks differ a lot from those before.
constexpr std::size_t most_copies = (256u << 20) / page_bytes;
/// Address space is reserved for so much memory at least.
constexpr std::uint64_t least_extent = 64u << 20;

}  // namespace

void* reserve_zeros(std::uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return p;
}

void Pages::begin_round(const Memory& memory) {
  arena_ = memory.host(global_window);
  round_ += 2;
  if (memory.extent() <= extent_ && round_ != 0) return;
  const std::uint64_t wanted = std::max(least_extent, std::bit_ceil(memory.extent()));
  extent_ = 0;
  states_.reset(wanted / page_bytes);
  extent_ = wanted;
  round_ = 2;
}

bool Pages::must_copy(std::uint64_t page) {
  std::atomic<std::uint32_t>& s = states_[page];
  std::uint32_t seen = s.load(std::memory_order_acquire);
  if (seen < round_ && s.compare_exchange_strong(seen, round_, std::memory_order_acquire)) return true;
  while (s.load(std::memory_order_acquire) != round_ + 1) std::this_thread::yield();
  return false;
}

// --- what blocks have touched ----------------------------------------------------------------------------------------

void Claims::Touches::make_room(std::uint64_t extent) {
  read.reset(extent / granule_bytes / 64);
  written.reset(extent / granule_bytes / 64);
  pages.reset(extent / page_bytes);
}

void Claims::Touches::touch(std::uint64_t page, How how) {
  if (!pages[page]) touched.push_back(page);
  put(pages[page], static_cast<std::uint8_t>(pages[page] | how));
}

void Claims::Touches::add(std::uint64_t page, const Touches& other) {
  touch(page, static_cast<How>(other.pages[page]));
  for (std::uint64_t k = page * words_a_page; k < (page + 1) * words_a_page; ++k) {
    put(read[k], read[k] | other.read[k]);
    put(written[k], written[k] | other.written[k]);
  }
}

void Claims::Touches::clear(std::uint64_t page) {
  const auto clear_words = [&](std::uint64_t* words) {
    for (std::uint64_t k = page * words_a_page; k < (page + 1) * words_a_page; ++k) put(words[k], std::uint64_t{0});
  };
  if (pages[page] & is_read) clear_words(read);
  if (pages[page] & is_written) clear_words(written);
  put(pages[page], std::uint8_t{0});
}

void Claims::Touches::clear() {
  for (const std::uint64_t page : touched) clear(page);
  touched.clear();
}

bool Claims::Touches::conflicts_on(std::uint64_t page, const Touches& other) const {
  const std::uint8_t theirs = seen(other.pages[page]);
  if (!theirs || !((pages[page] | theirs) & is_written)) return false;
  std::uint64_t both = 0;
  for (std::uint64_t k = page * words_a_page; k < (page + 1) * words_a_page; ++k) {
    const std::uint64_t their_writes = seen(other.written[k]);
    both |= (written[k] & (their_writes | seen(other.read[k]))) | (read[k] & their_writes);
  }
  return both != 0;
}

bool Claims::Touches::conflicts_with(const Touches& other) const {
  return std::any_of(touched.begin(), touched.end(), [&](std::uint64_t page) { return conflicts_on(page, other); });
}

// --- claims ----------------------------------------------------------------------------------------------------------

void Claims::begin_round() {
  now_.clear();
  before_.clear();
  copied_pages_.clear();
}

void Claims::make_room() {
  if (extent_ == pages_.extent()) return;
  begin_round();
  extent_ = 0;
  now_.make_room(pages_.extent());
  before_.make_room(pages_.extent());
  extent_ = pages_.extent();
}

void Claims::first_read(std::uint64_t from, std::uint64_t last) {
  for (std::uint64_t page = from / page_bytes; page <= last / page_bytes; ++page) now_.touch(page, is_read);
}

void Claims::first_write(std::uint64_t from, std::uint64_t last) {
  for (std::uint64_t page = from / page_bytes; page <= last / page_bytes; ++page) {
    if (now_.pages[page] & is_written) continue;
    // What can fail comes first: others wait for a copy that has begun.
    std::byte* const copy = room_for_copy();
    now_.touch(page, is_written);
    if (!pages_.must_copy(page)) continue;
    std::memcpy(copy, pages_.arena() + page * page_bytes, page_bytes);
    copied_pages_.push_back(page);
    pages_.copied(page);
  }
}

std::byte* Claims::room_for_copy() {
  const std::size_t k = copied_pages_.size();
  if (k >= most_copies) too_much_.store(true, std::memory_order_relaxed);
  if (k / copies_a_chunk == copies_.size()) {
    copies_.push_back(std::make_unique_for_overwrite<std::byte[]>(copies_a_chunk * page_bytes));
    copied_pages_.reserve(copies_.size() * copies_a_chunk);
  }
  return &copies_[k / copies_a_chunk][k % copies_a_chunk * page_bytes];
}

bool Claims::conflicts_with(const Claims& other) const {
  for (const Touches* mine : {&now_, &before_})
    for (const Touches* theirs : {&other.now_, &other.before_})
      if (mine->conflicts_with(*theirs)) return true;
  return false;
}

bool Claims::set_apart() {
  std::size_t kept = 0;
  for (const std::uint64_t page : now_.touched) {
    const std::uint8_t mine = now_.pages[page], earlier = before_.pages[page];
    if (!((mine | earlier) & is_written)) {
      // Usually no block ever writes there, and what is read need not be kept apart.
      before_.touch(page, was_read);
      now_.touched[kept++] = page;
      continue;
    }
    // Which blocks have read what of a page that is written now is no longer known.
    if (earlier & was_read || now_.conflicts_on(page, before_)) return false;
    before_.add(page, now_);
    now_.clear(page);
  }
  now_.touched.resize(kept);
  return true;
}

void Claims::restore() const {
  for (std::size_t k = 0; k < copied_pages_.size(); ++k)
    std::memcpy(pages_.arena() + copied_pages_[k] * page_bytes,
                &copies_[k / copies_a_chunk][k % copies_a_chunk * page_bytes], page_bytes);
}

}  // namespace scanlab::vgpu
