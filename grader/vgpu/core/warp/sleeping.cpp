#include "vgpu/core/warp/sleeping.hpp"

#include <algorithm>

#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace {

/// Sleeps between two looks at memory; counted loops that only sleep are not as long.
constexpr std::uint32_t most_sleeps = 1u << 17;

}  // namespace

bool waits_in_vain(Warp& w, std::uint32_t patience) {
  SpinWatch& s = w.spin;
  Grid& grid = *w.block->grid;
  if (s.wait_epoch != grid.epoch) {
    s.wait_epoch = grid.epoch;
    s.waits = 0;
  }
  // A guide lets the clock leap itself, when no other thread can go on.
  if (grid.is_guided) return ++s.waits > 1;
  if (++s.waits <= patience) return false;
  if (s.waits > patience + clock_leaps) return true;
  grid.slept += std::uint64_t{1} << (s.waits - patience);
  return false;
}

const Inst* set_aside_until_write(Warp& w, const Inst* pc) {
  w.spin.epoch = w.block->grid->epoch;
  w.spin.samples = 0;
  set_aside(w, w.active, pc, Split::State::spin);
  return run_next(w);
}

const Inst* sleep(Warp& w, const Inst* i) {
  const std::uint32_t* times = w.lanes<std::uint32_t>(i->op[0]);
  std::uint32_t longest = 0;
  for (const unsigned lane : lanes_in(w.active)) longest = std::max(longest, times[lane]);
  w.block->grid->slept += std::min<std::uint32_t>(longest, 1'000'000);  // the longest that PTX allows
  // A thread that sleeps after a look at memory probably waits for it to change.
  if (w.spin.poll_epoch == w.block->grid->epoch && waits_in_vain(w, most_sleeps))
    return set_aside_until_write(w, i + 1);
  end_turn(w);
  return i + 1;
}

}  // namespace scanlab::vgpu
