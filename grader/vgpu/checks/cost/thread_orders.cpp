#include "vgpu/checks/cost/thread_orders.hpp"

#include "vgpu/core/memory/stored.hpp"
#include "vgpu/core/run/report.hpp"

namespace scanlab::vgpu {

using What = Breach::What;

void ThreadOrders::note_strong(const Access& a, LaneExchanges::Effect effect) {
  if (a.order == Access::Order::weak || a.phase) return;
  if (a.space == ptx::StateSpace::shared) return broken(What::shared_order, a.actor);
  if (a.space == ptx::StateSpace::global && exchanges_.access(a, effect)) broken(What::lane_exchange, a.actor);
}

void ThreadOrders::atomic(const Access& a) {
  if (a.phase) return;
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
