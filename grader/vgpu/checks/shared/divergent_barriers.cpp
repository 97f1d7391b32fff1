#include "vgpu/checks/shared/divergent_barriers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {
namespace {

/// That of __syncthreads().
constexpr std::uint32_t own_barrier = 0;

}  // namespace

void DivergentBarriers::kernel_begin(const KernelInfo& kernel) {
  kernel_ = std::make_shared<const KernelInfo>(kernel);
  found_.clear();
}

void DivergentBarriers::block_begin(std::uint64_t, std::uint32_t slot) {
  if (arrived_.size() <= slot) arrived_.resize(slot + 1);
  arrived_[slot].clear();
}

void DivergentBarriers::barrier_arrive(const Actor& actor, Mask lanes, std::uint32_t id, Arrival how) {
  if (id != own_barrier || how != Arrival::waits) return;
  std::vector<Arrived>& arrived = arrived_[actor.slot];
  for (const Arrived& other : arrived)
    if (other.line == actor.line && other.thread / warp_size == actor.warp) return;
  arrived.push_back({actor.line, actor.warp * warp_size + static_cast<unsigned>(std::countr_zero(lanes))});
}

void DivergentBarriers::barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) {
  if (id != own_barrier) return;
  std::vector<Arrived>& arrived = arrived_[actor.slot];
  // nvcc may make two of one barrier: what counts is the learner's line.
  for (std::size_t k = 1; k < arrived.size() && meeting == Meeting::all; ++k) {
    const auto of_warp = std::ranges::find_if(
        arrived, [&](const Arrived& a) { return a.thread / warp_size == arrived[k].thread / warp_size; });
    const auto [first, other] = std::minmax(*of_warp, arrived[k], [](auto& a, auto& b) { return a.line < b.line; });
    if (own_place(*kernel_->module, first.line).is_same_line(own_place(*kernel_->module, other.line))) continue;
    add({first.line, other.line}, {actor.block, {first.thread, other.thread}, 1});
  }
  arrived.clear();
}

void DivergentBarriers::add(const Lines& lines, const Example& example) {
  const auto [known, is_new] = found_.try_emplace(lines, example);
  if (is_new) return;
  const std::uint64_t count = known->second.count + example.count;
  if (example.block < known->second.block) known->second = example;
  known->second.count = count;
}

void DivergentBarriers::kernel_end() {
  for (const auto& [lines, example] : found_) {
    Finding finding;
    finding.id = "barrier.divergent";
    finding.kernel = ptx::source_name(kernel_->name);
    finding.has_block = true;
    finding.grid_size = kernel_->grid;
    finding.block_size = kernel_->block;
    set_index(finding.block, example.block, kernel_->grid);
    finding.headline = fmt::format("BARRIER: not all threads wait at the same __syncthreads(), kernel {}, block {}",
                                   finding.kernel, index_text(finding.block, kernel_->grid));
    for (const auto& [line, thread] :
         {std::pair{lines.first, example.threads[0]}, {lines.second, example.threads[1]}}) {
      Finding::Part part;
      part.does = "wait";
      part.where = own_place(*kernel_->module, line);
      part.has_thread = true;
      set_index(part.thread, thread, kernel_->block);
      finding.parts.push_back(part);
    }
    finding.advice =
        "some threads never reach one of them, and are a barrier ahead of the others from there on: move it out of the "
        "branch or the loop that not all threads go through";
    finding.count = example.count;
    findings_.add(std::move(finding));
  }
  kernel_.reset();
}

std::unique_ptr<Observer> DivergentBarriers::fork() const {
  auto other = std::make_unique<DivergentBarriers>();
  other->kernel_ = kernel_;
  return other;
}

void DivergentBarriers::join(Observer& fork) {
  for (const auto& [lines, example] : static_cast<DivergentBarriers&>(fork).found_) add(lines, example);
}

}  // namespace scanlab::vgpu
