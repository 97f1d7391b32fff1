// Hooks for checks: the core reports what happens, and knows nothing of the observers that listen. Without any it pays
// nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/core/decode/inst.hpp"
#include "vgpu/core/memory/memory.hpp"
#include "vgpu/core/memory/pattern.hpp"
#include "vgpu/core/run/fast_paths.hpp"
#include "vgpu/ptx/module.hpp"

namespace scanlab::vgpu {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  /// The index of the thread or block with this number.
  Dim3 at(std::uint64_t number) const {
    return {static_cast<std::uint32_t>(number % x), static_cast<std::uint32_t>(number / x % y),
            static_cast<std::uint32_t>(number / x / y)};
  }
};

struct Block;
class Replay;

/// Where a shared variable lies. `offset` is its address: variables are kept apart by gaps in which every access is a
/// fault, and each lies at the same bank as in the packed layout that a GPU would use.
struct SharedVariable {
  std::string name;  ///< as the learner wrote it
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string piece = {};  ///< "[1]": it is one element of what the learner wrote; empty: it is all of that

  /// "s_xy[5]": the element of `bytes` at `element`.
  std::string element_text(std::uint64_t element, std::uint64_t bytes) const {
    if (!piece.empty() && size <= bytes) return name + piece;
    return name + piece + "[" + std::to_string(element) + "]";
  }
};

struct KernelInfo {
  const char* name = "";  ///< mangled
  Dim3 grid, block;
  std::uint64_t shared_bytes = 0;  ///< static and dynamic
  const ptx::Module* module = nullptr;
  std::vector<SharedVariable> shared;  ///< by ascending offset; the dynamic array has the size of this launch
  FastPaths fast_paths = {};           ///< that the launch may take
};

/// What executes an instruction: a warp of a block, at a line (index into KernelInfo::module->lines).
struct Actor {
  std::uint64_t block = 0;  ///< linear index in the grid
  std::uint32_t warp = 0;   ///< within the block
  std::uint32_t slot = 0;   ///< resident place of the block: blocks alive at once have different ones
  std::uint32_t line = 0;
};

/// One memory instruction of a warp. Lane l takes part when bit l of `mask` is set, at `at(l)`: an offset into the
/// block's shared window for `shared`, a device address for `global` and `constant`.
struct Access : Pattern {
  Actor actor;
  ptx::StateSpace space = ptx::StateSpace::global;
  Mask mask = 0;
  std::uint32_t bytes = 0;                 ///< a lane, all elements of a vector together
  const std::uint64_t* address = nullptr;  ///< of each lane; null when they are a pattern
  enum class Order : std::uint8_t { weak, volatile_, relaxed, acquire, release, acq_rel } order = Order::weak;
  enum class Scope : std::uint8_t { none, block, device, system } scope = Scope::none;
  bool is_async = false;      ///< cp.async: done at any time until it is waited for; of an mbarrier: by such copies
  bool is_read_only = false;  ///< ld.global.nc and ldu: undefined where any thread of the launch writes what is read
  enum class Mbarrier : std::uint8_t { none, uses, ends } mbarrier = Mbarrier::none;  ///< what it does with an object
  const std::uint64_t* phase = nullptr;  ///< of each lane at an mbarrier, from 1: where it arrives, or saw it complete
  const Block* block = nullptr;          ///< of a load or a store
  const Inst* inst = nullptr;            ///< the same, for stored.hpp; none of an asynchronous copy
  const std::array<std::byte, 16>* copied = nullptr;  ///< of an asynchronous copy: what each lane writes

  bool is_pattern() const { return !address; }
  /// Is lane l at `first` + l * `stride`?
  bool is_affine() const { return !address && is_one_row(); }
  std::uint64_t at(unsigned lane) const { return address ? address[lane] : Pattern::at(lane); }
};

/// Patterns of `count` warps of a block, one after the other by number, by the same instruction: each begins `step`
/// bytes after the one before. Only the first warp may have lanes that take no part.
struct AccessRun {
  Access first;
  unsigned count = 1;
  std::int64_t step = 0;

