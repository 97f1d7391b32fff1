// The words of memory that accesses touch, for observers that remember word by word who has done what.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

inline constexpr std::uint64_t word_bytes = 4;

/// Calls visit(word) with the address of each word that has one of these bytes.
template <class Visit>
void each_word(std::uint64_t address, std::uint64_t bytes, Visit visit) {
  for (std::uint64_t word = address / word_bytes * word_bytes; word < address + bytes; word += word_bytes) visit(word);
}
/// The same for an access, lane by lane.
template <class Visit>
void each_word(const Access& access, Visit visit) {
  for (const unsigned lane : lanes_in(access.mask)) each_word(access.at(lane), access.bytes, visit);
}

/// The bytes that an access touches in each of its words, a bit each. Accesses are aligned: one below four bytes lies
/// in a word, others are whole words.
inline std::uint8_t bytes_of_word(std::uint64_t address, std::uint32_t bytes) {
  return static_cast<std::uint8_t>(bytes < word_bytes ? ((1u << bytes) - 1) << address % word_bytes : 0xFu);
}

/// A word, the bytes of it that lanes access, and these lanes.
struct WordPiece {
  std::uint64_t word = 0;  ///< its address
  std::uint8_t bytes = 0;  ///< a bit each
  Mask lanes = 0;
};

/// What lanes touch at `at(lane)`; lanes side by side with the same address share their pieces.
template <class At>
void cut(Mask lanes, std::uint32_t bytes, At at, std::vector<WordPiece>& pieces) {
  pieces.clear();
  std::uint64_t last = ~std::uint64_t{0};
  std::size_t begin = 0;
  for (const unsigned lane : lanes_in(lanes)) {
    const std::uint64_t address = at(lane);
    const Mask own = Mask{1} << lane;
    if (address == last) {
      for (std::size_t k = begin; k < pieces.size(); ++k) pieces[k].lanes |= own;
      continue;
    }
    last = address;
    begin = pieces.size();
    each_word(address, bytes, [&](std::uint64_t word) {
      pieces.push_back({word, bytes_of_word(address, bytes), own});
    });
  }
}

}  // namespace scanlab::vgpu
