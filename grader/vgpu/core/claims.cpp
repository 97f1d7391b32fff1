#include "vgpu/core/claims.hpp"

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

ZeroPages::~ZeroPages() {
  if (begin_) munmap(begin_, bytes_);
}

void ZeroPages::reset(std::uint64_t bytes) {
  if (begin_) munmap(begin_, bytes_);
  begin_ = nullptr;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  begin_ = p;
  bytes_ = bytes;
}

void Pages::begin_round(const Memory& memory) {
  arena_ = memory.host(global_window);
  round_ += 2;
  if (memory.extent() <= extent_ && round_ != 0) return;
  const std::uint64_t wanted = std::max(least_extent, std::bit_ceil(memory.extent()));
  states_.reset(wanted / page_bytes * sizeof(std::uint32_t));
  extent_ = wanted;
  round_ = 2;
}

bool Pages::must_copy(std::uint64_t page) {
  std::atomic<std::uint32_t>& s = state(page);
  std::uint32_t seen = s.load(std::memory_order_acquire);
  if (seen < round_ && s.compare_exchange_strong(seen, round_, std::memory_order_acquire)) return true;
  while (s.load(std::memory_order_acquire) != round_ + 1) std::this_thread::yield();
  return false;
}

void Claims::begin_round() {
  clear();
  if (extent_ == pages_.extent()) return;
  extent_ = pages_.extent();
  read_memory_.reset(extent_ / granule_bytes / 8);
  written_memory_.reset(extent_ / granule_bytes / 8);
  touched_memory_.reset(extent_ / page_bytes);
  read_ = read_memory_.as<std::uint64_t>();
  written_ = written_memory_.as<std::uint64_t>();
  touched_ = touched_memory_.as<std::uint8_t>();
}

void Claims::touch(std::uint64_t page, Touched how) {
  if (!touched_[page]) touched_pages_.push_back(page);
  touched_[page] |= how;
}

void Claims::first_read(std::uint64_t from, std::uint64_t last) {
  for (std::uint64_t page = from / page_bytes; page <= last / page_bytes; ++page) touch(page, is_read);
}

void Claims::first_write(std::uint64_t from, std::uint64_t last) {
  for (std::uint64_t page = from / page_bytes; page <= last / page_bytes; ++page) {
    if (touched_[page] & is_written) continue;
    // What can fail comes first: others wait for a copy that has begun.
    std::byte* const copy = room_for_copy();
    touch(page, is_written);
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
  return std::any_of(touched_pages_.begin(), touched_pages_.end(), [&](std::uint64_t page) {
    if (!(touched_[page] & is_written) || !other.touched_[page]) return false;
    std::uint64_t both = 0;
    for (std::uint64_t k = page * words_a_page; k < (page + 1) * words_a_page; ++k)
      both |= written_[k] & (other.read_[k] | other.written_[k]);
    return both != 0;
  });
}

void Claims::restore() const {
  for (std::size_t k = 0; k < copied_pages_.size(); ++k)
    std::memcpy(pages_.arena() + copied_pages_[k] * page_bytes,
                &copies_[k / copies_a_chunk][k % copies_a_chunk * page_bytes], page_bytes);
}

void Claims::clear() {
  for (const std::uint64_t page : touched_pages_) {
    if (touched_[page] & is_read) std::memset(read_ + page * words_a_page, 0, words_a_page * sizeof *read_);
    if (touched_[page] & is_written) std::memset(written_ + page * words_a_page, 0, words_a_page * sizeof *written_);
    touched_[page] = 0;
  }
  touched_pages_.clear();
  copied_pages_.clear();
}

}  // namespace scanlab::vgpu
