#include "vgpu/core/memory/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace scanlab::vgpu {
namespace {

/// Unmapped bytes after each allocation. More than any stride of a teaching kernel, so that a stray index is caught
/// before it reaches the next allocation.
constexpr std::uint64_t gap = 64 * 1024;
constexpr std::uint64_t alignment = 256, heap_alignment = 16;

/// Address space where nothing is yet; MAP_FAILED when there is none.
void* reserve(std::uint64_t bytes, int protection, void* at = nullptr) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);
  return mmap(at, bytes, protection, flags, -1, 0);
}

constexpr int for_data = PROT_READ | PROT_WRITE;

}  // namespace

Memory::Memory(std::uint64_t capacity) : capacity_(capacity) {
  void* p = reserve(global_window_bytes, for_data);
  if (p == MAP_FAILED) throw std::runtime_error("cannot reserve address space for device memory");
  arena_ = static_cast<std::byte*>(p);
}

Memory::~Memory() {
  munmap(arena_, global_window_bytes);
}

Address Memory::allocate(std::uint64_t bytes, std::string label, Owner owner) {
  if (bytes > capacity_ - used_) return 0;
  if (label.empty()) label = fmt::format("cudaMalloc #{}, {} bytes", next_number_++, bytes);
  const Address base = add({.size = bytes, .label = std::move(label), .owner = owner}, top_);
  if (base) used_ += bytes;
  return base;
}

Address Memory::allocate_on_host(std::uint64_t bytes, std::string label, std::uint64_t page_offset) {
  if (bytes > capacity_ - host_used_ || page_offset >= page_bytes) return 0;
  const Address base =
      add({.size = bytes, .label = std::move(label), .on_host = true}, round_up(top_, page_bytes) + page_offset);
  if (base) host_used_ += bytes;
  return base;
}

Address Memory::add(Allocation a, std::uint64_t offset) {
  a.size += room;
  const std::uint64_t room = a.size + alignment + gap;
  if (room < gap || offset > global_window_bytes || room > global_window_bytes - offset) return 0;
  a.base = global_window + offset;
  a.host = arena_ + offset;
  std::memset(a.host, static_cast<int>(filler), a.size);
  top_ = round_up(offset + a.size, alignment) + gap;
  ++generation_;
  const Address base = a.base;
  const auto added = allocations_.emplace(base, std::move(a)).first;
  for (MemoryListener* l : listeners_) l->allocated(added->second);
  return base;
}

Memory::Pages Memory::pages_of(const Allocation& a) const {
  static_assert(gap >= 2 * page_bytes, "the pages of an allocation are its own");
  const auto offset = static_cast<std::uint64_t>(a.host - arena_);
  const std::uint64_t begin = offset / page_bytes * page_bytes;
  return {arena_ + begin, round_up(offset + std::max<std::uint64_t>(a.size, 1), page_bytes) - begin};
}

