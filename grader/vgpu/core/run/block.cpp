// Blocks and call frames are made and released.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "vgpu/core/run/fault.hpp"
#include "vgpu/core/run/grid.hpp"
#include "vgpu/core/warp/gang.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {

/// Of stack that a call takes, at least: with 1024 bytes an H200 made 48 calls within each other, and no 64 (measured
/// with a function that keeps nothing). 512 KiB are the most that a thread of a GPU has. Less than the default is no
/// limit for calls that do not recur: a GPU finds room for them by itself.
constexpr std::uint64_t least_call_bytes = 16, least_stack_bytes = 1024, most_stack_bytes = 512 << 10;
/// Frames of a block's warps together, so that a recursion without end in all of them is stopped before memory is full.
/// Threads that have diverged have frames of their own: 1024 of them may be 128 calls deep.
constexpr std::size_t most_frames = 131072;

/// The same register of a block's warps is read in turn: the frames begin at different sets of the first cache, which
/// lie so many bytes apart before they repeat.
constexpr std::size_t cache_colours = 4096;
static std::size_t colour_of(const std::byte* address, std::size_t frame) {
  // Not one after the other: a load that follows a store waits when the two agree in the lowest 12 bits.
  constexpr std::size_t step = 11 * warp_size * sizeof(std::uint32_t);
  return (frame * step - reinterpret_cast<std::uintptr_t>(address)) % cache_colours;
}

[[noreturn]] static void raise_overflow(Mask members, std::uint32_t depth, std::uint64_t stack_bytes) {
  raise(Fault::Kind::trap, first_lane(members),
        fmt::format("stack overflow: more than {} calls within calls, and a thread has {} bytes of stack", depth,
                    stack_bytes),
        "is a recursive device function missing its end? More stack: cudaDeviceSetLimit(cudaLimitStackSize, …)");
}

Block::Block() = default;
Block::~Block() = default;

