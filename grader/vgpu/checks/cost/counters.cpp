#include "vgpu/checks/cost/counters.hpp"

#include <bit>

#include "vgpu/checks/cost/access_cost.hpp"

namespace scanlab::vgpu {
namespace {

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
    if (!is_row(a)) counts_.bank_conflict_replays += times * (passes(a) - passes_without_conflict(a));
  } else if (a.space == ptx::StateSpace::global) {
    counts_.global_requests += times;
    counts_.global_sectors += times * sectors(a);
    counts_.global_bytes += times * a.bytes * static_cast<unsigned>(std::popcount(a.mask));
    if (is_fence(a)) counts_.fences += times;
  }
}

void Counters::accesses(const AccessRun& run) {
  if (run.first.space == ptx::StateSpace::shared && is_row(run.first)) return;
  if (!run.is_whole()) {
    access(run.first);
    return accesses(run.rest());
  }
  if (cost_the_same(run)) return access(run.first, run.count);
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
  if (!a.phase) {  // waiting at an mbarrier is not one
    counts_.atomics += static_cast<unsigned>(std::popcount(a.mask));
    if (a.space == ptx::StateSpace::shared) ++counts_.shared_stores;  // the old value is lost, as by a store
  }
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
