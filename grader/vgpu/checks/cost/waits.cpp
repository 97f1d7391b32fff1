#include "vgpu/checks/cost/waits.hpp"

#include <algorithm>

#include "vgpu/checks/words.hpp"

namespace scanlab::vgpu {

void Waits::kernel_begin(const KernelInfo&) {
  // What an earlier launch has written is there from the beginning.
  written_.clear();
  warps_.clear();
}

void Waits::read(const Access& access, Warp& warp) {
  ++time_;
  bool is_again = true;
  each_word(access, [&](std::uint64_t word) { is_again = is_again && warp.read.contains(word); });
  if (!is_again) warp.read.clear();  // the warp has gone on
  each_word(access, [&](std::uint64_t word) {
    std::uint64_t& last = warp.read[word];
    const auto found = written_.find(word);
    if (found != written_.end() && found->second.block != access.actor.block) {
      const bool waited = last != 0 && last < found->second.time;
      warp.place = std::max(warp.place, found->second.place + waited);
    }
    last = time_;
  });
  longest_ = std::max(longest_, warp.place);
}

void Waits::write(const Access& access, const Warp& warp) {
  ++time_;
  each_word(access, [&](std::uint64_t word) { written_[word] = {access.actor.block, time_, warp.place}; });
}

void Waits::load(const Access& access) {
  if (access.space == ptx::StateSpace::global) read(access, warp_of(access.actor));
}

void Waits::store(const Access& access) {
  if (access.space != ptx::StateSpace::global) return;
  Warp& warp = warp_of(access.actor);
  warp.read.clear();
  write(access, warp);
}

void Waits::atomic(const Access& access) {
  if (access.space != ptx::StateSpace::global) return;
  Warp& warp = warp_of(access.actor);
  read(access, warp);
  write(access, warp);
}

}  // namespace scanlab::vgpu