  Mask lanes_of(unsigned k) const { return k ? full_mask : first.mask; }
  Access of(unsigned k) const {
    Access a = first;
    a.actor.warp += k;
    a.first += static_cast<std::uint64_t>(step) * k;
    a.mask = lanes_of(k);
    return a;
  }
  /// Do the same lanes of all warps take part?
  bool is_whole() const { return count == 1 || first.mask == full_mask; }
  /// The warps after the first one, of several.
  AccessRun rest() const { return {of(1), count - 1, count > 2 ? step : 0}; }
};

/// What a program's results may depend on, besides its input and the order of its blocks and warps.
enum class Dependence : std::uint8_t {
  clock,          ///< %clock, %globaltimer
  place,          ///< on which multiprocessor, and as which of its warps, a thread runs: %smid, %warpid, %nsmid …
  active_lanes,   ///< which lanes are together right now: activemask
  barrier_state,  ///< whether others have arrived at a barrier object yet, or how many
  heap_place,     ///< where malloc() in a kernel finds room
  discarded,      ///< what memory holds behind a discard
  absent_lane,    ///< what a shuffle gets from a lane that takes no part in it
  zero_divisor,   ///< an integer division by zero
  stack,          ///< a stack whose depth only the run decides: recursion, alloca
  split_barrier,  ///< that not all lanes of a warp come together to a barrier to which all have to
  unequal_masks,  ///< which lanes wait for each other, where a membermask names lanes that give another one
  open_barrier,   ///< a use of a barrier that PTX leaves open: threads that do not agree on it, an object set up twice
  open_form,      ///< an instruction whose result PTX leaves open for these operands
  approximation,  ///< the last bits of what an instruction only approximates
  opaque_bits,    ///< bits that PTX leaves open: those of a cache policy
  contraction,    ///< whether a product and the sum that it gets into are rounded once or twice
  lost_carry,     ///< a carry that no addition in the same straight code has left
  blank,          ///< a register that a way through the code reads before it writes it
};

/// Which accesses the handlers of an image report, and to what.
enum class Watched : std::uint8_t {
  nothing,
  global,      ///< those to global memory, to the claims of the host thread (claims.hpp), if there are any
  everything,  ///< these, and every event to the observers
};

class Observer {
 public:
  /// The events that are frequent and not cheap to report; an observer that does not want them saves their cost.
  enum Interest : std::uint32_t {
    branches = 1,
    arrivals = 2,
    warp_syncs = 4,
    counted_arrivals = 8,  ///< arrivals at barriers that wait for a number of threads, not for all of the block
    plain_shared = 16,     ///< weak loads and stores of shared memory, through registers
    work = 32,             ///< instructions and additions
    warp_work = 64,        ///< instructions, warp by warp
    everything = ~0u
  };
  enum class Arrival : std::uint8_t { waits, goes_on };  ///< bar.sync, bar.arrive
  enum class Meeting : std::uint8_t { all, counted };    ///< which threads a barrier has waited for
  enum class WarpSync : std::uint8_t { orders_memory, only_waits };

