#include "vgpu/checks/cost/own_barriers.hpp"

#include <algorithm>

#include "vgpu/checks/words.hpp"
#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {
namespace {

constexpr std::size_t most_remembered = 1u << 20;  // that are remembered: far more than there are flags and counters

}  // namespace

void OwnBarriers::kernel_begin(const KernelInfo& kernel) {
  barriers_ += waits_ / waits_of_barrier_;
  waits_ = 0;
  const std::uint64_t warps = (kernel.block.count() + warp_size - 1) / warp_size;
  waits_of_barrier_ = std::max<std::uint64_t>(warps, 2) - 1;
  global_.clear();
  blocks_.clear();  // those that were stopped
}

std::uint64_t& OwnBarriers::since(const Actor& actor) {
  std::vector<std::uint64_t>& since = blocks_[actor.block].since;
  if (since.size() <= actor.warp) since.resize(actor.warp + 1);
  return since[actor.warp];
}

void OwnBarriers::read(const Access& access) {
  std::uint64_t& since = this->since(access.actor);
  const Words& words = words_of(access);
  ++time_;
  bool has_waited = false;
  each_word(access, [&](std::uint64_t word) {
    const auto found = words.find(word);
    if (found == words.end() || since == 0) return;
    const Written& by = found->second;
    const bool is_own = by.block == access.actor.block && by.warp == access.actor.warp;
    has_waited = has_waited || (!is_own && by.time > since);
  });
  waits_ += has_waited;
  if (has_waited || since == 0) since = time_;
}

void OwnBarriers::write(const Access& access) {
  std::uint64_t& since = this->since(access.actor);
  Words& words = words_of(access);
  ++time_;
  if (since == 0) since = time_;
  if (words.size() >= most_remembered) words.clear();
  each_word(access, [&](std::uint64_t word) { words[word] = {access.actor.block, time_, access.actor.warp}; });
}

void OwnBarriers::atomic(const Access& access) {
  if (!access.phase) {
    read(access);
    write(access);
  } else if (access.order == Access::Order::acquire) {  // it has waited at an mbarrier
    since(access.actor) = 0;
    Block& block = blocks_[access.actor.block];
    for (const unsigned lane : lanes_in(access.mask)) {
      std::uint64_t& latest = block.phases[access.at(lane)];
      phases_ += access.phase[lane] > latest;
      latest = std::max(latest, access.phase[lane]);
    }
  }
}

void OwnBarriers::join(Observer& fork) {
  const auto& other = static_cast<const OwnBarriers&>(fork);
  waits_ += other.waits_;
  phases_ += other.phases_;
}

}  // namespace scanlab::vgpu
