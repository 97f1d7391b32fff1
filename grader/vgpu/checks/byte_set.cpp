#include "vgpu/checks/byte_set.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

namespace scanlab::vgpu {

void ByteSet::copy(Address to, Address from, std::uint64_t bytes) {
  // All that is read is read before it can be written.
  std::vector<std::uint64_t> bits;
  for (std::uint64_t at = 0; at < bytes; at += 64)
    bits.push_back(which(from + at, static_cast<unsigned>(std::min<std::uint64_t>(64, bytes - at))));
  for (std::uint64_t at = 0; at < bytes; at += 64) {
    const std::uint64_t count = std::min<std::uint64_t>(64, bytes - at), value = bits[at / 64];
    const std::uint64_t first = to + at - global_window, shift = first % 64;
    for_each_word(first, count, [&](std::uint64_t k, std::uint64_t mask) {
      const std::uint64_t part = k == first / 64 ? value << shift : value >> (64 - shift);
      words_[k] = (words_[k] & ~mask) | (part & mask);
      return true;
    });
  }
}

void ByteSet::forget(Address address, std::uint64_t bytes) {
  remove(address, bytes);
  // Whole pages of bits only: others hold those of neighbours too.
  constexpr std::uint64_t covered = page_bytes * 8;
  const std::uint64_t from = address - global_window;
  const std::uint64_t begin = (from + covered - 1) / covered, end = (from + bytes) / covered;
  if (begin < end)
    madvise(reinterpret_cast<std::byte*>(&words_[0]) + begin * page_bytes, (end - begin) * page_bytes, MADV_DONTNEED);
}

}  // namespace scanlab::vgpu
