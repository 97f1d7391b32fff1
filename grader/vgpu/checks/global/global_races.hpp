// The checks race.global, race.read_only and fence.missing: attached to a device, they find accesses to global memory
// that nothing orders, and among them the values that are passed on by a flag without a fence. They are found by what
// orders the accesses, not by what the values became: under every schedule in which both happen.
//
// The launches of a device run one after the other here. What different streams may do at the same time is looked at
// afterwards (stream_races.hpp), with what each launch has touched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "vgpu/checks/check.hpp"
#include "vgpu/checks/global/block_view.hpp"
#include "vgpu/checks/global/global_shadow.hpp"
#include "vgpu/checks/pending_copies.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// One finding for each kernel, pair of lines, allocation and cause, in the order of kernels and lines.
class GlobalRaces : public Check, private ConflictSink<GlobalConflict> {
 public:
  explicit GlobalRaces(LaneOrder order = LaneOrder::practice) : order_(order) {}

  std::uint32_t interests() const override { return warp_syncs | counted_arrivals; }
  void kernel_begin(const KernelInfo& kernel) override;
  void kernel_end() override;
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void block_end(std::uint64_t block, std::uint32_t slot) override;
  void load(const Access& access) override { loads({access, 1, 0}); }
  void store(const Access& access) override { stores({access, 1, 0}); }
  void loads(const AccessRun& run) override;
  void stores(const AccessRun& run) override;
  void atomic(const Access& access) override;
  void fence(const Actor& actor, Mask lanes, Access::Scope scope) override;
  void barrier_arrive(const Actor& actor, Mask lanes, std::uint32_t id, Arrival how) override {
    block_of(actor).arrive(actor.warp, lanes, id, how);
  }
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override {
    block_of(actor).complete(id, meeting);
    copies_[actor.slot].meet_all();
  }
  void warp_sync(const Actor& actor, Mask lanes, WarpSync how) override {
    if (how == WarpSync::only_waits && order_ == LaneOrder::ptx) return;
    block_of(actor).meet(actor.warp, lanes);
    copies_[actor.slot].meet(actor.warp, lanes);
  }
  void async_commit(const Actor& actor, Mask lanes) override { copies_[actor.slot].commit(actor.warp, lanes); }
  void async_wait(const Actor& actor, Mask lanes, std::uint32_t left) override {
    keep_complete(copies_[actor.slot].take(actor.warp, lanes, left), actor);
  }

  /// Called at the end of each launch; then what follows can be asked of it.
  std::function<void(const KernelInfo&)> at_end;
  /// All that it has touched.
  void collect(AccessedSpans& spans) const;
  /// Lines of its plain reads whose values were only guesses (open_reads.hpp).
  const std::set<std::uint32_t>& guesses() const { return guesses_; }
  /// Threads of it have ordered accesses for others: other blocks; the host.
  bool has_fence() const { return has_fence_; }
  bool has_fence_for_host() const { return has_fence_for_host_; }
  /// … and have written after that, which the host may have waited to see.
  bool has_signal_for_host() const { return has_signal_for_host_; }

 private:
  using Cause = GlobalConflict::Cause;
  /// Both lines, name of the memory, cause, use of a plain read.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string, Cause, ReadUse>;
  /// The first that was seen of those that say most, and how many there are.
  struct Found {
    GlobalConflict example;
    std::uint64_t element = 0;
    std::uint64_t count = 0;
    bool is_one_element = true;  ///< that a block has in common with others, or its threads have
    bool is_update = false;      ///< both threads of one of them read the element and write it, by one line
  };

  void conflict(const GlobalConflict& c) override;
  void guessed(std::uint32_t line) override { guesses_.insert(line); }
  bool expects_old_value(const GlobalConflict& c) const;
  void touch(const AccessRun& run, How::Kind kind);
  void keep_complete(const std::vector<PendingCopies::Copy>& copies, const Actor& actor);
  void compare_with_copies(const Access& a, GlobalHow how);
  void synchronise(const AccessRun& run, BlockSync::Effect effect);
  Finding describe(const Key& key, const Found& found) const;
  BlockView& block_of(const Actor& actor) { return *blocks_[actor.slot]; }

  const LaneOrder order_;
  std::shared_ptr<const KernelInfo> kernel_;  ///< while it runs
  unsigned levels_ = 1;
  std::vector<std::unique_ptr<BlockView>> blocks_;  ///< by resident place
  std::vector<PendingCopies> copies_;               ///< by resident place: where they read
  GlobalShadow shadow_{*this};
  std::map<Key, Found> found_;            ///< in this launch
  std::map<Key, GlobalConflict> to_ask_;  ///< of one line, the first each: are they updates?
  std::set<std::uint32_t> guesses_;       ///< in this launch
  std::set<std::tuple<Address, std::uint32_t, std::uint32_t>> constants_;  ///< that were read: address, line, bytes
  bool has_fence_ = false, has_fence_for_host_ = false, has_signal_for_host_ = false;
  std::vector<std::uint64_t> fenced_for_host_;  ///< by resident place: a bit for each warp
  const Memory* read_only_in_ = nullptr;  ///< where this launch has a load of what it may not write; null: it has none
};

}  // namespace scanlab::vgpu
