#include "vgpu/checks/cost/access_cost.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace scanlab::vgpu {
namespace {

/// True when all words of a request of one word per lane lie within as many as there are banks: then no bank has two.
bool lies_in_one_row(const Access& a) {
  if (a.is_affine() || a.mask != full_mask || a.bytes > bank_bytes) return false;
  std::uint32_t low = ~0u, high = 0;
  for (unsigned l = 0; l < warp_size; ++l) {
    const auto word = static_cast<std::uint32_t>(a.at(l) / bank_bytes);
    low = std::min(low, word);
    high = std::max(high, word);
  }
  return high - low < banks;
}

/// Most different words in any bank, of the lanes [first, end) of a request.
unsigned most_words(const Access& a, unsigned first, unsigned end, unsigned words) {
  std::uint64_t seen[banks][warp_size];
  unsigned count[banks] = {};
  unsigned most = 0;
  for (unsigned l = first; l < end; ++l) {
    if (!(a.mask >> l & 1)) continue;
    for (unsigned k = 0; k < words; ++k) {
      const std::uint64_t word = a.at(l) / bank_bytes + k;
      const unsigned bank = word % banks;
      const auto last = seen[bank] + count[bank];
      if (std::find(seen[bank], last, word) != last) continue;
      seen[bank][count[bank]++] = word;
      most = std::max(most, count[bank]);
    }
  }
  return most;
}

}  // namespace

unsigned passes(const Access& a) {
  // Lanes meet in a bank when their distance is a multiple of the banks, over the factors of two that these have in
  // common with the stride.
  const auto common_factor = [](std::int64_t stride) {
    return 1u << std::min(std::countr_zero(banks), std::countr_zero(static_cast<std::uint64_t>(stride / bank_bytes)));
  };
  const bool is_in_words = a.is_affine() && a.bytes == bank_bytes && a.stride % std::int64_t{bank_bytes} == 0;
  if (is_in_words && a.mask == full_mask) return a.stride ? common_factor(a.stride) : 1;
  if (a.is_pattern() && !a.is_one_row() && a.mask == full_mask && a.bytes == bank_bytes) {
    // One word a row, which all its lanes read; or one row, which all rows read.
    const auto step = static_cast<std::uint64_t>(std::abs(a.row_step)) / bank_bytes;
    if (step == 0 && a.stride == bank_bytes) return 1;
    if (a.stride == 0) {
      const unsigned rows = warp_size / a.row_lanes;
      const auto common = std::min<unsigned>(std::countr_zero(banks), static_cast<unsigned>(std::countr_zero(step)));
      return step == 0 ? 1 : std::max(1u, rows / (banks >> common));
    }
  }
  if (is_in_words) {
    if (a.stride == 0) return a.mask != 0;
    const unsigned period = banks / common_factor(a.stride);
    if (period == warp_size) return a.mask != 0;
    Mask residue = 0;
    for (unsigned lane = 0; lane < warp_size; lane += period) residue |= Mask{1} << lane;
    unsigned most = 0;
    for (unsigned k = 0; k < period; ++k)
      most = std::max(most, static_cast<unsigned>(std::popcount(a.mask & residue << k)));
    return most;
  }
  if (lies_in_one_row(a)) return 1;
  const unsigned words = std::max(1u, a.bytes / bank_bytes);
  const unsigned lanes_a_pass = warp_size / words;
  unsigned total = 0;
  for (unsigned first = 0; first < warp_size; first += lanes_a_pass)
    total += most_words(a, first, first + lanes_a_pass, words);
  return total;
}

unsigned passes_without_conflict(const Access& a) {
  if (a.bytes <= bank_bytes) return a.mask != 0;
  const unsigned lanes_a_pass = warp_size / (a.bytes / bank_bytes);
  unsigned groups = 0;
  for (unsigned first = 0; first < warp_size; first += lanes_a_pass) {
    const Mask group = ((Mask{1} << lanes_a_pass) - 1) << first;
    groups += (a.mask & group) != 0;
  }
  return groups;
}

unsigned sectors(const Access& a) {
  if (a.is_affine() && a.mask == full_mask && a.bytes <= sector_bytes) {
    const auto stride = static_cast<std::uint64_t>(a.stride < 0 ? -a.stride : a.stride);
    // Aligned elements lie in one sector each.
    if (stride > sector_bytes) return warp_size;
    const std::uint64_t low = a.stride < 0 ? a.at(warp_size - 1) : a.first;
    const std::uint64_t last = low + stride * (warp_size - 1) + a.bytes - 1;
    return static_cast<unsigned>(last / sector_bytes - low / sector_bytes + 1);
  }
  if (a.is_pattern() && a.mask == full_mask) {
    std::uint64_t last = 0;
    unsigned count = 0;
    bool rises = true;
    a.for_each_piece(a.bytes, [&](std::uint64_t begin, std::uint64_t bytes) {
      const std::uint64_t from = begin / sector_bytes, to = (begin + bytes - 1) / sector_bytes;
      rises &= from >= last;
      count += static_cast<unsigned>(to - from + (count == 0 || from != last));
      last = to;
    });
    if (rises) return count;
  }
  std::uint64_t touched[warp_size * 2];
  unsigned count = 0;
  bool rises = true;
  for (const unsigned lane : lanes_in(a.mask)) {
    const std::uint64_t address = a.at(lane);
    const std::uint64_t first = address / sector_bytes, last = (address + a.bytes - 1) / sector_bytes;
    for (std::uint64_t sector = first; sector <= last && count < warp_size * 2; ++sector) {
      if (count && touched[count - 1] == sector) continue;
      rises &= count == 0 || touched[count - 1] < sector;
      touched[count++] = sector;
    }
  }
  if (rises) return count;
  std::sort(touched, touched + count);
  return static_cast<unsigned>(std::unique(touched, touched + count) - touched);
}

}  // namespace scanlab::vgpu
