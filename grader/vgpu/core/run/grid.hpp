// One kernel launch while it runs: the grid, its resident blocks, and the call frames of their warps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "vgpu/core/decode/image.hpp"
#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/run/observer.hpp"
#include "vgpu/core/warp/warp.hpp"

namespace scanlab::vgpu {

/// One call of a function by lanes of a warp; the outermost is the kernel itself. Lanes that enter a function together
/// share the frame, and its register columns belong to one lane each.
struct Frame {
  const Program* program = nullptr;
  Frame* caller = nullptr;
  const Inst* call = nullptr;  ///< the call instruction in the caller
  Mask members = 0;            ///< lanes that have not returned
  std::uint32_t depth = 0;
  std::uint64_t local_base = 0;       ///< offset of its local variables in each lane's local memory
  std::uint64_t allocated_local = 0;  ///< bytes after them that alloca has added
  std::byte* registers = nullptr;
  std::size_t capacity = 0;  ///< bytes at `registers`
  LaneBytes memory;          ///< owns them

  /// Where its local memory ends.
  std::uint64_t local_top() const { return local_base + program->local_bytes + allocated_local; }
};

/// State of one of the 16 barriers of a block. Arrival is counted by thread, wherever in the code the thread stands.
struct Barrier {
  std::uint32_t arrived = 0;
  std::uint32_t expected = 0;  ///< threads named in the instruction; 0: all live threads of the block
  std::uint32_t count = 0;     ///< bar.red: threads whose predicate is true
  bool reduces = false;        ///< bar.red: the threads that wait get a result
  const Inst* last = nullptr;  ///< the latest arrival
  const Warp* last_warp = nullptr;
};

inline constexpr unsigned barriers_per_block = 16;
/// Local memory of the kernel begins here, so that a null pointer is not a local address.
inline constexpr std::uint64_t local_start = 64;
/// Local memory that a call takes besides its variables, as a return address does: endless recursion overflows the
/// stack.
inline constexpr std::uint64_t call_bytes = 32;

class Claims;
class ElementNames;
class FloatNames;
class Views;
struct StaleRead;
struct Grid;
struct Gang;

struct Block {
  Grid* grid = nullptr;
  std::uint64_t index = 0;
  std::uint32_t slot = 0;
  Dim3 id;
  std::uint32_t live = 0;  ///< threads that have not exited
  std::vector<Warp> warps;
  Barrier barriers[barriers_per_block];
  std::uint32_t barriers_in_use = 0;           ///< a bit for each at which threads have arrived
  std::uint64_t barriers_released = 0;         ///< how often one of them has let its threads go
  std::vector<std::byte> shared;               ///< the whole shared window of the block, gaps included
  std::vector<std::unique_ptr<Frame>> frames;  ///< all that the block ever had
  std::vector<Frame*> spare_frames;
  bool running = false;
  bool woken = false;            ///< a barrier was released since the scheduler last looked
  bool frames_stay = false;      ///< the last block here left its warps' frames in place
  bool is_as_before = false;     ///< and this one begins with them
  bool rejoins = false;          ///< its warps run as one gang where they stand together
  std::uint32_t short_runs = 0;  ///< how often they soon diverged
  std::unique_ptr<Gang> gang;    ///< of convergent code, where there is any

  Block();
  ~Block();
};

/// What all blocks of a launch share.
struct Grid {
  const Image* image = nullptr;
  Memory* memory = nullptr;
  std::span<const std::byte> parameters;
  Dim3 size, block_size;
  std::span<const std::uint64_t> chosen;  ///< the blocks that run, by index; none: all
  /// Called with a block's shared memory before the block begins, over the poison that is there; or empty.
  std::function<void(std::uint64_t block, std::span<std::byte> window)> prepare_shared;
  std::uint64_t dynamic_shared = 0;
  Address workspace = 0;  ///< of a cooperative launch: where grid.sync() counts arrivals; 0 makes it trap
  std::span<Observer* const> observers;
  std::vector<Observer*> of_plain_shared, of_work, of_warp_work;  ///< those of them with this interest
  std::uint32_t interests = 0;                                    ///< Observer::Interest, of all of them
  Views* views = nullptr;                                         ///< under the schedule `weak`, else null
  bool is_guided = false;                                         ///< a Guide says who makes the next strong access
  std::vector<StaleRead>* stale_reads = nullptr;                  ///< where they are to be put, or null
  Claims* claims = nullptr;  ///< of the host thread that runs these blocks beside others, or null
  const std::function<void(std::string_view)>* print = nullptr;
  const ElementNames* elements = nullptr;  ///< Device::elements
  FloatNames* floats = nullptr;            ///< Device::floats
  const DeviceProfile* profile = nullptr;
  std::uint64_t stack_bytes = 1024;  ///< LaunchRequest::stack_bytes
  std::uint64_t epoch = 0;           ///< grows whenever memory may have changed
  bool asks_host = false;            ///< a volatile or atomic access has read memory that the host may write meanwhile
  std::uint64_t executed = 0;        ///< warp instructions so far
  std::uint64_t slept = 0;           ///< clock ticks that passed without instructions
  double start_ns = 0;               ///< device time at launch, for %globaltimer
  std::vector<Range> ranges;         ///< by Inst::op[6] of memory instructions: what each has hit last

  /// After their kernel_begin: what an observer wants to hear may depend on the kernel.
  void set_observers(std::span<Observer* const> all) {
    observers = all;
    of_plain_shared.clear();
    of_work.clear();
    of_warp_work.clear();
    interests = 0;
    for (Observer* o : all) {
      interests |= o->interests();
      if (o->interests() & Observer::plain_shared) of_plain_shared.push_back(o);
      if (o->interests() & Observer::work) of_work.push_back(o);
      if (o->interests() & Observer::warp_work) of_warp_work.push_back(o);
    }
  }
  /// The observers of loads and stores of this kind.
  std::span<Observer* const> listeners(ptx::StateSpace space, Access::Order order) const {
    return space == ptx::StateSpace::shared && order == Access::Order::weak ? of_plain_shared : observers;
  }
};

/// Makes a frame for `program` with lanes `members`. Registers that may be read before they are written are 0, others
/// hold anything.
Frame* enter_frame(Block& block, const Program& program, Frame* caller, const Inst* call, Mask members);
void leave_frame(Block& block, Frame* frame);

/// Block `index` begins in resident place `slot`: shared memory poisoned, every thread at the kernel's first
/// instruction.
void start_block(Block& block, Grid& grid, std::uint64_t index, std::uint32_t slot);
void end_block(Block& block);

inline bool is_observed(const Warp& w) {
  return !w.block->grid->observers.empty();
}
inline bool is_observed(const Warp& w, Observer::Interest interest) {
  return w.block->grid->interests & interest;
}
/// Image::row_lanes.
inline unsigned row_lanes_of(const Warp& w) {
  return w.block->grid->image->row_lanes;
}
inline Actor actor_of(const Warp& w, const Inst* i) {
  return {w.block->index, w.id, w.block->slot, i->line};
}

}  // namespace scanlab::vgpu
