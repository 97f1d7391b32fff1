// The check race.shared: attached to a device, it finds the races on shared memory in what the kernels do. They are
// found by what orders the accesses, not by what the values became: under every schedule in which both happen. Where a
// flag or a lock stands between the two, without its fences, it is fence.missing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "vgpu/checks/check.hpp"
#include "vgpu/checks/cost/assumptions.hpp"
#include "vgpu/checks/race.hpp"
#include "vgpu/checks/shared/block_races.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// One finding for each kernel, pair of lines, array and hazard, in the order of kernels and lines.
class SharedRaces : public Check, private ConflictSink<Conflict> {
 public:
  explicit SharedRaces(LaneOrder order = LaneOrder::practice) : order_(order) {}

  std::uint32_t interests() const override { return window_bytes_ ? warp_syncs | counted_arrivals | plain_shared : 0; }
  void kernel_begin(const KernelInfo& kernel) override;
  void kernel_end() override;
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void block_end(std::uint64_t, std::uint32_t slot) override {
    if (window_bytes_) blocks_[slot]->end();
  }
  void load(const Access& access) override { loads({access, 1, 0}); }
  void store(const Access& access) override { stores({access, 1, 0}); }
  void loads(const AccessRun& run) override { touch(run, How::Kind::read, BlockSync::Effect::reads); }
  void stores(const AccessRun& run) override {
    touch(run, run.first.is_async ? How::Kind::copy : How::Kind::write, BlockSync::Effect::writes);
  }
  void atomic(const Access& a) override { touch({a, 1, 0}, How::Kind::atomic, BlockSync::Effect::updates); }
  void fence(const Actor& actor, Mask lanes, Access::Scope) override {
    if (window_bytes_) block_of(actor).fence(actor.warp, lanes);
  }
  void barrier_arrive(const Actor& actor, Mask lanes, std::uint32_t id, Arrival how) override {
    if (window_bytes_) block_of(actor).arrive(actor.warp, lanes, id, how);
  }
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override {
    if (window_bytes_) block_of(actor).complete(id, meeting);
  }
  void warp_sync(const Actor& actor, Mask lanes, WarpSync how) override {
    if (how == WarpSync::only_waits && order_ == LaneOrder::ptx) return;
    if (window_bytes_) block_of(actor).meet(actor.warp, lanes);
  }
  void async_commit(const Actor& actor, Mask lanes) override {
    if (window_bytes_) block_of(actor).commit(actor.warp, lanes);
  }
  void async_wait(const Actor& actor, Mask lanes, std::uint32_t left) override {
    if (window_bytes_) block_of(actor).wait(actor.warp, lanes, left);
  }
  std::unique_ptr<Observer> fork() const override;
  void join(Observer& fork) override;
  void reset() override {
    Check::reset();
    breaches_.clear();
  }
  /// The first arrival at an mbarrier by which an order of threads may decide, if there is one.
  const std::vector<Breach>& breaches() const { return breaches_; }

 private:
  /// Both lines, number of the array, whether only fences are missing, hazard (then of no interest), use of a plain
  /// read.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, Hazard, ReadUse>;
  /// The one of the lowest block, and how many there are.
  struct Found {
    Conflict example;
    std::uint64_t count = 0;
    bool is_by_both = false;  ///< as of a conflict, of any of them
  };

  void touch(const AccessRun& run, How::Kind kind, BlockSync::Effect effect);
  void conflict(const Conflict& c) override;
  void guessed(std::uint32_t line) override { guesses_.insert(line); }
  void unordered_arrival(std::uint32_t line) override { arrivals_.insert(line); }
  void add(const Key& key, const Found& found);
  void leave_out_flags();
  void join_warps();
  bool is_update(const Key& key, const Found& found) const;
  Finding describe(const Key& key, const Found& found) const;
  BlockRaces& block_of(const Actor& actor) { return *blocks_[actor.slot]; }

  const LaneOrder order_;
  std::shared_ptr<const KernelInfo> kernel_;  ///< while it runs
  std::uint64_t window_bytes_ = 0;            ///< of its shared memory; 0: it has none, and nothing is looked at
  RepeatedBlocks repeated_;
  std::vector<std::unique_ptr<BlockRaces>> blocks_;  ///< by resident place
  std::map<Key, Found> found_;                       ///< in this launch
  std::set<std::uint32_t> guesses_;                  ///< lines of plain reads, in this launch
  std::set<std::uint32_t> arrivals_;                 ///< lines of those that nothing orders, in this launch
  std::vector<Breach> breaches_;
};

}  // namespace scanlab::vgpu
