#include "vgpu/checks/counters.hpp"

#include <algorithm>
#include <bit>

namespace scanlab::vgpu {
namespace {

constexpr unsigned banks = 32;
constexpr unsigned bank_bytes = 4;
constexpr unsigned sector_bytes = 32;

/// True when all words of a request of one word a lane lie within as many as there are banks: then no bank has two.
bool lies_in_one_row(const Access& a) {
  if (a.is_affine() || a.mask != full_mask || a.bytes > bank_bytes) return false;
  std::uint32_t low = ~0u, high = 0;
  for (unsigned l = 0; l < warp_size; ++l) {
    const auto word = static_cast<std::uint32_t>(a.address[l] / bank_bytes);
    low = std::min(low, word);
    high = std::max(high, word);
  }
  return high - low < banks;
}

/// Most different words in any bank, of the lanes [first, end) of a request.
unsigned most_words(const Access& a, unsigned first, unsigned end, unsigned words) {
  // Mostly every bank is asked for one word.
  std::uint64_t word_of[banks];
  std::uint32_t used = 0;
  bool conflicts = false;
  for (unsigned l = first; l < end; ++l) {
    if (!(a.mask >> l & 1)) continue;
    for (unsigned k = 0; k < words; ++k) {
      const std::uint64_t word = a.at(l) / bank_bytes + k;
      const unsigned bank = word % banks;
      if (!(used >> bank & 1)) {
        used |= 1u << bank;
        word_of[bank] = word;
      } else {
        conflicts |= word_of[bank] != word;
      }
    }
  }
  if (!conflicts) return used != 0;
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

/// Passes over the banks that one request takes: the most different 4-byte words in any bank. A request of 8 or 16
/// bytes a lane is carried out in halves or quarters of the warp, so that each moves at most 128 bytes (CUDA C++
/// Programming Guide, "Shared memory").
unsigned passes(const Access& a) {
  if (a.is_affine() && a.bytes == bank_bytes && a.stride % bank_bytes == 0) {
    // Lanes meet in a bank when their distance is a multiple of `period`: the banks, over the factors of two that they
    // have in common with the stride.
    const std::uint64_t stride = static_cast<std::uint64_t>(a.stride < 0 ? -a.stride : a.stride) / bank_bytes;
    if (stride == 0) return a.mask != 0;
    const unsigned common =
        std::min<unsigned>(std::countr_zero(banks), static_cast<unsigned>(std::countr_zero(stride)));
    const unsigned period = banks >> common;
    if (a.mask == full_mask) return warp_size / period;
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

/// Passes that a request of this width takes without conflicts: one for each group of lanes that takes part.
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
  std::uint64_t touched[warp_size * 2];
  unsigned count = 0;
  bool rises = true;
  for (Mask m = a.mask; m; m &= m - 1) {
    const std::uint64_t address = a.at(static_cast<unsigned>(std::countr_zero(m)));
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

bool reaches_other_blocks(Access::Scope scope) {
  return scope == Access::Scope::device || scope == Access::Scope::system;
}

/// A load that acquires or a store that releases: each orders other accesses as a fence beside it would.
bool is_fence(const Access& a) {
  using enum Access::Order;
  return (a.order == acquire || a.order == release || a.order == acq_rel) && reaches_other_blocks(a.scope);
}

}  // namespace

double Counts::warp_efficiency() const {
  return warp_instructions ? static_cast<double>(thread_instructions) / (32.0 * static_cast<double>(warp_instructions))
                           : 1.0;
}

double Counts::addition_efficiency() const {
  return warp_additions ? static_cast<double>(additions) / (32.0 * static_cast<double>(warp_additions)) : 1.0;
}

Counts& Counts::operator+=(const Counts& other) {
  launches += other.launches;
  threads += other.threads;
  thread_instructions += other.thread_instructions;
  warp_instructions += other.warp_instructions;
  additions += other.additions;
  warp_additions += other.warp_additions;
  barriers += other.barriers;
  shared_loads += other.shared_loads;
  shared_stores += other.shared_stores;
  bank_conflict_replays += other.bank_conflict_replays;
  global_requests += other.global_requests;
  global_sectors += other.global_sectors;
  global_bytes += other.global_bytes;
  atomics += other.atomics;
  fences += other.fences;
  return *this;
}

std::vector<std::pair<std::string, double>> Counts::named() const {
  const auto d = [](std::uint64_t n) { return static_cast<double>(n); };
  return {{"launches", d(launches)},
          {"threads", d(threads)},
          {"thread_instructions", d(thread_instructions)},
          {"warp_instructions", d(warp_instructions)},
          {"additions", d(additions)},
          {"warp_additions", d(warp_additions)},
          {"barriers", d(barriers)},
          {"shared_loads", d(shared_loads)},
          {"shared_stores", d(shared_stores)},
          {"bank_conflict_replays", d(bank_conflict_replays)},
          {"global_requests", d(global_requests)},
          {"global_sectors", d(global_sectors)},
          {"global_bytes", d(global_bytes)},
          {"atomics", d(atomics)},
          {"fences", d(fences)},
          {"warp_efficiency", warp_efficiency()},
          {"addition_efficiency", addition_efficiency()}};
}

void Counters::kernel_begin(const KernelInfo& kernel) {
  ++counts_.launches;
  counts_.threads += kernel.grid.count() * kernel.block.count();
}

void Counters::executed(Mask mask, std::uint64_t count) {
  counts_.warp_instructions += count;
  counts_.thread_instructions += count * static_cast<unsigned>(std::popcount(mask));
}

void Counters::addition(Mask mask, std::uint64_t warps) {
  counts_.additions += warps * static_cast<unsigned>(std::popcount(mask));
  if (mask) counts_.warp_additions += warps;
}

void Counters::access(const Access& a, std::uint64_t times) {
  if (a.space == ptx::StateSpace::shared) {
    // Elements side by side, or one for all lanes, never share a bank.
    const bool is_row = a.is_affine() && a.mask == full_mask && (a.stride == a.bytes || a.stride == 0);
    if (!is_row) counts_.bank_conflict_replays += times * (passes(a) - passes_without_conflict(a));
  } else if (a.space == ptx::StateSpace::global) {
    counts_.global_requests += times;
    counts_.global_sectors += times * sectors(a);
    counts_.global_bytes += times * a.bytes * static_cast<unsigned>(std::popcount(a.mask));
    if (is_fence(a)) counts_.fences += times;
  }
}

void Counters::accesses(const AccessRun& run) {
  // A shift by whole sectors, or whole rounds of the banks, changes no count.
  const bool is_same = run.step % (banks * bank_bytes) == 0 ||
                       (run.step % sector_bytes == 0 && run.first.space != ptx::StateSpace::shared);
  if (is_same) return access(run.first, run.count);
  for (unsigned k = 0; k < run.count; ++k) access(run.of(k));
}

void Counters::load(const Access& a) {
  if (a.space == ptx::StateSpace::shared) ++counts_.shared_loads;
  access(a);
}

void Counters::store(const Access& a) {
  if (a.space == ptx::StateSpace::shared) ++counts_.shared_stores;
  access(a);
}

void Counters::loads(const AccessRun& run) {
  if (run.first.space == ptx::StateSpace::shared) counts_.shared_loads += run.count;
  accesses(run);
}

void Counters::stores(const AccessRun& run) {
  if (run.first.space == ptx::StateSpace::shared) counts_.shared_stores += run.count;
  accesses(run);
}

void Counters::atomic(const Access& a) {
  if (!a.phase) counts_.atomics += static_cast<unsigned>(std::popcount(a.mask));  // waiting at an mbarrier is none
  access(a);
}

void Counters::fence(const Actor&, Mask, Access::Scope scope) {
  counts_.fences += reaches_other_blocks(scope);
}

void Counters::barrier_complete(const Actor&, std::uint32_t, Meeting) {
  ++counts_.barriers;
}

std::unique_ptr<Observer> Counters::fork() const {
  return std::make_unique<Counters>();
}

void Counters::join(Observer& fork) {
  counts_ += static_cast<const Counters&>(fork).counts_;
}

}  // namespace scanlab::vgpu
