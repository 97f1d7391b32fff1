// Local memory that a thread allocates while it runs: alloca, stacksave and stackrestore (PTX ISA, "alloca").
#include <algorithm>
#include <bit>

#include "vgpu/core/memory/memory_ops.hpp"
#include "vgpu/core/warp/lanes.hpp"

namespace scanlab::vgpu {
// Lanes of a call share the layout of their local memory, so each allocation is as large as its largest lane asks.

const Inst* allocate_on_stack(Warp& w, const Inst* i) {
  w.pc = i;
  const std::uint64_t* bytes = w.lanes<std::uint64_t>(i->op[1]);
  std::uint64_t most = 0;
  for (const unsigned l : lanes_in(w.active)) most = std::max(most, bytes[l]);
  constexpr std::uint64_t beyond_any_stack = std::uint64_t{1} << 40;
  most = std::min(most, beyond_any_stack);
  Frame& frame = *w.frame;
  const std::uint64_t begin = (frame.local_top() + i->imm - 1) / i->imm * i->imm;
  const std::uint64_t end = (begin + most + 15) / 16 * 16;
  if (end > w.local_stride) grow_local(w, end);
  frame.allocated_local += end - frame.local_top();
  std::uint64_t* result = w.lanes<std::uint64_t>(i->op[0]);
  for (const unsigned l : lanes_in(w.active)) result[l] = begin;
  return i + 1;
}

const Inst* save_stack(Warp& w, const Inst* i) {
  std::uint64_t* result = w.lanes<std::uint64_t>(i->op[0]);
  for (const unsigned l : lanes_in(w.active)) result[l] = w.frame->local_top();
  return i + 1;
}

const Inst* restore_stack(Warp& w, const Inst* i) {
  Frame& frame = *w.frame;
  const std::uint64_t lowest = frame.local_base + frame.program->local_bytes;
  if (w.active != frame.members) return i + 1;
  std::uint64_t top = lowest;
  for (const unsigned l : lanes_in(w.active)) top = std::max(top, w.lanes<std::uint64_t>(i->op[0])[l]);
  if (top <= frame.local_top()) frame.allocated_local = top - lowest;
  return i + 1;
}

}  // namespace scanlab::vgpu
