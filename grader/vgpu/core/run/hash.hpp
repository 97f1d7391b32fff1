// A fast hash: of words, and of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace scanlab::vgpu {

inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

inline std::uint64_t mixed(std::uint64_t hash, const std::byte* bytes, std::size_t count) {
  constexpr std::size_t ways = 4, stride = 8 * ways;
  if (count >= 2 * stride) {  // one multiplication need not wait for another
    std::array<std::uint64_t, ways> hashes{1, 2, 3, 4}, words;
    for (; count >= stride; bytes += stride, count -= stride) {
      std::memcpy(words.data(), bytes, stride);
      for (std::size_t k = 0; k < ways; ++k) hashes[k] = mixed(hashes[k], words[k]);
    }
    for (const std::uint64_t one : hashes) hash = mixed(hash, one);
  }
  for (std::size_t k = 0; k < count; k += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + k, std::min<std::size_t>(8, count - k));
    hash = mixed(hash, word);
  }
  return hash;
}

}  // namespace scanlab::vgpu
