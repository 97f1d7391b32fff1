// Watches what the program does with memory that kernels and copies may still use, for the check race.host.
//
// From a launch or an asynchronous copy on, the pages that it may use cannot be accessed by this process. An access
// then ends in a signal handler, which reports it to the device with its place in the program, and lets the one
// instruction run. Whether it is a mistake only the device knows: what the work has touched, and what the host has
// waited for.
//
// Pages are opened as soon as the device says that no work which the host does not know to be done uses their array.
// System calls cannot be stopped so: they fail where a page is closed. So pages are closed for work that is given the
// array, and for no longer than it may be in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::cudart {

using vgpu::Address;

/// Places in the program's own file, the innermost first: what the device is told of where a thread stands.
using Frames = std::vector<std::uint64_t>;
/// Of the calling thread. In a signal handler `interrupted` is where the signal came; else 0.
Frames frames_here(Address interrupted = 0);

class HostWatch {
 public:
  enum class How : std::uint8_t { open, readable, closed };  ///< of a page

  /// Pages of this process from `begin` on, which are those of the device from `device` on.
  struct Area {
    Address device = 0;
    Address data = 0;                 ///< on the device: where what lies there begins, in the first page
    bool is_for_all_kernels = false;  ///< a __managed__ variable
    std::vector<How> pages;
    std::size_t count = 0;  ///< of pages that are not open
    unsigned steps = 0;     ///< accesses that are still reported before the area is opened
  };

  void add(Address begin, std::size_t bytes, Address device, Address data, bool is_for_all_kernels);
  void remove(Address begin);

  /// Work that the host does not wait for has been submitted: a kernel with these parameters; the use of some memory.
  void launched(std::span<const std::byte> parameters);
  void used(Address device, std::size_t bytes, How how);
  /// The runtime itself uses the memory, at addresses of this process.
  void open(Address address, std::size_t bytes);
  void open_all();
  /// Opens the area that begins there.
  void open_area(Address begin);
  /// Areas that are not open: where they begin, and where their data does, on the device.
  std::vector<std::pair<Address, Address>> closed();
  bool has_closed() const { return closed_ > 0; }

  /// In the signal handlers. False: no business of this watch.
  bool on_fault(Address address, bool writes, void* context);
  bool on_step(void* context);

  /// The host may have waited for something since areas were looked at last.
  bool is_stale = false;

 private:
  class Hold;
  using Areas = std::map<Address, Area>;
  Areas::iterator area_at(Address address);
  void set(Areas::iterator area, std::size_t first, std::size_t count, How how);
  void apply(Areas::iterator area, std::size_t first, std::size_t count, How how);
  void close_reachable(std::span<const std::byte> bytes, std::size_t& to_read);
  bool step(Address address, void* context);

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

}  // namespace scanlab::cudart
