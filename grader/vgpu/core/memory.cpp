#include "vgpu/core/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

namespace scanlab::vgpu {
namespace {

/// Unmapped bytes after each allocation. More than any stride of a teaching kernel, so that a stray index is caught
/// before it reaches the next allocation.
constexpr std::uint64_t gap = 64 * 1024;
constexpr std::uint64_t alignment = 256, heap_alignment = 16;

std::uint64_t round_up(std::uint64_t n, std::uint64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

Memory::Memory(std::uint64_t capacity) : capacity_(capacity) {
  void* p =
      mmap(nullptr, global_window_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("cannot reserve address space for device memory");
  arena_ = static_cast<std::byte*>(p);
}

Memory::~Memory() {
  munmap(arena_, global_window_bytes);
}

Address Memory::place_new(std::uint64_t bytes, std::string label) {
  const std::uint64_t room = round_up(bytes, alignment) + gap;
  if (room > global_window_bytes - top_) return 0;
  Allocation a;
  a.base = global_window + top_;
  a.size = bytes;
  a.label = std::move(label);
  a.host = arena_ + top_;
  std::memset(a.host, static_cast<int>(poison), bytes);
  top_ += room;
  ++generation_;
  const Address base = a.base;
  allocations_.emplace(base, std::move(a));
  return base;
}

Address Memory::allocate(std::uint64_t bytes, std::string label) {
  if (bytes > capacity_ - used_) return 0;
  if (label.empty()) label = fmt::format("cudaMalloc #{}, {} bytes", next_number_++, bytes);
  const Address base = place_new(bytes, std::move(label));
  if (base) used_ += bytes;
  return base;
}

bool Memory::free(Address address) {
  const auto it = allocations_.find(address);
  if (it == allocations_.end() || it->second.freed || it->second.on_heap) return false;
  used_ -= it->second.size;
  give_back_pages(it->second);
  return true;
}

Address Memory::allocate_on_heap(std::uint64_t bytes) {
  heap_in_use_ = true;
  if (bytes > heap_limit_ || round_up(bytes, heap_alignment) > heap_limit_ - heap_used_) return 0;
  const Address base = place_new(bytes, fmt::format("malloc({}) in the kernel", bytes));
  if (base == 0) return 0;
  allocations_.at(base).on_heap = true;
  heap_used_ += round_up(bytes, heap_alignment);
  return base;
}

bool Memory::free_on_heap(Address address) {
  const auto it = allocations_.find(address);
  if (it == allocations_.end() || it->second.freed || !it->second.on_heap) return false;
  heap_used_ -= round_up(it->second.size, heap_alignment);
  give_back_pages(it->second);
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
  // The addresses are never used again, so that a stale pointer stays a stale pointer.
  const auto offset = static_cast<std::uint64_t>(a.host - arena_);
  const std::uint64_t begin = round_up(offset, 4096), end = (offset + a.size) / 4096 * 4096;
  if (begin < end) madvise(arena_ + begin, end - begin, MADV_DONTNEED);
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

bool Memory::host_may_use(Address address, std::uint64_t bytes) const {
  const Allocation* found = find(address, bytes);
  return found && !found->on_heap;
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
  return true;
}

bool Memory::write(Address to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!host_may_use(to, bytes)) return false;
  std::memcpy(host(to), from, bytes);
  return true;
}

bool Memory::fill(Address to, std::byte value, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!host_may_use(to, bytes)) return false;
  std::memset(host(to), static_cast<int>(value), bytes);
  return true;
}

bool Memory::copy(Address to, Address from, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!host_may_use(from, bytes) || !host_may_use(to, bytes)) return false;
  std::memmove(host(to), host(from), bytes);
  return true;
}

}  // namespace scanlab::vgpu
