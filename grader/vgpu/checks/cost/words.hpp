// The words of memory that an access touches, for observers that remember who wrote what.
#pragma once

#include <bit>
#include <cstdint>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Calls `visit` with the number of each word of 4 bytes that the access touches, lane by lane.
template <typename Visit>
void each_word(const Access& access, Visit visit) {
  constexpr std::uint64_t word_bytes = 4;
  for (const unsigned lane : lanes_in(access.mask)) {
    const std::uint64_t address = access.at(lane);
    for (std::uint64_t word = address / word_bytes; word * word_bytes < address + access.bytes; ++word) visit(word);
  }
}

}  // namespace scanlab::vgpu
