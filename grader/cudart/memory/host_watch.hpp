// Watches what the program does with memory that kernels and copies may still use, for the check race.host.
//
// From a launch or an asynchronous copy on, the pages that it may use cannot be accessed by this process. An access
// then ends in a signal handler, which reports it to the device with its place in the program, and lets the one
// instruction run. Whether it is a mistake only the device knows: what the work has touched, and what the host has
// waited for.
//
// Pages are opened as soon as the device says that no work which the host does not know to be done uses their array.
// System calls cannot be stopped so: they fail where a page is closed. So pages are closed for work that is given the
// array, and for no longer than it may be in use; for calls that use the program's memory they are opened
// (system_calls.cpp).
//
// While a host function (cudaLaunchHostFunc) waits for its turn, or runs, all areas are closed: what threads do before
// it begins they do without having been notified by it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cudart/memory/own_code.hpp"

namespace scanlab::cudart {

class HostWatch {
 public:
  enum class How : std::uint8_t { open, readable, closed };  ///< of a page

  /// Pages of this process from `begin` on, which are those of the device from `device` on.
  struct Area {
    Address device = 0;
    Address data = 0;                      ///< on the device: where what lies there begins, in the first page
    Address data_begin = 0, data_end = 0;  ///< of this process: what else is in the pages is of no interest
    bool is_for_all_kernels = false;       ///< a __managed__ variable
    std::vector<How> pages;
    std::set<std::size_t> kept_open = {};  ///< of the pages: there are locks in them
    std::size_t count = 0;                 ///< of pages that are not open
    bool is_for_function = false;          ///< a host function that has not ended may use it
    unsigned steps = 0;                    ///< different accesses that are still reported before the area is opened
  };

  static std::vector<How> open_pages(std::size_t bytes) {
    return std::vector<How>(bytes / vgpu::page_bytes, How::open);
  }
  void add(Address begin, const Area& area);
  void remove(Address begin);

  /// Work that the host does not wait for has been submitted: a kernel with these parameters; the use of some memory.
  void launched(std::span<const std::byte> parameters);
  void used(Address device, std::size_t bytes, How how);
  /// A host function may use all that there is.
  void close_all();
  /// It was given this pointer: what lies there, or is pointed to from there, it will use; else anything. `is_first`:
  /// no other function waits.
  void expect_use_of(const void* data, bool is_first);
  /// The runtime itself uses the memory, at addresses of this process.
  void open(Address address, std::size_t bytes);
  void open_all();
  /// Opens the area that begins there.
  void open_area(Address begin);
  /// The pages of a lock are not closed from now on.
  void keep_open(Address address, std::size_t bytes);
  /// The watch that has had an area; else null.
  static HostWatch* in_use() { return in_use_.load(std::memory_order_acquire); }
  /// Areas that are not open: where they begin, and where their data does, on the device.
  std::vector<std::pair<Address, Address>> closed();
  bool has_closed() const { return closed_ > 0; }

  /// Of the area that an address lies in, so many bytes are left; 0 where there is none.
  std::size_t bytes_from(Address address);
  bool has_areas() const { return !areas_.empty(); }

  /// A system call is about to use this memory: false where nothing is closed. `give_back` closes it again.
  bool lend(Address begin, std::size_t bytes);
  void give_back(Address begin, std::size_t bytes);
  /// So much of it has been read or written, by a call that returns to `caller`.
  void was_used_by_system(Address begin, std::size_t bytes, bool writes, Address caller);
  /// The memory is about to be given back to whoever gave it, by a call that returns to `caller`.
  void is_given_back(Address begin, std::size_t bytes, Address caller);

  /// In the signal handlers. False: no business of this watch.
  bool on_fault(Address address, bool writes, void* context);
  bool on_step(void* context);

  /// The host may have waited for something since areas were looked at last.
  bool is_stale = false;
  /// Accesses could not be reported, or cannot be.
  std::atomic<bool> has_unseen = false;

 private:
  class Hold;
  using Areas = std::map<Address, Area>;
  Areas::iterator area_at(Address address);
  void set(Areas::iterator area, std::size_t first, std::size_t count, How how);
  void change(Areas::iterator area, std::size_t first, std::size_t count, How how);
  void apply(Areas::iterator area, std::size_t first, std::size_t count, How how);
  void close_reachable(std::span<const std::byte> bytes, std::size_t& to_read);
  bool step(Address address, void* context);
  void count_report(Address begin);
  /// Calls visit(area, first page, pages) for each area in the range.
  enum class Use : std::uint8_t { reads, writes, gives_back };
  void report_use(Address begin, std::size_t bytes, Use use, Address caller);
  template <class Visit>
  void for_each_in(Address begin, std::size_t bytes, Visit visit);

  static inline constinit std::atomic<HostWatch*> in_use_ = nullptr;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;  ///< a handler can wait for it: it is held for moments, by no handler
  Areas areas_;
  std::atomic<std::size_t> closed_ = 0;   ///< areas with pages that are not open
  unsigned steps_left_ = 100'000;         ///< of the whole program
  std::atomic<std::uint64_t> epoch_ = 0;  ///< grows when pages are closed
};

/// The handler is in place: the program has set no other.
bool catches_faults();

/// This thread is in a call of the runtime.
extern thread_local bool in_call;
/// Mutexes and the like that this thread has locked.
extern thread_local unsigned held_locks;

}  // namespace scanlab::cudart
