// The state of one warp: registers of 32 lanes, the lanes that execute now, and the lanes that wait for their turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

struct Block;
struct Frame;

/// The array that a memory instruction has hit last, and may use as it does: usually it hits the same one again. Empty
/// when it has hit none. Shared arrays lie at the same addresses in every block.
struct Range {
  std::uint64_t begin = 0, bytes = 0;
};
struct Program;

/// What the scheduler sees of a warp.
enum class Stop : std::uint8_t {
  none,     ///< it can go on
  barrier,  ///< the whole warp waits at the barrier `barrier_id` of its block, in place
  waiting,  ///< no split can run: they wait at barriers, for lanes of the warp, or for memory to change
  done,     ///< every lane has exited
};

/// Lanes of a warp that stand at the same instruction of the same call. A warp without divergence has one split.
///
/// Reconvergence follows thread frontiers (Diamos et al., "SIMD re-convergence at thread frontiers", MICRO 2011): of
/// all splits the one with the lowest key runs, and splits that meet at an instruction become one. The key is the call
/// depth (deeper first) and then the rank of the basic block in a weak topological order (cfg.hpp), in which a loop is
/// whole before what follows it; so lanes reunite at the immediate post-dominator, also in unstructured code.
struct Split {
  enum class State : std::uint8_t {
    ready,    ///< can run
    barrier,  ///< arrived at a block barrier
    sync,     ///< waits for lanes of the warp named in a *.sync mask
    spin,     ///< proven to loop until memory changes: waits for a write
  };
  const Inst* pc =
      nullptr;  ///< where it goes on; for barrier the instruction after it, for sync the instruction itself
  Frame* frame = nullptr;
  Mask mask = 0;
  State state = State::ready;
  std::uint32_t barrier_id = 0;
  std::uint32_t key() const;
};

/// Finds loops that cannot end by themselves: a split whose registers repeat while no thread writes memory (Brent's
/// cycle detection over samples at the ends of quanta).
struct SpinWatch {
  std::uint64_t epoch = ~0ull;  ///< Grid::epoch when the watch began
  std::uint64_t samples = 0;
  std::int64_t unwatched = 0;        ///< instructions since the last sample
  std::uint64_t snapshot = 0;        ///< hash of the registers at the last power of two
  std::uint64_t unyielding = 0;      ///< quanta for which other splits of the warp have waited
  std::uint64_t poll_epoch = ~0ull;  ///< Grid::epoch at the last poll
  std::uint32_t polls = 0;           ///< looks at memory since then
  std::uint64_t wait_epoch = 0;      ///< Grid::epoch at the last wait in vain (sleeping.hpp)
  std::uint32_t waits = 0;           ///< such waits since then
};

/// The 32 threads that execute together. Handlers read and write the first fields; the rest belongs to the scheduler.
/// Between turns the split that ran last rests in place (`active` is not empty) or is one of the waiting ones.
struct alignas(64) Warp {
  std::byte* registers = nullptr;   ///< of the current frame
  Mask active = 0;                  ///< lanes that execute now
  Mask carry = 0;                   ///< the condition code CC.CF of add.cc and its relatives
  std::uint32_t pending_key = ~0u;  ///< lowest key among waiting splits that can run (~0: none)
  std::uint32_t depth_key = 0;      ///< the part of the running split's key that its call depth gives
  std::int64_t budget = 0;          ///< instructions left in this quantum
  Range* ranges = nullptr;          ///< of the grid
  Block* block = nullptr;
  const Inst* pc = nullptr;  ///< where to go on; while a handler runs that can fault, its instruction
  Mask alive = 0;            ///< lanes that have not exited
  Stop stop = Stop::none;
  std::uint8_t barrier_id = 0;  ///< for Stop::barrier
  bool listed = false;          ///< among the runnable warps of a random schedule

  Frame* frame = nullptr;
  std::vector<Split> waiting;      ///< every split but the one that runs or rests in place
  const Inst* barrier = nullptr;   ///< the instruction of Stop::barrier
  std::int64_t quantum = 0;        ///< budget at the start of this quantum
  std::int64_t segment_start = 0;  ///< budget when `active` was last set, to count instructions by mask
  std::uint32_t id = 0;            ///< within the block
  Mask guarded = 0;                ///< active lanes around a guarded instruction
  SpinWatch spin;
  std::array<std::uint32_t, warp_size> tid[3];  ///< %tid of each lane
  std::vector<std::byte> local;                 ///< local memory, lane after lane, `local_stride` bytes each
  std::uint64_t local_stride = 0;
  std::uint64_t local_written = 0;  ///< all that this block has written to local memory lies below, in every lane

  /// The 32 values that `ref` names, as T.
  template <class T>
  T* lanes(OperandRef ref) {
    return reinterpret_cast<T*>(registers + ref);
  }
  /// The predicate that `ref` names.
  Mask& predicate(OperandRef ref) { return *lanes<Mask>(ref); }
};

}  // namespace scanlab::vgpu
