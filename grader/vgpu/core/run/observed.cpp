#include "vgpu/core/run/observed.hpp"

#include "vgpu/core/run/grid.hpp"

namespace scanlab::vgpu {
namespace {

const Inst* observed_addition(Warp& w, const Inst* i) {
  for (Observer* o : w.block->grid->of_work) o->addition(w.active, 1);
  return reinterpret_cast<Handler>(i->imm)(w, i);
}

}  // namespace

void observe_addition(Inst& i) {
  i.imm = reinterpret_cast<std::uint64_t>(i.run);
  i.run = observed_addition;
}

}  // namespace scanlab::vgpu
