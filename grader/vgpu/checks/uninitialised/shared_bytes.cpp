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
    for (const unsigned lane : lanes_in(lanes)) {
      const std::uint64_t at = base + a.at(lane);
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
  for_each_word(first, bytes, [&](std::uint64_t k, std::uint64_t mask) { return mark(k, mask), true; });
}

void SharedBytes::write(const AccessRun& run) {
  if (surely_has(run)) return;
  const auto mark_one = [&](std::uint64_t k, std::uint64_t mask) { mark(k, mask); };
  if (const auto c = strided_of(run)) {
    Strided* const near = touching(*c);
    for_each_outside(*c, near, mark_one);
    return add_to_strided(*c, near);
  }
  if (are_apart(run)) return for_each_element(run, mark_one);
  for_each_span(run, [&](std::uint64_t first, std::uint64_t bytes) { write(first, bytes); });
}

bool SharedBytes::Strided::touches(const Strided& other) const {
  return stride == other.stride && bytes == other.bytes && begin <= other.end() && other.begin <= end() &&
         static_cast<std::int64_t>(begin - other.begin) % stride == 0;
}

/// The lanes of the run as one Strided, when they are apart, and evenly spaced without gaps.
std::optional<SharedBytes::Strided> SharedBytes::strided_of(const AccessRun& run) {
  const Access& a = run.first;
  if (!a.is_affine() || std::abs(a.stride) <= a.bytes || !std::has_single_bit(a.bytes) ||
      (run.count > 1 && run.step != a.stride * warp_size))
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

SharedBytes::Strided* SharedBytes::touching(const Strided& c) {
  const auto found = std::ranges::find_if(strided_, [&](const Strided& strided) { return strided.touches(c); });
  return found == strided_.end() ? nullptr : &*found;
}

/// Visits the bits of each element that is not in `known`, which touches them or is null: visit(index, mask).
template <class Visit>
void SharedBytes::for_each_outside(const Strided& c, const Strided* known, Visit visit) {
  const std::uint64_t ones = (std::uint64_t{1} << c.bytes) - 1;
  const auto stride = static_cast<std::uint64_t>(c.stride);
  const auto visit_all = [&](std::uint64_t from, std::uint64_t end) {
    for (std::uint64_t at = from; at < end; at += stride) visit(at / 64, ones << at % 64);
  };
  if (!known) return visit_all(c.begin, c.end());
  visit_all(c.begin, std::min(c.end(), known->begin));
  visit_all(std::max(c.begin, known->end()), c.end());
}

/// All of `c` has been written; `near` touches it, or is null.
void SharedBytes::add_to_strided(const Strided& c, Strided* near) {
  if (near) {
    const std::uint64_t end = std::max(near->end(), c.end());
    near->begin = std::min(near->begin, c.begin);
    near->count = (end - near->begin) / static_cast<std::uint64_t>(near->stride);
  } else if (Strided& least = *std::ranges::min_element(strided_, {}, &Strided::count); least.count < c.count) {
    least = c;
  }
}

bool SharedBytes::has_all(const AccessRun& run) {
  if (surely_has(run)) return true;
  std::uint64_t missing = 0;
  const auto look = [&](std::uint64_t k, std::uint64_t mask) { missing |= mask & ~written_[k]; };
  if (const auto c = strided_of(run)) {
    Strided* const near = touching(*c);
    for_each_outside(*c, near, look);
    if (!missing) add_to_strided(*c, near);
  } else if (are_apart(run)) {
    for_each_element(run, look);
  } else {
    for_each_span(run, [&](std::uint64_t first, std::uint64_t bytes) { missing |= !has_all(first, bytes); });
  }
  return missing == 0;
}

}  // namespace scanlab::vgpu
