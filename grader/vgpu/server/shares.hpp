// Memory that host and device share, where what goes through it is counted: the host has the pages of a memfd, the
// device memory of its own, and before and after each request that uses memory each gets what the other has written. So
// nothing goes through it while a kernel runs, and how much went which way is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

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
  int add(vgpu::Address base);
  /// The allocation is about to be freed; what the host has mapped stays as it is.
  void remove(vgpu::Address base);
  void clear();
  /// Forgets what has been freed.
  void drop_freed();
  std::uint64_t bytes() const { return bytes_; }

  /// Gives the device what the host has written since the last time, and returns in how many bytes, by whole sectors.
  std::uint64_t take();
  /// … and the host what the device has written. Also what lies there when it has just been added.
  std::uint64_t give();
  /// A copy to the host that ends in memory shared with it: the program has yet to put it there itself, and does not
  /// bring it back by that.
  void expect(vgpu::Address to, vgpu::Address from, std::uint64_t bytes);

 private:
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
