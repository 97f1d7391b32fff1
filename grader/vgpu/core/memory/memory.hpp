// Global memory of the simulated device: allocations with unmapped gaps between them, poisoned before first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace scanlab::vgpu {

/// An address as device code sees it.
using Address = std::uint64_t;

/// Device address space. The windows lie where no host mapping does, so a device pointer is never a host pointer.
inline constexpr Address global_window = 0x2000'0000'0000;  ///< cudaMalloc, __device__ and __constant__ variables
inline constexpr Address global_window_bytes = 0x0100'0000'0000;
inline constexpr Address shared_window = 0x1F00'0000'0000;  ///< generic addresses of shared memory
inline constexpr Address local_window = 0x1E00'0000'0000;   ///< generic addresses of local memory
inline constexpr Address param_window = 0x1D00'0000'0000;   ///< generic addresses of kernel parameters
inline constexpr Address window_bytes = 0x0100'0000'0000;
/// Functions have addresses too (function pointers); they hold no data.
inline constexpr Address code_window = 0x1C00'0000'0000;

inline constexpr std::uint64_t page_bytes = 4096;

/// What an access does; also the verb of a message.
enum class AccessKind : std::uint8_t { read, write, atomic };

/// The next multiple of `to`.
template <class T>
constexpr T round_up(T n, std::type_identity_t<T> to) {
  return (n + to - 1) / to * to;
}

/// Byte that fills memory that was never written: as a float -1.7e38, which no sum can hide, as an int a large negative
/// number, as eight bytes no address.
inline constexpr std::byte poison{0xFE};
/// A word of it.
inline constexpr std::uint32_t unwritten_word = 0x0101'0101u * static_cast<std::uint32_t>(poison);
/// The same of an array that its owner gives to be written: no number, and none that programs compute with.
inline constexpr std::uint32_t unwritten_output = 0xFFFE'FEFE;
constexpr bool is_unwritten(std::uint32_t word) {
  return word == unwritten_word || word == unwritten_output;
}

/// cudaLimitMallocHeapSize unless a program sets another.
inline constexpr std::uint64_t default_heap_bytes = 8 << 20;

/// Who allocates and frees: the program, or whoever calls its entry and passes it the array.
enum class Owner : std::uint8_t { program, caller };

struct Allocation {
  Address base = 0;
  std::uint64_t size = 0;  ///< bytes, may be 0
  std::string label;       ///< "cudaMalloc #3 (4096 bytes)", "__device__ counter", "input x of the check"
  Owner owner = Owner::program;
  bool freed = false;
  bool is_constant = false;
  bool on_host = false;  ///< memory of the host that device code may use: no part of the device's capacity
  bool shared = false;   ///< another process has it mapped: see Memory::share
  bool on_heap = false;  ///< from malloc() in a kernel: only device code may free it, and the host cannot copy it
  std::byte* host = nullptr;

  bool contains(Address address, std::uint64_t bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
};

/// Where an address lies: in `allocation`, or (distance != 0) that many bytes before (< 0) or after (> 0) the nearest
/// one.
struct Placement {
  const Allocation* allocation = nullptr;  ///< null when there is no allocation at all near
  std::int64_t distance = 0;               ///< 0 inside; +1 is the first byte after the end
};

/// Is notified of what happens to memory outside of kernels, after it has happened. What device code does is reported
/// to observers.
class MemoryListener {
 public:
  virtual ~MemoryListener() = default;
  /// It has not been written yet.
  virtual void allocated(const Allocation&) {}
  virtual void released(const Allocation&) {}
  /// From now on another process may write to it at any time.
  virtual void shared(const Allocation&) {}
  virtual void written(Address, std::uint64_t /*bytes*/) {}
  virtual void copied(Address /*to*/, Address /*from*/, std::uint64_t /*bytes*/) {}
  virtual void read(Address, std::uint64_t /*bytes*/) {}
};

/// Where address 0 of a space would be in host memory, as a number, since no object need be there: an address added to
/// it is a host address.
struct HostBase {
  std::uintptr_t number = 0;
  std::byte* operator+(std::uint64_t address) const { return reinterpret_cast<std::byte*>(number + address); }
};

/// Device memory. Not thread safe; the session serialises.
class Memory {
 public:
  explicit Memory(std::uint64_t capacity);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// What stands in memory before its first use, that of blocks and threads included: poison, or another value, to try
  /// whether it is that which matters.
  std::byte filler = poison;
  /// Bytes that new allocations have beyond what was asked for, to try what an access behind their end leads to.
  std::uint64_t room = 0;

