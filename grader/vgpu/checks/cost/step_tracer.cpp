#include "vgpu/checks/cost/step_tracer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ranges>

#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

bool uses_shuffles(const KernelInfo& kernel) {
  const auto is_shuffle = [](const ptx::Instruction& i) { return i.opcode == "shfl"; };
  return std::ranges::any_of(kernel.module->functions, [&](const ptx::Function& f) {
    return (!f.is_entry || f.name == kernel.name) && std::ranges::any_of(f.instructions, is_shuffle);
  });
}

}  // namespace

void StepTracer::kernel_begin(const KernelInfo& kernel) {
  kernel_ = std::make_unique<const KernelInfo>(kernel);
  arrays_.clear();
  places_.clear();
  time_ = 0;
  TracedLaunch launch;
  launch.kernel = ptx::source_name(kernel.name);
  launch.grid = kernel.grid;
  launch.block = kernel.block;
  launch.has_shuffles = uses_shuffles(kernel);
  launches_.push_back(std::move(launch));
}

void StepTracer::block_begin(std::uint64_t block, std::uint32_t) {
  if (block != block_) return;
  launches_.back().has_block = true;
  warp_syncs_.assign((kernel_->block.count() + warp_size - 1) / warp_size, 0);
}

void StepTracer::barrier_complete(const Actor& actor, std::uint32_t, Meeting) {
  if (actor.block != block_) return;
  launches_.back().barriers.push_back(place_of(actor.line));
  std::ranges::fill(warp_syncs_, 0);
}

void StepTracer::add(const Access& access, TracedAccess::Does does) {
  const std::uint64_t time = time_++;
  if (access.actor.block != block_) return;
  TracedLaunch& launch = launches_.back();
  if (launch.accesses.size() >= most_accesses_) {
    launch.left_out += static_cast<unsigned>(std::popcount(access.mask));
    return;
  }
  for (const unsigned lane : lanes_in(access.mask)) {
    const std::optional<Found> found = find(access, lane);
    if (!found) continue;
    TracedAccess a;
    a.does = does;
    a.interval = static_cast<std::uint32_t>(launch.barriers.size());
    a.warp_syncs = warp_syncs_[access.actor.warp];
    a.thread = access.actor.warp * warp_size + lane;
    a.array = found->array;
    a.place = place_of(access.actor.line);
    a.bytes = access.bytes;
    a.offset = found->offset;
    a.time = time;
    std::optional<LaneValue> value;
    if (does == TracedAccess::Does::read) value = value_loaded(access, lane);
    if (does == TracedAccess::Does::write) value = value_stored(access, lane);
    a.has_value = value.has_value();
    if (value) std::memcpy(a.value.data(), value->data(), sizeof a.value);
    launch.accesses.push_back(a);
  }
}

template <class Make>
std::uint32_t StepTracer::array_of(std::uint64_t key, Make make) {
  std::vector<TracedArray>& all = launches_.back().arrays;
  const auto [known, is_new] = arrays_.try_emplace(key, static_cast<std::uint32_t>(all.size()));
  if (is_new) all.push_back(make());
  return known->second;
}

/// The array at that address; nothing for memory of another kind, and for an access that is about to be a fault.
std::optional<StepTracer::Found> StepTracer::find(const Access& access, unsigned lane) {
  const std::uint64_t address = access.at(lane), bytes = access.bytes;
  if (access.space == ptx::StateSpace::shared) {
    const auto holds = [&](const SharedVariable& v) {
      return address >= v.offset && address + bytes <= v.offset + v.size;
    };
    const auto variable = std::ranges::find_if(kernel_->shared, holds);
    if (variable == kernel_->shared.end()) return std::nullopt;
    const auto array = [&] { return TracedArray{variable->name, access.space, variable->size}; };
    return Found{array_of(variable->offset, array), address - variable->offset};
  }
  if (access.space != ptx::StateSpace::global || !access.block) return std::nullopt;
  const Allocation* const memory = access.block->grid->memory->find(address, bytes);
  if (!memory) return std::nullopt;
  const auto array = [&] { return TracedArray{memory->label, access.space, memory->size}; };
  return Found{array_of(memory->base, array), address - memory->base};
}

std::uint32_t StepTracer::place_of(std::uint32_t line) {
  const auto [known, is_new] = places_.try_emplace(line, 0);
  if (!is_new) return known->second;
  std::vector<TracedPlace>& all = launches_.back().places;
  TracedPlace place{own_place(*kernel_->module, line), own_callers(*kernel_->module, line)};
  const auto are_same = [](const SourcePlace& a, const SourcePlace& b) { return a.is_same_line(b); };
  const auto same = std::ranges::find_if(all, [&](const TracedPlace& p) {
    return p.is_same_line(place) && std::ranges::equal(p.callers, place.callers, are_same);
  });
  known->second = static_cast<std::uint32_t>(same - all.begin());
  if (same == all.end()) all.push_back(std::move(place));
  return known->second;
}

}  // namespace scanlab::vgpu
