#include "vgpu/checks/rerun.hpp"

#include <algorithm>
#include <bit>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/core/memory_ops.hpp"

namespace scanlab::vgpu {
namespace {

std::uint64_t key_of(std::uint64_t block, std::uint32_t warp) {
  return block << 5 | warp;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

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

/// Elements of a lane's access: those of a vector are read one by one. A copy that does not go through registers may
/// move any number of elements; they are words mostly.
std::uint32_t element_bytes(const Access& a) {
  if (a.inst) return a.bytes / std::max(1u, std::uint32_t{form_of(a.inst).count});
  return std::min(a.bytes, 4u);
}

}  // namespace

// --- shared memory ---------------------------------------------------------------------------------------------------

void SharedBytes::begin(const KernelInfo& kernel) {
  left_ = 0;
  known_ = {};
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
  if (surely_has(run)) return;
  if (!are_apart(run)) {
    for_each_span(run, [&](std::uint64_t first, std::uint64_t bytes) { write(first, bytes); });
    return;
  }
  for_each_element(run, [&](std::uint64_t k, std::uint64_t mask) {
    left_ -= static_cast<std::uint64_t>(std::popcount(mask & ~written_[k]));
    written_[k] |= mask;
  });
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

// --- the run ---------------------------------------------------------------------------------------------------------

Rerun::Rerun(const KernelInfo& kernel, Memory& memory, ByteSet& defined)
    : kernel_(kernel), defined_(defined), journal_(memory, defined) {}

void Rerun::block_begin(std::uint64_t, std::uint32_t slot) {
  if (shared_.size() <= slot) shared_.resize(slot + 1);
  shared_[slot].begin(kernel_);
}

void Rerun::load(const Access& access) {
  note_event(access);
  if (blank_reads) note_read(access);
}

void Rerun::store(const Access& access) {
  note_event(access);
  note_write(access);
}

void Rerun::atomic(const Access& access) {
  note_event(access);
  if (blank_reads) note_read(access);
  note_write(access);
}

void Rerun::branch(const Actor& who, Mask active, Mask taken) {
  note(who, {taken, active, who.line, Event::Kind::branch}, nullptr);
}

void Rerun::note_read(const Access& a) {
  const bool is_shared = a.space == ptx::StateSpace::shared;
  if ((!is_shared && a.space != ptx::StateSpace::global) || blank_reads->size() >= most_reads) return;
  const std::uint32_t bytes = element_bytes(a);
  for (Mask m = a.mask; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(m));
    for (std::uint64_t at = a.at(lane), end = at + a.bytes; at < end; at += bytes) {
      const bool has_all = is_shared ? shared_[a.who.slot].has_all(at, bytes) : defined_.has_all(at, bytes);
      if (has_all) continue;
      // Where some bytes of an element are written and others not, the others are the padding of a struct.
      if (is_shared ? shared_[a.who.slot].which(at, bytes) : defined_.which(at, bytes)) continue;
      if (only) {
        if (at != only->address || a.space != only->space || (is_shared && a.who.block != only->block)) continue;
      } else if (is_shared) {
        std::vector<bool>& seen = seen_shared_[a.who.block];
        if (seen.size() <= at) seen.resize(at + 1);
        if (seen[at]) continue;
        seen[at] = true;
      } else if (!seen_global_.try_emplace(at, true).second) {
        continue;
      }
      blank_reads->push_back({a.space, at, bytes, a.who.line, a.who.warp * warp_size + lane, a.who.block});
    }
  }
}

void Rerun::note_write(const Access& a) {
  if (a.space == ptx::StateSpace::shared) {
    for_each_span(a, [&](std::uint64_t first, std::uint64_t bytes) { shared_[a.who.slot].write(first, bytes); });
    return;
  }
  if (a.space != ptx::StateSpace::global) return;
  for_each_span(a, [&](std::uint64_t first, std::uint64_t bytes) {
    journal_.note_store(first, bytes);
    defined_.add(first, bytes);
  });
  stores_.resize(look_for.size());
  for (std::size_t k = 0; k < look_for.size(); ++k)
    for (Mask m = a.mask; m; m &= m - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(m));
      const std::uint32_t bytes = element_bytes(a);
      const Address first = a.at(lane);
      if (look_for[k] < first || look_for[k] >= first + a.bytes) continue;
      stores_[k] = {look_for[k] - (look_for[k] - first) % bytes, bytes, a.who.line, a.who.warp * warp_size + lane,
                    a.who.block};
    }
}

void Rerun::note_event(const Access& a) {
  if (!record && !compare_with && !look_at) return;
  std::uint64_t hash = a.bytes;
  for (Mask m = a.mask; m; m &= m - 1) hash = mixed(hash, a.at(static_cast<unsigned>(std::countr_zero(m))));
  note(a.who, {hash, a.mask, a.who.line, Event::Kind::access}, &a);
}

void Rerun::note(const Actor& who, const Event& event, const Access* access) {
  const auto keep_addresses = [&](std::array<std::uint64_t, warp_size>& to) {
    for (Mask m = access ? access->mask : 0; m; m &= m - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(m));
      to[lane] = access->at(lane);
    }
  };
  const std::uint64_t key = key_of(who.block, who.warp);
  if (record) {
    if (record->is_complete()) {
      record->warps[key].push_back(event);
      ++record->events;
    }
    return;
  }
  if (!compare_with && !look_at) return;
  const std::size_t index = next_[key]++;
  if (look_at && look_at->block == who.block && look_at->warp == who.warp && look_at->index == index)
    keep_addresses(addresses_);
  if (!compare_with || difference_) return;
  const auto other = compare_with->warps.find(key);
  const bool is_there = other != compare_with->warps.end() && index < other->second.size();
  if (is_there ? other->second[index] == event : !compare_with->is_complete()) return;
  difference_.emplace(Difference{{who.block, who.warp, index}, {}, event, {}});
  if (is_there) difference_->expected = other->second[index];
  keep_addresses(difference_->addresses);
}

}  // namespace scanlab::vgpu
