// A set of bytes of global memory: those that have been given a value, say.
#pragma once

#include <array>
#include <cstdint>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/core/memory/claims.hpp"
#include "vgpu/core/memory/memory.hpp"

namespace scanlab::vgpu {

/// Empty at first. It takes an eighth of the memory that it covers.
class ByteSet {
 public:
  static constexpr std::uint64_t words_a_page = page_bytes / 64;
  using PageBits = std::array<std::uint64_t, words_a_page>;

  void add(Address address, std::uint64_t bytes) {
    if (bytes) set_bits(words_, address - global_window, bytes);
  }
  void remove(Address address, std::uint64_t bytes) {
    if (bytes) clear_bits(words_, address - global_window, bytes);
  }
  bool has_all(Address address, std::uint64_t bytes) const {
    return bytes == 0 || all_bits(words_, address - global_window, bytes);
  }
  bool has(Address address) const { return has_all(address, 1); }
  /// Of up to 64 bytes, a bit each.
  std::uint64_t which(Address address, unsigned bytes) const { return bits_at(words_, address - global_window, bytes); }
  /// The bytes at `to` become what those at `from` are, as memmove does it.
  void copy(Address to, Address from, std::uint64_t bytes);
  /// The same as `remove`, and gives memory back. For addresses that are never used again.
  void forget(Address address, std::uint64_t bytes);
  /// The bits of a page, by its number from the beginning of the window.
  std::uint64_t* page(std::uint64_t number) { return words_ + number * words_a_page; }

 private:
  ZeroArray<std::uint64_t> words_{global_window_bytes / 64 + words_a_page};  ///< some more, for bits_at
};

}  // namespace scanlab::vgpu
