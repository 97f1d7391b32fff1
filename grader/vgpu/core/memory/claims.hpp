// Which global memory the blocks that one host thread runs have read and written, and what it held before: so that
// blocks can run on several host threads at once, and it is verified afterwards that none saw what another did.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// Address space for `bytes`, all zeros; memory is taken where it is written. Throws std::bad_alloc.
void* reserve_zeros(std::uint64_t bytes);

/// An array that holds zeros until something is written; memory is taken where it is written.
template <class T>
class ZeroArray {
 public:
  ZeroArray() = default;
  explicit ZeroArray(std::uint64_t count) { reset(count); }
  ~ZeroArray() { reset(0); }
  ZeroArray(const ZeroArray&) = delete;
  ZeroArray& operator=(const ZeroArray&) = delete;
  /// Makes it `count` elements large, all zeros. Throws std::bad_alloc.
  void reset(std::uint64_t count) {
    if (begin_) munmap(std::exchange(begin_, nullptr), count_ * sizeof(T));
    if ((count_ = count)) begin_ = static_cast<T*>(reserve_zeros(count * sizeof(T)));
  }
  operator T*() const { return begin_; }

 private:
  T* begin_ = nullptr;
  std::uint64_t count_ = 0;
};

/// What the threads of a team share: which pages of global memory have been copied in this round, so that each is
/// copied once, before its first write.
class Pages {
 public:
  /// A new round: no page has been copied.
  void begin_round(const Memory& memory);

  std::byte* arena() const { return arena_; }
  std::uint64_t extent() const { return extent_; }
  /// True when the caller has to copy this page, and then to call `copied`. False: it has been copied; waits until
  /// that is so.
  bool must_copy(std::uint64_t page);
  void copied(std::uint64_t page) { states_[page].store(round_ + 1, std::memory_order_release); }

 private:
  std::byte* arena_ = nullptr;
  std::uint64_t extent_ = 0;
  std::uint32_t round_ = 0;  ///< even: being copied in this round; + 1: copied; anything lower: not yet
  ZeroArray<std::atomic<std::uint32_t>> states_;  ///< by page
};

/// The claims of one host thread, in granules of 4 bytes: two accesses to the same granule count as two to the same
/// memory. Other threads may look at them at any time.
class Claims {
 public:
  /// `too_much` becomes true when the copies take more memory than they should.
  Claims(Pages& pages, std::atomic<bool>& too_much) : pages_(pages), too_much_(too_much) {}

  /// Makes room for all of global memory. To be called after Pages::begin_round while no thread of the team runs.
  void make_room();
  /// Forgets the round before.
  void begin_round();

  /// An access to `bytes` (at most a page) from `address` on, which have been found valid. A write has to be reported
  /// before it happens.
  [[gnu::always_inline]] void note(AccessKind kind, Address address, std::uint64_t bytes) {
    const std::uint64_t from = address - global_window, last = from + bytes - 1;
    const int ways = now_.pages[from / page_bytes] & now_.pages[last / page_bytes];
    if (kind != AccessKind::write) {
      if (!(ways & is_read)) [[unlikely]]
        first_read(from, last);
      mark(now_.read, from, last);
    }
    if (kind != AccessKind::read) {
      if (!(ways & is_written)) [[unlikely]]
        first_write(from, last);
      mark(now_.written, from, last);
    }
  }
  /// The same for the lanes of `mask`, lane l at `at(l)`.
  template <class At>
  void note_lanes(AccessKind kind, Mask mask, std::uint64_t bytes, At at) {
    for_each_run(mask, bytes, at, [&](Address first, std::uint64_t length) { note(kind, first, length); });
  }
  /// Has one thread written what the other has read or written? While the other runs, only what it has done so far is
  /// seen. To be called by this thread, or after it.
  bool conflicts_with(const Claims& other) const;
  /// The blocks from here on must not conflict with those before. False when those since the last call have done so.
  bool set_apart();
  bool has_set_apart() const { return !before_.touched.empty(); }
  /// Puts back what memory held at the beginning of the round, where this thread has copied it.
  void restore() const;

 private:
  enum How : std::uint8_t {
    is_read = 1,
    is_written = 2,
    was_read = 4,  ///< in `before_`: `now_.read` holds it
  };
  static constexpr std::uint64_t granule_bytes = 4;
  static constexpr std::uint64_t words_a_page = page_bytes / granule_bytes / 64;
  static constexpr std::size_t copies_a_chunk = 64;

  /// What blocks have touched.
  struct Touches {
    ZeroArray<std::uint64_t> read, written;  ///< a bit for each granule
    ZeroArray<std::uint8_t> pages;           ///< How, for each page
    std::vector<std::uint64_t> touched;      ///< pages, in the order of first touches

    void make_room(std::uint64_t extent);
    void touch(std::uint64_t page, How how);
    void add(std::uint64_t page, const Touches& other);
    void clear(std::uint64_t page);
    void clear();
    bool conflicts_on(std::uint64_t page, const Touches& other) const;
    bool conflicts_with(const Touches& other) const;
  };

  /// For other threads that look: no word is ever seen half written.
  template <class T>
  static T seen(const T& word) {
    return std::atomic_ref(const_cast<T&>(word)).load(std::memory_order_relaxed);
  }
  template <class T>
  static void put(T& word, T value) {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
  }

  [[gnu::always_inline]] static void mark(std::uint64_t* words, std::uint64_t from, std::uint64_t last) {
    const std::uint64_t first_granule = from / granule_bytes, last_granule = last / granule_bytes;
    const std::uint64_t low = ~std::uint64_t{0} << first_granule % 64,
                        high = ~std::uint64_t{0} >> (63 - last_granule % 64);
    std::uint64_t* at = words + first_granule / 64;
    std::uint64_t* const end = words + last_granule / 64;
    if (at == end) return put(*at, *at | (low & high));
    put(*at, *at | low);
    while (++at < end) put(*at, ~std::uint64_t{0});
    put(*end, *end | high);
  }

  /// Lanes whose elements lie side by side are one access.
  template <class At, class Visit>
  static void for_each_run(Mask mask, std::uint64_t bytes, At at, Visit visit) {
    if (!mask) return;
    Address first = at(first_lane(mask)), end = first + bytes;
    for (mask &= mask - 1; mask; mask &= mask - 1) {
      const Address next = at(first_lane(mask));
      if (next == end) {
        end += bytes;
      } else if (next != first || end != first + bytes) {
        visit(first, end - first);
        first = next;
        end = next + bytes;
      }
    }
    visit(first, end - first);
  }

  [[gnu::noinline]] void first_read(std::uint64_t from, std::uint64_t last);
  [[gnu::noinline]] void first_write(std::uint64_t from, std::uint64_t last);
  std::byte* room_for_copy();

  Pages& pages_;
  std::atomic<bool>& too_much_;
  Touches now_;
  Touches before_;  ///< until the last set_apart
  std::uint64_t extent_ = 0;
  std::vector<std::uint64_t> copied_pages_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;  ///< of these, `copies_a_chunk` pages each
};

}  // namespace scanlab::vgpu
