// Where the order of threads decides, and no exploration runs through the orders: within a warp and within a block.
#pragma once

#include <functional>

#include "vgpu/checks/cost/assumptions.hpp"
#include "vgpu/checks/cost/barrier_groups.hpp"
#include "vgpu/checks/cost/barrier_objects.hpp"
#include "vgpu/checks/cost/lane_exchanges.hpp"
#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// An observer that says of each access or barrier whether it shows such an order, or the bits of an mbarrier object,
/// as a Breach.
class ThreadOrders : public Observer {
 public:
  std::uint32_t interests() const override {
    return Interest::counted_arrivals | Interest::warp_syncs | Interest::plain_shared;
  }
  void block_end(std::uint64_t block, std::uint32_t /*slot*/) override {
    if (const auto left = groups_.end(block)) broken(Breach::What::barrier_order, *left);
    exchanges_.end(block);
    objects_.end(block);
  }
  void load(const Access& access) override { loads({access}); }
  void store(const Access& access) override { stores({access}); }
  void loads(const AccessRun& run) override { note(run, LaneExchanges::Effect::reads); }
  void stores(const AccessRun& run) override { note(run, LaneExchanges::Effect::writes); }
  void atomic(const Access& access) override;
  void barrier_arrive(const Actor& actor, Mask mask, std::uint32_t id, Arrival) override {
    groups_.arrive(actor, mask, id);
  }
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override;
  void warp_sync(const Actor& actor, Mask lanes, WarpSync how) override {
    if (how == WarpSync::orders_memory) exchanges_.meet(actor, lanes);
  }

 protected:
  /// Loads or stores, of which only strong ones show an order.
  void note(const AccessRun& run, LaneExchanges::Effect effect) {
    if (run.first.order != Access::Order::weak || objects_.may_meet(run.first)) note_each(run, effect);
  }
  virtual void broken(Breach::What what, const Actor& actor) = 0;
  /// No block runs any more.
  void forget() {
    groups_ = {};
    exchanges_ = {};
    objects_ = {};
  }

 private:
  void note_each(const AccessRun& run, LaneExchanges::Effect effect);

  BarrierGroups groups_;
  LaneExchanges exchanges_;
  BarrierObjects objects_;
};

/// Reports what of a run an exploration does not change: such orders, and what differs from run to run.
class Unexplored : public ThreadOrders {
 public:
  explicit Unexplored(std::function<void(const Breach&)> report) : report_(std::move(report)) {}

  void kernel_begin(const KernelInfo& info) override {
    forget();
    module_ = info.module;
  }
  void depends(const Actor& actor, Mask mask, Dependence what) override {
    if (mask) broken(what_of(what), actor);
  }

 protected:
  void broken(Breach::What what, const Actor& actor) override;

 private:
  std::function<void(const Breach&)> report_;
  const ptx::Module* module_ = nullptr;
};

}  // namespace scanlab::vgpu
