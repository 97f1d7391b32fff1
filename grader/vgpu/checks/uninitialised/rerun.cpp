#include "vgpu/checks/uninitialised/rerun.hpp"

#include <algorithm>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/run/hash.hpp"

namespace scanlab::vgpu {
namespace {

std::uint64_t key_of(std::uint64_t block, std::uint32_t warp) {
  return block << 5 | warp;
}

/// Elements of a lane's access: those of a vector are read one by one. A copy that does not go through registers may
/// move any number of elements; usually they are words.
std::uint32_t element_bytes(const Access& a) {
  if (a.inst) return a.bytes / std::max(1u, std::uint32_t{form_of(a.inst).count});
  return std::min(a.bytes, 4u);
}

}  // namespace

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

void Rerun::branch(const Actor& actor, Mask active, Mask taken) {
  note(actor, {taken, active, actor.line, Event::Kind::branch}, nullptr);
}

void Rerun::note_read(const Access& a) {
  const bool is_shared = a.space == ptx::StateSpace::shared;
  if ((!is_shared && a.space != ptx::StateSpace::global) || blank_reads->size() >= most_reads) return;
  const std::uint32_t bytes = element_bytes(a);
  for (const unsigned lane : lanes_in(a.mask)) {
    for (std::uint64_t at = a.at(lane), end = at + a.bytes; at < end; at += bytes) {
      const bool has_all = is_shared ? shared_[a.actor.slot].has_all(at, bytes) : defined_.has_all(at, bytes);
      if (has_all) continue;
      // Where some bytes are written and others not, the others may be the padding of a struct, which matters nowhere.
      const std::uint64_t written = is_shared ? shared_[a.actor.slot].which(at, bytes) : defined_.which(at, bytes);
      if (only) {
        if (at != only->address || a.space != only->space || (is_shared && a.actor.block != only->block)) continue;
      } else if (is_shared) {
        std::vector<bool>& seen = seen_shared_[a.actor.block];
        if (seen.size() <= at) seen.resize(at + 1);
        if (seen[at]) continue;
        seen[at] = true;
      } else if (!seen_global_.try_emplace(at, true).second) {
        continue;
      }
      blank_reads->push_back({a.space, at, bytes, a.actor.line, a.actor.warp * warp_size + lane, a.actor.block,
                              ~written & (~std::uint64_t{0} >> (64 - bytes))});
    }
  }
}

void Rerun::note_write(const Access& a) {
  if (a.space == ptx::StateSpace::shared) {
    for_each_span(a, [&](std::uint64_t first, std::uint64_t bytes) { shared_[a.actor.slot].write(first, bytes); });
    return;
  }
  if (a.space != ptx::StateSpace::global) return;
  for_each_span(a, [&](std::uint64_t first, std::uint64_t bytes) {
    journal_.note_store(first, bytes);
    defined_.add(first, bytes);
  });
  stores_.resize(look_for.size());
  for (std::size_t k = 0; k < look_for.size(); ++k)
    for (const unsigned lane : lanes_in(a.mask)) {
      const std::uint32_t bytes = element_bytes(a);
      const Address first = a.at(lane);
      if (look_for[k] < first || look_for[k] >= first + a.bytes) continue;
      stores_[k] = {look_for[k] - (look_for[k] - first) % bytes, bytes, a.actor.line, a.actor.warp * warp_size + lane,
                    a.actor.block};
    }
}

void Rerun::note_event(const Access& a) {
  if (!record && !compare_with && !look_at) return;
  std::uint64_t hash = a.bytes;
  for (const unsigned lane : lanes_in(a.mask)) hash = mixed(hash, a.at(lane));
  note(a.actor, {hash, a.mask, a.actor.line, Event::Kind::access}, &a);
}

void Rerun::note(const Actor& actor, const Event& event, const Access* access) {
  const auto keep_addresses = [&](std::array<std::uint64_t, warp_size>& to) {
    for (const unsigned lane : lanes_in(access ? access->mask : 0)) to[lane] = access->at(lane);
  };
  const std::uint64_t key = key_of(actor.block, actor.warp);
  if (record) {
    if (record->is_complete()) {
      record->warps[key].push_back(event);
      ++record->events;
    }
    return;
  }
  if (!compare_with && !look_at) return;
  const std::size_t index = next_[key]++;
  if (look_at && look_at->block == actor.block && look_at->warp == actor.warp && look_at->index == index)
    keep_addresses(addresses_);
  if (!compare_with || difference_) return;
  const auto other = compare_with->warps.find(key);
  const bool is_there = other != compare_with->warps.end() && index < other->second.size();
  if (is_there ? other->second[index] == event : !compare_with->is_complete()) return;
  difference_.emplace(Difference{{actor.block, actor.warp, index}, {}, event, {}});
  if (is_there) difference_->expected = other->second[index];
  keep_addresses(difference_->addresses);
}

}  // namespace scanlab::vgpu