Frame* enter_frame(Block& block, const Program& program, Frame* caller, const Inst* call, Mask members) {
  const std::uint64_t stack_bytes = std::clamp(block.grid->stack_bytes, least_stack_bytes, most_stack_bytes);
  if (caller && caller->depth >= stack_bytes / least_call_bytes) raise_overflow(members, caller->depth, stack_bytes);
  Frame* frame = nullptr;
  for (std::size_t k = block.spare_frames.size(); k-- > 0;)
    if (block.spare_frames[k]->capacity >= program.frame_bytes) {
      frame = block.spare_frames[k];
      block.spare_frames.erase(block.spare_frames.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
  if (!frame) {
    if (caller && block.frames.size() >= most_frames) raise_overflow(members, caller->depth, stack_bytes);
    frame = block.frames.emplace_back(std::make_unique<Frame>()).get();
    frame->capacity = std::max<std::size_t>(64, program.frame_bytes);
    frame->memory = make_lane_bytes(frame->capacity + (caller ? 0 : cache_colours));
    frame->registers = frame->memory.get();
    if (!caller) frame->registers += colour_of(frame->registers, block.frames.size());
  }
  if (frame->program != &program) {
    std::memset(frame->registers, 0, program.frame_bytes);
    for (const Program::Constant& c : program.constants)
      for (std::uint32_t at = 0; at < c.bytes; at += c.lane_bytes)
        std::memcpy(frame->registers + c.place + at, &c.bits, c.lane_bytes);
  } else {
    for (const Program::Blank& b : program.blanks) std::memset(frame->registers + b.place, 0, b.bytes);
  }
  for (const Program::Slot& slot : program.unwritten_slots)
    std::memset(frame->registers + slot.offset, static_cast<int>(block.grid->memory->filler),
                std::size_t{slot.size} * warp_size);
  frame->program = &program;
  frame->caller = caller;
  frame->call = call;
  frame->members = members;
  frame->depth = caller ? caller->depth + 1 : 0;
  frame->local_base = caller ? caller->local_top() + call_bytes : local_start;
  frame->allocated_local = 0;
  return frame;
}

void leave_frame(Block& block, Frame* frame) {
  block.spare_frames.push_back(frame);
}

/// Nothing is left of what an earlier block has written to local memory.
static void forget_local(Warp& w) {
  for (unsigned l = 0; l < warp_size; ++l)
    std::memset(w.local.data() + l * w.local_stride, static_cast<int>(w.block->grid->memory->filler),
                std::min(w.local_written, w.local_stride));
  w.local_written = 0;
}

void start_block(Block& block, Grid& grid, std::uint64_t index, std::uint32_t slot) {
  const Program& entry = *grid.image->entry;
  const bool same_shape = block.grid == &grid;  // the place held another block of this grid before
  block.grid = &grid;
  block.index = index;
  block.slot = slot;
  block.id = grid.size.at(index);
  const auto threads = static_cast<std::uint32_t>(grid.block_size.count());
  block.live = threads;
  for (Barrier& b : block.barriers) b = {};
  block.barriers_in_use = 0;
  block.rejoins = false;
  block.short_runs = 0;
  const std::uint64_t shared = grid.image->dynamic_offset + grid.dynamic_shared;
  block.shared.resize(shared + 16);
  for (const SharedVariable& v : grid.image->shared)
    std::memset(block.shared.data() + v.offset, static_cast<int>(grid.memory->filler),
                v.offset == grid.image->dynamic_offset ? grid.dynamic_shared : v.size);
  if (grid.prepare_shared) grid.prepare_shared(index, block.shared);

  const auto has_local = [](const Warp& w) { return w.local_written != 0; };
  block.is_as_before = std::exchange(block.frames_stay, false) && same_shape && entry.blanks.empty() &&
                       entry.unwritten_slots.empty() && std::none_of(block.warps.begin(), block.warps.end(), has_local);
  if (block.is_as_before) {
    for (Warp& w : block.warps) {
      w.alive = w.active = full_mask;
      w.stop = Stop::none;
      w.pc = entry.convergent.code.data();
    }
  }
  block.warps.resize((threads + warp_size - 1) / warp_size);
  if (!same_shape) block.gang = entry.convergent.code.empty() ? nullptr : std::make_unique<Gang>(block);
  for (const std::uint32_t pair : entry.convergent.blanks)
    for (unsigned k = 0; k < block.warps.size(); ++k) block.gang->column(pair).set(k, {});
  for (std::uint32_t k = 0; k < block.warps.size() && !block.is_as_before; ++k) {
    Warp& w = block.warps[k];
    const std::uint32_t first = k * warp_size, lanes = std::min(warp_size, threads - first);
    w.block = &block;
    w.ranges = grid.ranges.data();
    w.id = k;
    w.alive = lanes == warp_size ? full_mask : (Mask{1} << lanes) - 1;
    w.active = w.alive;
    w.pending_key = ~0u;
    w.carry = 0;
    w.stop = Stop::none;
    w.spin = {};
    w.local_stride = std::min<std::uint64_t>(w.local_stride, w.local.size() / warp_size);
    if (w.local_written) forget_local(w);
    for (unsigned l = 0; l < warp_size && !same_shape; ++l) {
      const Dim3 thread = grid.block_size.at(first + l);
      w.tid[0][l] = thread.x;
      w.tid[1][l] = thread.y;
      w.tid[2][l] = thread.z;
    }
    Frame* frame = enter_frame(block, entry, nullptr, nullptr, w.alive);
    w.waiting.clear();
    const bool together = w.alive == full_mask && !entry.convergent.code.empty();
    w.pc = together ? entry.convergent.code.data() : entry.code.data();
    w.frame = frame;
    w.registers = frame->registers;
    if (block.gang) block.gang->registers[k] = frame->registers;
    w.depth_key = depth_key(0);
    const std::uint64_t local = local_start + entry.local_bytes;
    if (w.local_stride < local) {
      w.local_stride = std::bit_ceil(std::max<std::uint64_t>(local, 256));
      w.local.assign(w.local_stride * warp_size, grid.memory->filler);
    }
  }
  block.running = true;
  for (Observer* o : grid.observers) o->block_begin(index, slot);
}

void end_block(Block& block) {
  block.running = false;
  for (Observer* o : block.grid->observers) o->block_end(block.index, block.slot);
}

}  // namespace scanlab::vgpu
