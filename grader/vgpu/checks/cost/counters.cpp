#include "vgpu/checks/cost/counters.hpp"

#include <bit>

#include "vgpu/checks/cost/access_cost.hpp"
#include "vgpu/core/memory/stored.hpp"

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

/// All counts, by their names in lab.toml.
constexpr std::pair<const char*, std::uint64_t Counts::*> all_counts[] = {
    {"launches", &Counts::launches},
    {"threads", &Counts::threads},
    {"thread_instructions", &Counts::thread_instructions},
    {"warp_instructions", &Counts::warp_instructions},
    {"additions", &Counts::additions},
    {"warp_additions", &Counts::warp_additions},
    {"barriers", &Counts::barriers},
    {"shared_loads", &Counts::shared_loads},
    {"shared_stores", &Counts::shared_stores},
    {"bank_conflict_replays", &Counts::bank_conflict_replays},
    {"global_requests", &Counts::global_requests},
    {"global_sectors", &Counts::global_sectors},
    {"global_bytes", &Counts::global_bytes},
    {"atomics", &Counts::atomics},
    {"fences", &Counts::fences},
};

/// Active lanes, over 32; 1 when there is nothing.
double efficiency(std::uint64_t lanes, std::uint64_t warps) {
  return warps ? static_cast<double>(lanes) / (32.0 * static_cast<double>(warps)) : 1.0;
}

/// How often the run moves up to 128 bytes.
std::uint64_t moves_of(const AccessRun& run) {
  if (run.first.bytes <= bank_bytes) return run.count;
  std::uint64_t moves = 0;
  for (unsigned k = 0; k < run.count; ++k) moves += passes_without_conflict(run.of(k));
  return moves;
}

}  // namespace

double Counts::warp_efficiency() const {
  return efficiency(thread_instructions, warp_instructions);
}

double Counts::addition_efficiency() const {
  return efficiency(additions, warp_additions);
}

Counts& Counts::operator+=(const Counts& other) {
  for (const auto& [name, count] : all_counts) this->*count += other.*count;
  return *this;
}

std::vector<std::pair<std::string, double>> Counts::named() const {
  std::vector<std::pair<std::string, double>> values;
  for (const auto& [name, count] : all_counts) values.emplace_back(name, static_cast<double>(this->*count));
  values.emplace_back("warp_efficiency", warp_efficiency());
  values.emplace_back("addition_efficiency", addition_efficiency());
  return values;
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
  for_each_cost(run, [&](const Access& a, std::uint64_t times) { access(a, times); });
}

void Counters::load(const Access& a) {
  if (a.space == ptx::StateSpace::shared) counts_.shared_loads += passes_without_conflict(a);
  access(a);
}

void Counters::store(const Access& a) {
  if (a.space == ptx::StateSpace::shared) counts_.shared_stores += passes_without_conflict(a);
  access(a);
}

void Counters::loads(const AccessRun& run) {
  if (run.first.space == ptx::StateSpace::shared) counts_.shared_loads += moves_of(run);
  accesses(run);
}

void Counters::stores(const AccessRun& run) {
  if (run.first.space == ptx::StateSpace::shared) counts_.shared_stores += moves_of(run);
  accesses(run);
}

void Counters::atomic(const Access& a) {
  if (!a.phase) {  // waiting at an mbarrier is not one
    counts_.atomics += static_cast<unsigned>(std::popcount(lanes_that_change(a)));
    if (a.space == ptx::StateSpace::shared) ++counts_.shared_stores;  // the old value is lost, as by a store
  }
  access(a);
}

void Counters::fence(const Actor&, Mask, Access::Scope scope) {
  counts_.fences += reaches_other_blocks(scope);
}

}  // namespace scanlab::vgpu