  /// `bytes` of poisoned memory, aligned to 256 as cudaMalloc's; 0 when the capacity is exceeded. A size of 0 is an
  /// allocation of its own in which no access is valid. `label` names it in messages; "cudaMalloc #k" when empty.
  Address allocate(std::uint64_t bytes, std::string label = {}, Owner owner = Owner::program);
  /// The same for memory of the host, at `page_offset` (below page_bytes) within a page.
  Address allocate_on_host(std::uint64_t bytes, std::string label, std::uint64_t page_offset = 0);
  /// Puts the pages of a live allocation into a memfd, sealed against resizing, which another process can map: the two
  /// then see the same bytes, that of `base` at its offset within its page. No other allocation lies in these pages.
  /// Returns the descriptor, which the caller owns, or -1 when there is no such allocation, or the system refuses.
  int share(Address base);
  /// While it lives, private copies stand where memory is shared with other processes: no other process sees what is
  /// written there, and it is gone afterwards. No memory may be allocated or freed meanwhile.
  class Seclusion {
   public:
    /// Throws std::bad_alloc.
    explicit Seclusion(Memory& memory);
    ~Seclusion();
    Seclusion(const Seclusion&) = delete;
    Seclusion& operator=(const Seclusion&) = delete;

   private:
    struct Moved {
      std::byte* pages = nullptr;
      std::byte* aside = nullptr;  ///< where what is shared waits
      std::uint64_t bytes = 0;
    };
    Memory& memory_;
    std::vector<Moved> moved_;
    std::uint64_t shared_ = 0;
  };
  /// Can another process write to some of this memory?
  bool shared_with_host() const { return shared_ > 0; }
  /// False when `address` is not the base of a live allocation that `allocate` made.
  bool free(Address address);
  /// malloc() and free() in a kernel. The heap's memory is apart from what cudaMalloc gives.
  Address allocate_on_heap(std::uint64_t bytes);
  bool free_on_heap(Address address);
  /// Bytes that live allocations of the heap may have together; false once a kernel has used the heap.
  bool set_heap_limit(std::uint64_t bytes);
  /// Frees all that is on the heap (the end of a program).
  void reset_heap();
  /// Constant memory can be read and copied to, but not written by device code.
  void mark_constant(Address base, bool constant) { allocations_.at(base).is_constant = constant; }
  /// Frees everything (cudaDeviceReset).
  void reset();

  /// The live allocation that contains all of [address, address + bytes), or null.
  const Allocation* find(Address address, std::uint64_t bytes) const;
  /// The nearest allocation, live or freed, for messages.
  Placement place(Address address, std::uint64_t bytes) const;

  /// Copies; false (and nothing copied) unless the whole range lies in one live allocation. 0 bytes always succeed.
  bool read(void* to, Address from, std::uint64_t bytes) const;
  bool write(Address to, const void* from, std::uint64_t bytes);
  bool fill(Address to, std::byte value, std::uint64_t bytes);
  bool copy(Address to, Address from, std::uint64_t bytes);

  /// Notifies `listener`, which is not owned, of everything from now on. Memory that is there counts as written.
  void listen(MemoryListener* listener);
  void ignore(MemoryListener* listener);

  std::uint64_t bytes_free() const { return capacity_ - used_; }
  std::uint64_t capacity() const { return capacity_; }
  /// Bytes from the beginning of the global window in which all allocations lie.
  std::uint64_t extent() const { return top_; }
  /// Host address of a device address that `find` has accepted.
  std::byte* host(Address address) const { return arena_ + (address - global_window); }
  HostBase host_base() const { return {reinterpret_cast<std::uintptr_t>(arena_) - global_window}; }
  /// Grows at every allocation and free: cached lookups are valid while it stays.
  std::uint64_t generation() const { return generation_; }

 private:
  void give_back_pages(Allocation& a);
  /// What the host may copy: an allocation that is not on the heap.
  bool host_may_use(Address address, std::uint64_t bytes) const {
    const Allocation* const found = find(address, bytes);
    return found && !found->on_heap;
  }
  Allocation* live_at(Address base, bool on_heap);

  std::byte* arena_ = nullptr;  ///< reserved address space; pages appear when touched
  struct Pages {
    std::byte* begin = nullptr;
    std::uint64_t bytes = 0;
  };
  Pages pages_of(const Allocation& a) const;
  Address add(Allocation a, std::uint64_t offset);

  std::uint64_t capacity_, used_ = 0, host_used_ = 0, shared_ = 0, generation_ = 1, next_number_ = 1;
  std::uint64_t top_ = 4096;  ///< first unused offset in the arena
  std::uint64_t heap_limit_ = default_heap_bytes, heap_used_ = 0;
  bool heap_in_use_ = false;
  std::vector<MemoryListener*> listeners_;
  std::map<Address, Allocation> allocations_;
};

}  // namespace scanlab::vgpu
