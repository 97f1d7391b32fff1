// 64-bit FNV-1a: distinguishes one output from another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scanlab::grade {

inline constexpr std::uint64_t hash_start = 0xCBF29CE484222325u;

/// Continues a hash over `bytes` bytes.
inline std::uint64_t hash_bytes(std::uint64_t hash, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001B3u;
  return hash;
}

}  // namespace scanlab::grade