int Memory::share(Address base) {
  const auto it = allocations_.find(base);
  if (it == allocations_.end() || it->second.freed || it->second.shared) return -1;
  const Pages pages = pages_of(it->second);
  const int fd = memfd_create("scanlab-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  void* copy = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(pages.bytes)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    copy = mmap(nullptr, pages.bytes, for_data, MAP_SHARED, fd, 0);
  bool is_there = copy != MAP_FAILED;
  if (is_there) {
    // Pages of zeros are left out: they come when they are first used, so that one can ask the system whether they
    // were.
    static constexpr std::byte zeros[page_bytes] = {};
    for (std::uint64_t at = 0; at < pages.bytes; at += page_bytes)
      if (std::memcmp(pages.begin + at, zeros, page_bytes) != 0)
        std::memcpy(static_cast<std::byte*>(copy) + at, pages.begin + at, page_bytes);
    // Moves the copy to where the pages were, in one step.
    is_there = mremap(copy, pages.bytes, pages.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pages.begin) != MAP_FAILED;
    if (!is_there) munmap(copy, pages.bytes);
  }
  if (!is_there) return close(fd), -1;
  it->second.shared = true;
  ++shared_;
  ++generation_;
  for (MemoryListener* l : listeners_) l->shared(it->second);
  return fd;
}

Memory::Seclusion::Seclusion(Memory& memory) : memory_(memory) {
  for (auto& [base, a] : memory.allocations_) {
    if (!a.shared || a.freed) continue;
    const Pages pages = memory.pages_of(a);
    void *const copy = reserve(pages.bytes, for_data), *const aside = reserve(pages.bytes, PROT_NONE);
    if (copy == MAP_FAILED || aside == MAP_FAILED) throw std::bad_alloc();
    std::memcpy(copy, pages.begin, pages.bytes);
    constexpr int to_there = MREMAP_MAYMOVE | MREMAP_FIXED;
    if (mremap(pages.begin, pages.bytes, pages.bytes, to_there, aside) == MAP_FAILED ||
        mremap(copy, pages.bytes, pages.bytes, to_there, pages.begin) == MAP_FAILED)
      throw std::bad_alloc();
    moved_.push_back({pages.begin, static_cast<std::byte*>(aside), pages.bytes});
  }
  shared_ = std::exchange(memory.shared_, 0);
}

Memory::Seclusion::~Seclusion() {
  for (const Moved& m : moved_) (void)mremap(m.aside, m.bytes, m.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, m.pages);
  memory_.shared_ = shared_;
}

void Memory::listen(MemoryListener* listener) {
  listeners_.push_back(listener);
  for (const auto& [base, a] : allocations_) {
    if (a.freed) continue;
    listener->allocated(a);
    listener->written(base, a.size);
  }
}

void Memory::ignore(MemoryListener* listener) {
  std::erase(listeners_, listener);
}

Allocation* Memory::live_at(Address base, bool on_heap) {
  const auto it = allocations_.find(base);
  return it == allocations_.end() || it->second.freed || it->second.on_heap != on_heap ? nullptr : &it->second;
}

bool Memory::free(Address address) {
  Allocation* const a = live_at(address, false);
  if (!a) return false;
  (a->on_host ? host_used_ : used_) -= a->size;
  give_back_pages(*a);
  return true;
}

Address Memory::allocate_on_heap(std::uint64_t bytes) {
  heap_in_use_ = true;
  if (bytes > heap_limit_ || round_up(bytes, heap_alignment) > heap_limit_ - heap_used_) return 0;
  std::string label = fmt::format("malloc({}) in the kernel", bytes);
  const Address base = add({.size = bytes, .label = std::move(label), .on_heap = true}, top_);
  if (base) heap_used_ += round_up(bytes, heap_alignment);
  return base;
}

bool Memory::free_on_heap(Address address) {
  Allocation* const a = live_at(address, true);
  if (!a) return false;
  heap_used_ -= round_up(a->size, heap_alignment);
  give_back_pages(*a);
  return true;
}

bool Memory::set_heap_limit(std::uint64_t bytes) {
  if (heap_in_use_) return false;
  heap_limit_ = bytes;
  return true;
}

void Memory::reset_heap() {
  for (auto& [base, a] : allocations_)
    if (a.on_heap && !a.freed) give_back_pages(a);
  heap_limit_ = default_heap_bytes;
  heap_used_ = 0;
  heap_in_use_ = false;
}

void Memory::give_back_pages(Allocation& a) {
  a.freed = true;
  ++generation_;
  for (MemoryListener* l : listeners_) l->released(a);
  // Gives the pages back; the addresses are never used again, so that a stale pointer stays a stale pointer.
  const Pages pages = pages_of(a);
  if (a.shared) {
    --shared_;
    (void)reserve(pages.bytes, for_data, pages.begin);
  } else {
    madvise(pages.begin, pages.bytes, MADV_DONTNEED);
  }
}

void Memory::reset() {
  for (auto& [base, a] : allocations_)
    if (!a.freed && !a.on_heap) free(base);
  reset_heap();
}

const Allocation* Memory::find(Address address, std::uint64_t bytes) const {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  --it;
  const Allocation& a = it->second;
  return !a.freed && a.contains(address, bytes) ? &a : nullptr;
}

Placement Memory::place(Address address, std::uint64_t bytes) const {
  if (address < global_window || address >= global_window + global_window_bytes) return {};
  Placement best;
  const auto consider = [&](const Allocation& a) {
    std::int64_t distance = 0;
    if (address < a.base) {
      distance = -static_cast<std::int64_t>(a.base - address);
    } else if (address - a.base + bytes > a.size) {
      distance = static_cast<std::int64_t>(address - a.base) - static_cast<std::int64_t>(a.size) + 1;
      if (distance < 1) distance = 1;  // it begins inside and ends outside
    }
    if (!best.allocation || std::llabs(distance) < std::llabs(best.distance)) best = {&a, distance};
  };
  auto it = allocations_.upper_bound(address);
  if (it != allocations_.end()) consider(it->second);
  if (it != allocations_.begin()) consider(std::prev(it)->second);
  return best;
}

bool Memory::read(void* to, Address from, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  if (!host_may_use(from, bytes)) return false;
  std::memcpy(to, host(from), bytes);
  for (MemoryListener* l : listeners_) l->read(from, bytes);
  return true;
}

bool Memory::write(Address to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!host_may_use(to, bytes)) return false;
  std::memcpy(host(to), from, bytes);
  for (MemoryListener* l : listeners_) l->written(to, bytes);
  return true;
}

bool Memory::fill(Address to, std::byte value, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!host_may_use(to, bytes)) return false;
  std::memset(host(to), static_cast<int>(value), bytes);
  for (MemoryListener* l : listeners_) l->written(to, bytes);
  return true;
}

bool Memory::copy(Address to, Address from, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!host_may_use(from, bytes) || !host_may_use(to, bytes)) return false;
  std::memmove(host(to), host(from), bytes);
  for (MemoryListener* l : listeners_) l->copied(to, from, bytes);
  return true;
}

}  // namespace scanlab::vgpu
