#include "vgpu/checks/cost/waits.hpp"

#include <algorithm>
#include <utility>

#include "vgpu/checks/words.hpp"
#include "vgpu/core/memory/stored.hpp"

namespace scanlab::vgpu {

void Waits::kernel_begin(const KernelInfo&) {
  // What an earlier launch has written is there from the beginning.
  written_.clear();
  blocks_.clear();
}

void Waits::read(const Access& access, Asks asks) {
  Warp& warp = warp_of(access.actor);
  ++time_;
  each_word(access, [&](std::uint64_t word) {
    std::uint64_t last = 0;
    if (asks == Asks::yes || (asks == Asks::if_latest && warp.latest == word))
      last = std::exchange(warp.asked[word], time_);
    const auto found = written_.find(word);
    if (found != written_.end() && found->second.block != access.actor.block)
      warp.place = std::max(warp.place, found->second.place + (last != 0 && last < found->second.time));
    warp.latest = word;
  });
  longest_ = std::max(longest_, warp.place);
}

void Waits::write(const Access& access) {
  Warp& warp = warp_of(access.actor);
  ++time_;
  each_word(access, [&](std::uint64_t word) {
    written_[word] = {access.actor.block, time_, warp.place};
    warp.latest = word;
  });
}

void Waits::load(const Access& access) {
  if (access.space == ptx::StateSpace::global) read(access, access.order == Access::Order::weak ? Asks::no : Asks::yes);
}

void Waits::store(const Access& access) {
  if (access.space == ptx::StateSpace::global) write(access);
}

void Waits::atomic(const Access& access) {
  if (access.space != ptx::StateSpace::global) return;
  Access changing = access, reading = access;
  changing.mask = lanes_that_change(access);
  reading.mask = access.mask & ~changing.mask;
  if (reading.mask != 0) read(reading, Asks::yes);
  if (changing.mask == 0) return;
  read(changing, Asks::if_latest);
  write(changing);
}

void Waits::barrier_complete(const Actor& actor, std::uint32_t, Meeting) {
  const auto block = blocks_.find(actor.block);
  if (block == blocks_.end()) return;
  std::uint64_t last = 0;
  for (const Warp& warp : block->second) last = std::max(last, warp.place);
  for (Warp& warp : block->second) warp.place = last;
}

}  // namespace scanlab::vgpu
