#include "vgpu/checks/cost/thread_orders.hpp"

#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {

using What = Breach::What;

void ThreadOrders::note_each(const AccessRun& run, LaneExchanges::Effect effect) {
  for (unsigned k = 0; k < run.count; ++k) {
    const Access a = run.of(k);
    if (objects_.access(a)) broken(What::barrier_bits, a.actor);
    if (a.order == Access::Order::weak || a.mbarrier != Access::Mbarrier::none) continue;
    if (a.space == ptx::StateSpace::shared)
      broken(What::shared_order, a.actor);
    else if (a.space == ptx::StateSpace::global && exchanges_.access(a, effect))
      broken(What::lane_exchange, a.actor);
  }
}

void ThreadOrders::atomic(const Access& a) {
  if (objects_.access(a)) broken(What::barrier_bits, a.actor);
  if (a.mbarrier != Access::Mbarrier::none) return;
  if (orders_lanes(a)) broken(What::lane_order, a.actor);
  if (a.space == ptx::StateSpace::shared) return broken(What::shared_order, a.actor);
  if (a.space == ptx::StateSpace::global && exchanges_.atomic(a)) broken(What::lane_exchange, a.actor);
}

void ThreadOrders::barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) {
  if (groups_.has_others(actor, id) && meeting == Meeting::counted) broken(What::barrier_order, actor);
  if (meeting == Meeting::all) exchanges_.end(actor.block);
}

void Unexplored::broken(What what, const Actor& actor) {
  report_({what, own_place(*module_, actor.line)});
}

}  // namespace scanlab::vgpu
