// FNV-1a with words of 64 bits: distinguishes one output from another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace scanlab::grade {

inline constexpr std::uint64_t hash_start = 0xCBF29CE484222325u;

/// Continues a hash over `bytes` bytes.
inline std::uint64_t hash_bytes(std::uint64_t hash, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, std::min(bytes - i, sizeof word));
    hash = (hash ^ word) * 0x100000001B3u;
    hash ^= hash >> 32;  // a product says nothing of what is above in lower bits
  }
  return hash;
}

}  // namespace scanlab::grade
