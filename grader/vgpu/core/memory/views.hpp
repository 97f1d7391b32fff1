// Weak memory: a strong access (volatile, relaxed, acquire, release, atomic) to global memory may see other values than
// the latest. README.md, "Weak memory", says what is shown and what is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "vgpu/core/memory/causality.hpp"
#include "vgpu/core/memory/locations.hpp"
#include "vgpu/core/memory/memory_chooser.hpp"
#include "vgpu/core/memory/stale_accesses.hpp"
#include "vgpu/core/memory/strong_access.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// The view machine of one launch. It executes strong accesses to global memory and fences: the chooser picks one of
/// the writes that the thread's view allows. As an observer it hears of blocks that begin, barriers and plain accesses.
class Views : public Observer {
 public:
  /// `chooser` has to outlive it.
  Views(Memory& memory, MemoryChooser& chooser, std::uint64_t threads_of_block)
      : memory_(memory),
        chooser_(chooser),
        locations_(memory),
        causality_(locations_, threads_of_block),
        stale_(locations_, threads_of_block) {}

  bool may_act(Warp& w, const Inst* i) { return chooser_.may_act(w, i); }
  /// Reads into `to`. Returns false when that was not the newest value.
  bool read(const StrongAccess& access, std::byte* to);
  void write(const StrongAccess& access, const std::byte* from);
  /// now(before, after) sets the value after an atomic from the value before it, both of access.bytes. It returns false
  /// where the atomic writes nothing: a compare-and-swap that fails.
  using Compute = std::function<bool(const std::byte* before, std::byte* after)>;
  /// Sets `old` to the value before. Returns true when another look may see something else: a value has changed, or the
  /// one before was not the newest.
  bool update(const StrongAccess& access, const Compute& now, std::byte* old);
  /// From now on only bar.warp.sync passes on what lanes of a warp know, as PTX has it. Until then shuffles and votes
  /// do as well: working code relies on that. And all that a thread may read is offered, unless locations().cut_off().
  void order_as_ptx() {
    shuffles_order_ = false;
    locations_.be_exact();
  }
  /// Called for each access that may return what stood in memory before the launch, whatever it returns.
  std::function<void(const StrongAccess&)> on_initial;
  using Fence = Causality::Fence;
  void fence(const Actor& actor, Mask mask, Access::Scope scope, Fence kind);

  const Locations& locations() const { return locations_; }
  Causality& causality() { return causality_; }
  const std::vector<StaleAccess>& stale() const { return stale_.all(); }
  /// Whether the lane has read, or learned of, the newest write to each location in these bytes.
  bool knows_newest(Address address, std::uint64_t bytes, const Actor& actor, unsigned lane) const;
  /// The launch has ended: only its writes will be asked for.
  void forget_threads();

  std::uint32_t interests() const override { return arrivals | warp_syncs; }
  void block_begin(std::uint64_t block, std::uint32_t slot) override;
  void load(const Access& access) override;
  void store(const Access& access) override;
  void atomic(const Access& access) override;
  void barrier_arrive(const Actor& actor, Mask mask, std::uint32_t id, Arrival arrival) override {
    causality_.arrive(actor, mask, id, arrival);
  }
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override {
    causality_.complete(actor, id, meeting);
  }
  void warp_sync(const Actor& actor, Mask mask, WarpSync how) override {
    if (how == WarpSync::orders_memory || shuffles_order_) causality_.sync_warp(actor, mask);
  }

 private:
  void note_initial(const Location& at, const StrongAccess& access) const;
  template <class Visit>
  void for_each_plain(const Access& access, Visit visit);
  MemoryChooser::Answer begin(const StrongAccess& access, MemoryChooser::Answer::Effect effect);
  unsigned chosen(MemoryChooser::Kind kind, std::uint32_t location, std::span<const std::uint32_t> writes,
                  const StrongOperation& by);
  void release(ThreadView& t, std::uint32_t location, const StrongAccess& access);
  void note_read(ThreadView& t, const MemoryChooser::Answer& answer, const LocationWrite& w,
                 const StrongAccess& access);
  LocationWrite make_write(ThreadView& t, MemoryChooser::Answer& answer, const StrongAccess& access,
                           const LocationWrite* before);
  void write_mixed(std::uint32_t location, const StrongAccess& access,
                   const std::shared_ptr<const LocationWrite::Message>& message, const std::byte* from);
  bool is_seen_behind(const ThreadView& t, std::uint32_t location, const LocationWrite& w, const StrongAccess& access);

  Memory& memory_;
  MemoryChooser& chooser_;
  Locations locations_;
  Causality causality_;
  StaleAccesses stale_;
  bool shuffles_order_ = true;
  std::vector<std::uint32_t> allowed_, placed_;  ///< of the access that is being executed
};

}  // namespace scanlab::vgpu