  virtual ~Observer() = default;
  virtual std::uint32_t interests() const { return everything; }
  virtual void kernel_begin(const KernelInfo&) {}
  /// No block runs any more, and kernel_end is next: an observer that has to see some of them again uses `replay`
  /// (replay.hpp).
  virtual void may_replay(Replay& /*replay*/) {}
  virtual void kernel_end() {}
  virtual void block_begin(std::uint64_t /*block*/, std::uint32_t /*slot*/) {}
  virtual void block_end(std::uint64_t /*block*/, std::uint32_t /*slot*/) {}
  /// `count` warp instructions were executed with `mask` active.
  virtual void executed(Mask /*mask*/, std::uint64_t /*count*/) {}
  /// The same, with the warp of a block (linear index in the grid) that executed them.
  virtual void executed_by(std::uint64_t /*block*/, std::uint32_t /*warp*/, std::uint64_t /*count*/) {}
  /// A floating-point addition (add, sub, fma) by the lanes of `mask` in each of `warps` warps.
  virtual void addition(Mask /*mask*/, std::uint64_t /*warps*/) {}
  /// `scanlab.add` (elements.hpp) by the lanes of `mask`, one after the other: sum[k] is earlier[k] + later[k].
  virtual void combined(const Actor&, Mask, const std::uint64_t* /*earlier*/, const std::uint64_t* /*later*/,
                        const std::uint64_t* /*sum*/) {}
  /// The lanes compute with these values of `bytes` (4 or 8) each, or compare them, and they may be elements' names or
  /// halves of names: only where elements are names (decode/element_uses.hpp).
  virtual void computed_with(const Actor&, Mask, const std::uint64_t* /*values*/, unsigned /*bytes*/) {}
  /// A kernel prints a word of 32 bits, which may be an element's name or half of one: only where elements are names.
  virtual void printed(std::uint32_t /*word*/) {}
  /// Bits of words of 32 bits, which may be elements' names or halves of names, get into results of `bytes`: a word of
  /// lane l's result is one of results[l], or the one behind it.
  virtual void rearranged(const Actor&, Mask, const std::uint32_t* /*words*/, const std::uint64_t* /*results*/,
                          unsigned /*bytes*/) {}
  /// The lanes get something on which neither the input nor an order of blocks and warps decides. What is found while
  /// the code is decoded (decode/dependences.hpp) is reported only where elements are names, or
  /// Device::reports_dependences asks for it.
  virtual void depends(const Actor&, Mask, Dependence) {}
  /// In an exploration: a strong access to global memory may return what stood there before the launch.
  virtual void may_read_initial(const Actor&, std::uint64_t /*address*/, std::uint32_t /*bytes*/) {}
  virtual void load(const Access&) {}
  virtual void store(const Access&) {}
  /// The same for warps that take the same path; an observer that can do better than one by one overrides them.
  virtual void loads(const AccessRun& run) {
    for (unsigned k = 0; k < run.count; ++k) load(run.of(k));
  }
  virtual void stores(const AccessRun& run) {
    for (unsigned k = 0; k < run.count; ++k) store(run.of(k));
  }
  virtual void atomic(const Access&) {}
  virtual void fence(const Actor&, Mask, Access::Scope) {}
  /// Lanes arrive at barrier `id` of their block, and later the barrier completes (once per block).
  virtual void barrier_arrive(const Actor&, Mask, std::uint32_t /*id*/, Arrival) {}
  virtual void barrier_complete(const Actor&, std::uint32_t /*id*/, Meeting) {}
  /// A barrier for all threads of the block is about to complete without those that have exited: so many, of which
  /// `first` has the lowest number.
  virtual void barrier_without(const Actor&, std::uint32_t /*id*/, std::uint32_t /*exited*/, std::uint32_t /*first*/) {}
  /// bar.warp.sync, which orders memory, and the implicit synchronisation of shuffles and votes, of which PTX promises
  /// no order; once for each membermask: among its lanes, which may have exited before.
  virtual void warp_sync(const Actor&, Mask, WarpSync) {}
  /// The copies (cp.async) that lanes have begun since the last time become a group; lanes have waited until all but
  /// the latest `left` of their groups are complete, or for all copies.
  virtual void async_commit(const Actor&, Mask) {}
  virtual void async_wait(const Actor&, Mask, std::uint32_t /*left*/) {}
  static constexpr std::uint32_t wait_for_all = ~0u;
  /// A branch at which `taken` of the `active` lanes jump; divergent when both sides have lanes.
  virtual void branch(const Actor&, Mask /*active*/, Mask /*taken*/) {}

  /// An observer for some blocks of the launch, which another thread runs at the same time; null when this one has to
  /// see all blocks, in their order, or their slots. It gets no kernel_begin or kernel_end.
  virtual std::unique_ptr<Observer> fork() const { return nullptr; }
  /// Takes over what `fork`, which fork() has made, has seen: blocks that came after those that this one has seen.
  virtual void join(Observer& /*fork*/) {}
};

}  // namespace scanlab::vgpu
