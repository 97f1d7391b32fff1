#include "vgpu/checks/global/carried_counters.hpp"

#include <fmt/format.h>

#include <cstring>

#include "vgpu/checks/byte_bits.hpp"
#include "vgpu/core/memory/stored.hpp"

namespace scanlab::vgpu {

CarriedCounters::CarriedCounters(Memory& memory) : memory_(memory) {
  memory_.listen(this);
}

CarriedCounters::~CarriedCounters() {
  memory_.ignore(this);
}

void CarriedCounters::kernel_begin(const KernelInfo&) {
  ++launch_;
  carried_.clear();
  taken_.clear();
}

void CarriedCounters::written(Address address, std::uint64_t bytes) {
  counted_.erase(counted_.lower_bound(address), counted_.lower_bound(address + bytes));
  carried_.erase(carried_.lower_bound(address), carried_.lower_bound(address + bytes));
}

void CarriedCounters::stores(const AccessRun& run) {
  if (counted_.empty() || run.first.space != ptx::StateSpace::global) return;
  const Extent e = extent_of(run);
  if (e.end <= counted_.begin()->first || e.begin > counted_.rbegin()->first) return;
  for_each_span(run, [&](Address first, std::uint64_t bytes) { written(first, bytes); });
}

void CarriedCounters::atomic(const Access& a) {
  if (a.space != ptx::StateSpace::global) return;
  for (const unsigned lane : lanes_in(a.mask)) {
    const Address at = a.at(lane);
    const auto known = counted_.find(at);
    if (known == counted_.end()) {
      if (counted_.size() < most_counters) counted_.emplace(at, launch_);
      continue;
    }
    if (known->second != launch_) {
      known->second = launch_;
      carried_.emplace(at, word_now(a, at / 4 * 4));
    }
    if (const auto carried = carried_.find(at); carried != carried_.end() && carried->second != 0)
      taken_.emplace(a.actor.block, at);
  }
}

void CarriedCounters::explain(Fault& fault) const {
  if (fault.kind != Fault::Kind::out_of_bounds || fault.id != "bounds.global" || !fault.has_thread) return;
  const std::uint64_t block =
      fault.block[0] +
      std::uint64_t{fault.grid_size[0]} * (fault.block[1] + std::uint64_t{fault.grid_size[1]} * fault.block[2]);
  const auto taken = taken_.find(block);
  if (taken == taken_.end()) return;
  const Allocation* const array = memory_.find(taken->second, 1);
  if (!array) return;
  const std::string place =
      array->size <= 8 ? array->label : fmt::format("{} (byte {})", array->label, taken->second - array->base);
  fault.details.push_back(
      fmt::format("the block has taken a number from a counter, {}, which stood at {} when the launch "
                  "began: launches before it have counted it up",
                  place, carried_.at(taken->second)));
  fault.advice = "set the counter back before each launch (cudaMemset); else guard the access, or allocate more";
}

}  // namespace scanlab::vgpu
