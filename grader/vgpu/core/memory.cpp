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
constexpr std::uint64_t alignment = 256;

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

Address Memory::allocate(std::uint64_t bytes, std::string label) {
  const std::uint64_t room = round_up(bytes, alignment) + gap;
  if (bytes > capacity_ - used_ || room > global_window_bytes - top_) return 0;
  Allocation a;
  a.base = global_window + top_;
  a.size = bytes;
  a.label = label.empty() ? fmt::format("cudaMalloc #{}, {} bytes", next_number_++, bytes) : std::move(label);
  a.host = arena_ + top_;
  std::memset(a.host, static_cast<int>(poison), bytes);
  top_ += room;
  used_ += bytes;
  ++generation_;
  const Address base = a.base;
  allocations_.emplace(base, std::move(a));
  return base;
}

bool Memory::free(Address address) {
  const auto it = allocations_.find(address);
  if (it == allocations_.end() || it->second.freed) return false;
  Allocation& a = it->second;
  a.freed = true;
  used_ -= a.size;
  ++generation_;
  // Gives the pages back; the addresses are never used again, so that a stale pointer stays a stale pointer.
  const auto offset = static_cast<std::uint64_t>(a.host - arena_);
  const std::uint64_t begin = round_up(offset, 4096), end = (offset + a.size) / 4096 * 4096;
  if (begin < end) madvise(arena_ + begin, end - begin, MADV_DONTNEED);
  return true;
}

void Memory::reset() {
  for (auto& [base, a] : allocations_)
    if (!a.freed) free(base);
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
  if (!find(from, bytes)) return false;
  std::memcpy(to, host(from), bytes);
  return true;
}

bool Memory::write(Address to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!find(to, bytes)) return false;
  std::memcpy(host(to), from, bytes);
  return true;
}

bool Memory::fill(Address to, std::byte value, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!find(to, bytes)) return false;
  std::memset(host(to), static_cast<int>(value), bytes);
  return true;
}

bool Memory::copy(Address to, Address from, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!find(from, bytes) || !find(to, bytes)) return false;
  std::memmove(host(to), host(from), bytes);
  return true;
}

}  // namespace scanlab::vgpu
