// Memory that host and device share, where what goes through it is counted: the host has the pages of a memfd, the
// device memory of its own, and before and after each request that uses memory each gets what the other has written. So
// nothing goes through it while a kernel runs, and how much went which way is known.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>

#include "vgpu/core/memory/memory.hpp"

namespace scanlab::server {

class Shares {
 public:
  explicit Shares(vgpu::Memory& memory) : memory_(memory) {}
  ~Shares() { clear(); }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  /// A sealed memfd of the allocation's pages, which the caller owns; -1 when there is no such allocation, it is shared
  /// already, or the system refuses.
  int add(vgpu::Address base) {
    const vgpu::Allocation* a = memory_.find(base, 0);
    if (a == nullptr || a->base != base || a->shared) return -1;
    Share share;
    share.device = memory_.host(base);
    share.bytes = a->size;
    const std::uint64_t in_page = base % vgpu::page_bytes;
    share.mapped_bytes =
        (in_page + std::max<std::uint64_t>(a->size, 1) + vgpu::page_bytes - 1) / vgpu::page_bytes * vgpu::page_bytes;
    // The checks have to know that others write there. These pages are given to no other process, though.
    const int own = memory_.share(base);
    if (own < 0) return -1;
    close(own);
    const int fd = memfd_create("scanlab-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    void* outside = MAP_FAILED;
    void* known = mmap(nullptr, share.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (known != MAP_FAILED && ftruncate(fd, static_cast<off_t>(share.mapped_bytes)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
      outside = mmap(nullptr, share.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (outside == MAP_FAILED) {
      if (known != MAP_FAILED) munmap(known, share.mapped_bytes);
      close(fd);
      return -1;
    }
    share.known = static_cast<std::byte*>(known);
    share.mapped = static_cast<std::byte*>(outside);
    share.outside = share.mapped + in_page;
    // What lies there already counts as given with the next `give`; but not what memory begins with, of either kind.
    const bool is_zero =
        std::all_of(share.device, share.device + share.bytes, [](std::byte b) { return b == std::byte{}; });
    const int before = is_zero ? 0 : static_cast<int>(vgpu::poison);
    std::memset(share.known, before, share.bytes);
    std::memset(share.outside, before, share.bytes);
    bytes_ += share.bytes;
    shares_.emplace(base, share);
    return fd;
  }

  /// The allocation is about to be freed; what the host has mapped stays as it is.
  void remove(vgpu::Address base) {
    const auto found = shares_.extract(base);
    if (found.empty()) return;
    const Share& share = found.mapped();
    bytes_ -= share.bytes;
    munmap(share.mapped, share.mapped_bytes);
    munmap(share.known, share.mapped_bytes);
  }

  void clear() {
    while (!shares_.empty()) remove(shares_.begin()->first);
  }

  /// Forgets what has been freed.
  void drop_freed() {
    for (auto next = shares_.begin(); next != shares_.end();) {
      const vgpu::Address base = (next++)->first;
      if (memory_.find(base, 0) == nullptr) remove(base);
    }
  }

  std::uint64_t bytes() const { return bytes_; }

  /// Gives the device what the host has written since the last time, and returns in how many bytes, by whole sectors.
  std::uint64_t take() {
    std::uint64_t taken = 0;
    for (const auto& entry : shares_) {
      const Share& share = entry.second;
      for_each_difference(share.outside, share.known, share.bytes, [&](std::uint64_t begin, std::uint64_t bytes) {
        std::memcpy(share.known + begin, share.outside + begin, bytes);  // once: it may change again right now
        std::memcpy(share.device + begin, share.known + begin, bytes);
        taken += bytes;
      });
    }
    return taken;
  }

  /// … and the host what the device has written. Also what lies there when it has just been added. `visit`, if there
  /// is one, gets the sectors.
  std::uint64_t give(const std::function<void(std::span<const std::byte>)>& visit = {}) {
    std::uint64_t given = 0;
    for (const auto& entry : shares_) {
      const Share& share = entry.second;
      for_each_difference(share.device, share.known, share.bytes, [&](std::uint64_t begin, std::uint64_t bytes) {
        for (std::uint64_t k = begin; k < begin + bytes; ++k) {
          if (share.device[k] == share.known[k]) continue;  // the host may be writing there
          share.known[k] = share.outside[k] = share.device[k];
        }
        given += bytes;
        if (visit) visit({share.known + begin, bytes});
      });
    }
    return given;
  }

  /// A copy to the host that ends in memory shared with it: the program has yet to put it there itself, and does not
  /// bring it back by that.
  void expect(vgpu::Address to, vgpu::Address from, std::uint64_t bytes) {
    auto next = shares_.upper_bound(to);
    if (next == shares_.begin()) return;
    const auto& [base, share] = *--next;
    if (to - base > share.bytes || bytes > share.bytes - (to - base)) return;
    std::memmove(share.device + (to - base), memory_.host(from), bytes);
    std::memcpy(share.known + (to - base), share.device + (to - base), bytes);
  }

 private:
  /// Differences are counted by sectors: where in a large array a single byte differs says more than that byte.
  static constexpr std::uint64_t sector = 32;

  /// Calls `visit(begin, bytes)` for each sector in which the two differ. Either may change meanwhile.
  template <class Visit>
  static void for_each_difference(const std::byte* a, const std::byte* b, std::uint64_t bytes, Visit&& visit) {
    for (std::uint64_t page = 0; page < bytes; page += vgpu::page_bytes) {
      const std::uint64_t end = std::min(page + vgpu::page_bytes, bytes);
      if (std::memcmp(a + page, b + page, end - page) == 0) continue;
      for (std::uint64_t begin = page; begin < end; begin += sector) {
        const std::uint64_t size = std::min(sector, end - begin);
        if (std::memcmp(a + begin, b + begin, size) != 0) visit(begin, size);
      }
    }
  }

  struct Share {
    std::byte* device = nullptr;   ///< what kernels use
    std::byte* known = nullptr;    ///< … as both sides had it last
    std::byte* outside = nullptr;  ///< what the host uses, and may write to at any time
    std::uint64_t bytes = 0;
    std::byte* mapped = nullptr;
    std::uint64_t mapped_bytes = 0;
  };

  vgpu::Memory& memory_;
  std::map<vgpu::Address, Share> shares_;
  std::uint64_t bytes_ = 0;
};

}  // namespace scanlab::server
