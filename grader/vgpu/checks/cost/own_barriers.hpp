// Barriers that blocks make themselves, of waiting loops or of mbarrier objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// Counts what does a barrier's work and is none that the hardware knows. A warp has waited when it reads, by an atomic
/// or another strong access, what another warp has written since this one first looked or wrote in such a way, behind
/// its last barrier: how it looks, again and again or once after a pause, makes no difference. Whoever comes last finds
/// all others there. So a barrier of W warps is W - 1 waits, at least. Blocks have to run one after the other, as by
/// index: then nothing that earlier blocks pass on is waited for.
class OwnBarriers : public Observer {
 public:
  /// Since the last reset: a barrier for as many waits as one takes, and one for each phase of an mbarrier object that
  /// was waited for.
  std::uint64_t count() const { return phases_ + barriers_ + waits_ / waits_of_barrier_; }
  void reset() { *this = {}; }

  std::uint32_t interests() const override { return counted_arrivals; }
  void kernel_begin(const KernelInfo& kernel) override;
  void block_end(std::uint64_t block, std::uint32_t /*slot*/) override { blocks_.erase(block); }
  void load(const Access& access) override {
    if (!is_weak(access)) read(access);
  }
  void store(const Access& access) override {
    if (!is_weak(access)) write(access);
  }
  void loads(const AccessRun& run) override {
    if (!is_weak(run.first)) Observer::loads(run);
  }
  void stores(const AccessRun& run) override {
    if (!is_weak(run.first)) Observer::stores(run);
  }
  void atomic(const Access& access) override;
  void barrier_arrive(const Actor& actor, Mask, std::uint32_t, Arrival how) override {
    if (how == Arrival::waits) since(actor) = 0;
  }
  void barrier_complete(const Actor& actor, std::uint32_t, Meeting meeting) override {
    if (meeting == Meeting::all) std::ranges::fill(blocks_[actor.block].since, 0);
  }
  std::unique_ptr<Observer> fork() const override { return std::make_unique<OwnBarriers>(); }
  void join(Observer& fork) override;

 private:
  struct Written {
    std::uint64_t block = 0, time = 0;
    std::uint32_t warp = 0;
  };
  using Words = std::unordered_map<std::uint64_t, Written>;
  struct Block {
    Words shared;
    std::unordered_map<std::uint64_t, std::uint64_t> phases;  ///< the latest that was waited for, by mbarrier's address
    std::vector<std::uint64_t> since;  ///< when each warp first looked or wrote behind its last barrier; 0: not yet
  };

  static bool is_weak(const Access& access) { return access.order == Access::Order::weak; }
  Words& words_of(const Access& access) {
    return access.space == ptx::StateSpace::shared ? blocks_[access.actor.block].shared : global_;
  }
  std::uint64_t& since(const Actor& actor);
  void read(const Access& access);
  void write(const Access& access);

  Words global_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::uint64_t time_ = 0;
  std::uint64_t phases_ = 0;
  std::uint64_t waits_ = 0, waits_of_barrier_ = 1;  ///< of this launch
  std::uint64_t barriers_ = 0;                      ///< of earlier ones
};

}  // namespace scanlab::vgpu
