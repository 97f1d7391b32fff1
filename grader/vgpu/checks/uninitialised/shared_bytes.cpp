#include "vgpu/checks/uninitialised/shared_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace scanlab::vgpu {
namespace {

/// Each lane's access lies in one word of bits, since it is aligned to its size, and seldom beside that of the next
/// lane.
bool are_apart(const AccessRun& run) {
  const Access& a = run.first;
  return !(a.is_affine() && a.stride == a.bytes) && std::has_single_bit(a.bytes) && a.bytes <= 32;
}

/// Visits the bits of each lane's access, when they are apart: visit(index, mask).
template <class Visit>
void for_each_element(const AccessRun& run, Visit visit) {
  const Access& a = run.first;
  const std::uint64_t ones = (std::uint64_t{1} << a.bytes) - 1;
  for (unsigned k = 0; k < run.count; ++k) {
    const std::uint64_t base = static_cast<std::uint64_t>(run.step) * k;
    const Mask lanes = run.lanes_of(k);
    if (a.is_affine() && lanes == full_mask) {
      for (unsigned lane = 0; lane < warp_size; ++lane) {
        const std::uint64_t at = base + a.first + static_cast<std::uint64_t>(a.stride) * lane;
        visit(at / 64, ones << at % 64);
      }
      continue;
    }
    for (Mask m = lanes; m; m &= m - 1) {
      const std::uint64_t at = base + a.at(static_cast<unsigned>(std::countr_zero(m)));
      visit(at / 64, ones << at % 64);
    }
  }
}

}  // namespace

void SharedBytes::begin(const KernelInfo& kernel) {
  left_ = 0;
  known_ = {};
  strided_ = {};
  if (kernel.shared.empty()) return;
  const SharedVariable& last = kernel.shared.back();
  written_.resize((last.offset + last.size) / 64 + 2);
  for (const SharedVariable& v : kernel.shared) {
    if (v.size) clear_bits(written_.data(), v.offset, v.size);
    left_ += v.size;
  }
}

void SharedBytes::write(std::uint64_t first, std::uint64_t bytes) {
  if (!left_) return;
  if (known_.end == first)
    known_.end += bytes;
  else if (first + bytes == known_.begin)
    known_.begin = first;
  else if (known_.begin > known_.end || bytes > known_.end - known_.begin)
    known_ = {first, first + bytes};
  for_each_word(first, bytes, [&](std::uint64_t k, std::uint64_t mask) {
    left_ -= static_cast<std::uint64_t>(std::popcount(mask & ~written_[k]));
    written_[k] |= mask;
    return true;
  });
}

void SharedBytes::write(const AccessRun& run) {
  if (surely_has(run) || is_in_strided(run)) return;
  if (!are_apart(run)) {
    for_each_span(run, [&](std::uint64_t first, std::uint64_t bytes) { write(first, bytes); });
    return;
  }
  for_each_element(run, [&](std::uint64_t k, std::uint64_t mask) {
    left_ -= static_cast<std::uint64_t>(std::popcount(mask & ~written_[k]));
    written_[k] |= mask;
  });
  add_to_strided(run);
}

bool SharedBytes::Strided::touches(const Strided& other) const {
  return stride == other.stride && bytes == other.bytes && begin <= other.end() && other.begin <= end() &&
         static_cast<std::int64_t>(begin - other.begin) % stride == 0;
}

/// The lanes of the run as one Strided, when they are apart, and evenly spaced without gaps.
std::optional<SharedBytes::Strided> SharedBytes::strided_of(const AccessRun& run) {
  const Access& a = run.first;
  if (!a.is_affine() || std::abs(a.stride) <= a.bytes || (run.count > 1 && run.step != a.stride * warp_size))
    return std::nullopt;
  const Mask lanes = a.mask >> std::countr_zero(a.mask);
  if ((lanes & (lanes + 1)) || (run.count > 1 && !(a.mask >> (warp_size - 1)))) return std::nullopt;
  Strided c;
  c.begin = extent_of(run).begin;
  c.count = static_cast<unsigned>(std::popcount(a.mask)) + (run.count - 1) * warp_size;
  c.stride = std::abs(a.stride);
  c.bytes = a.bytes;
  return c;
}

bool SharedBytes::is_in_strided(const AccessRun& run) const {
  const auto c = strided_of(run);
  return c && std::ranges::any_of(strided_, [&](const Strided& strided) {
           return strided.touches(*c) && c->begin >= strided.begin && c->end() <= strided.end();
         });
}

/// All of the run has been written.
void SharedBytes::add_to_strided(const AccessRun& run) {
  const auto c = strided_of(run);
  if (!c) return;
  const auto joined = std::ranges::find_if(strided_, [&](const Strided& strided) { return strided.touches(*c); });
  if (joined != strided_.end()) {
    const std::uint64_t end = std::max(joined->end(), c->end());
    joined->begin = std::min(joined->begin, c->begin);
    joined->count = (end - joined->begin) / static_cast<std::uint64_t>(joined->stride);
  } else if (Strided& least = *std::ranges::min_element(strided_, {}, &Strided::count); least.count < c->count) {
    least = *c;
  }
}

bool SharedBytes::has_all(const AccessRun& run) {
  if (surely_has(run) || is_in_strided(run)) return true;
  if (!has_each(run)) return false;
  add_to_strided(run);
  return true;
}

bool SharedBytes::has_each(const AccessRun& run) const {
  std::uint64_t missing = 0;
  if (are_apart(run))
    for_each_element(run, [&](std::uint64_t k, std::uint64_t mask) { missing |= mask & ~written_[k]; });
  else
    for_each_span(run, [&](std::uint64_t first, std::uint64_t bytes) { missing |= !has_all(first, bytes); });
  return missing == 0;
}

bool SharedBytes::has_all(std::uint64_t first, std::uint64_t bytes) const {
  return !left_ || all_bits(written_.data(), first, bytes);
}

std::uint64_t SharedBytes::which(std::uint64_t first, unsigned bytes) const {
  return bits_at(written_.data(), first, bytes);
}

}  // namespace scanlab::vgpu
