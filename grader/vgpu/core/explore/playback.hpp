// One run of a launch, warp by warp: a trail as it was, and then on by itself.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/core/decode/frame_layout.hpp"
#include "vgpu/core/decode/liveness.hpp"
#include "vgpu/core/explore/trail.hpp"
#include "vgpu/core/memory/views.hpp"
#include "vgpu/core/run/hash.hpp"
#include "vgpu/core/run/launch.hpp"
#include "vgpu/core/warp/splits.hpp"

namespace scanlab::vgpu {
namespace playback {

inline constexpr std::size_t none = ~std::size_t{0};

/// Of each warp, how many of its steps.
using Clock = std::vector<std::uint32_t>;

inline void merge(Clock& to, const Clock& from) {
  for (std::size_t k = 0; k < to.size(); ++k) to[k] = std::max(to[k], from[k]);
}

/// A lane's access.
struct Event {
  using Effect = MemoryChooser::Answer::Effect;
  Effect effect = Effect::read;
  bool may_update = false;  ///< as of an Answer
  StrongOperation by;
  std::uint32_t location = 0, read = 0, written = 0;
  Address address = 0;
  StrongOperation source;  ///< the write that was read
  /// A write that a read may return: whose, which of the location's in this run, a hash of its value.
  struct Readable {
    StrongOperation by;
    std::uint32_t write = 0;
    std::uint64_t value = 0;
    bool only_reads = true;  ///< having read it, the event makes no write
  };
  std::vector<Readable> allowed;        ///< what there was to choose from, the newest first
  std::vector<StrongOperation> placed;  ///< the same of a write
  unsigned chosen = 0, chosen_place = 0;
  Clock before;  ///< what led to it, but for what it has read

  bool writes() const { return written != 0; }
  /// Is what it has chosen, or is said to choose instead, read and no more?
  bool only_reads() const { return reads() && !allowed.empty() && allowed[chosen].only_reads; }
  bool reads() const { return effect == Effect::read || effect == Effect::update; }
  /// What it chose.
  const StrongOperation* choice() const {
    if (effect == Effect::write) return &placed[chosen_place];
    return reads() ? &source : nullptr;
  }
  bool chose_newest() const { return chosen == 0 && chosen_place == 0; }
};

/// A warp's strong access, and what it did up to the one after.
struct Turn {
  std::size_t agent = 0;
  std::uint32_t number = 0;   ///< of the warp's steps, from 1
  std::uint64_t state = 0;    ///< a hash of the warp's state before
  std::uint64_t changes = 0;  ///< of its block, before
  bool is_vain = false;       ///< it and those after it have led back to the same state
  bool has_looked = false;    ///< afterwards its warp has read global memory in the plain way
  /// By what its warp may have learnt more than the values that it has read: hashes of the order and the scope of the
  /// access, and of the fences and synchronisations of lanes behind it; 0: nothing.
  struct Sync {
    std::uint64_t access = 0, behind = 0;
    /// Does a warp with this know no more than one with the other, which has read the same or newer writes?
    bool is_no_more_than(const Sync& other) const {
      return access == other.access && (behind == other.behind || behind == 0);
    }
  };
  Sync sync;
  /// The warp's state before its next step, where that follows from what this one has read.
  std::optional<std::uint64_t> after;
  std::vector<Event> events;
  Clock clock;  ///< what led to it, itself included
};

/// Places in a frame of the registers that are still read.
class LivePlaces {
 public:
  explicit LivePlaces(const ptx::Function& function)
      : function_(function), flow_(control_flow(function)), liveness_(function, flow_), layout_(function) {
    has_slots_ = std::ranges::any_of(function.variables,
                                     [](const ptx::Variable& v) { return v.space == ptx::StateSpace::param; });
  }
  using Place = Program::Blank;
  const std::vector<Place>& before(std::uint32_t instruction) {
    const auto [found, is_new] = known_.try_emplace(instruction);
    if (is_new)
      for (const std::int32_t r : liveness_.live_before(instruction)) found->second.push_back(layout_.place_of(r));
    return found->second;
  }
  bool has_slots() const { return has_slots_; }

 private:
  const ptx::Function& function_;
  ControlFlow flow_;
  Liveness liveness_;
  FrameLayout layout_;
  bool has_slots_ = false;
  std::unordered_map<std::uint32_t, std::vector<Place>> known_;
};

/// Pages of global memory as they were before they were written.
class Journal {
 public:
  explicit Journal(Memory& memory) : memory_(memory) {}

  void note(Address first, std::uint64_t bytes) {
    for (Address page = first / page_bytes; page <= (first + bytes - 1) / page_bytes; ++page) {
      if (page == last_) continue;
      last_ = page;
      const auto [at, is_new] = pages_.try_emplace(page);
      if (is_new) std::memcpy(at->second.data(), memory_.host(page * page_bytes), page_bytes);
    }
  }
  void note(const Access& a) {
    for (const unsigned lane : lanes_in(a.mask)) note(a.at(lane), a.bytes);
  }
  void restore() {
    for (const auto& [page, bytes] : pages_) std::memcpy(memory_.host(page * page_bytes), bytes.data(), page_bytes);
  }
  /// Equal where memory differs in the same way from what it was.
  std::uint64_t hash() const {
    std::uint64_t all = 0;
    for (const auto& [page, bytes] : pages_) {
      const std::byte* now = memory_.host(page * page_bytes);
      if (std::memcmp(now, bytes.data(), page_bytes) != 0) all += mixed(page, now, page_bytes);
    }
    return all;
  }

 private:
  Memory& memory_;
  Address last_ = 0;
  std::unordered_map<Address, std::array<std::byte, page_bytes>> pages_;
};

/// The steps of its warps, their accesses, and what led to each.
struct State {
  const Grid& grid;
  const Trail& trail;
  const std::size_t forced;
  const std::size_t warps;  ///< of a block
  Journal* journal = nullptr;
  std::unordered_map<const Program*, std::unique_ptr<LivePlaces>>* live = nullptr;
  std::unordered_map<const Program*, std::unique_ptr<LivePlaces>> own_live;

  struct Agent {
    bool is_held = false;
    bool is_parked = false;
    bool has_yielded = false;  ///< lanes that would do the same again have let others of the warp go first
    std::uint64_t changes_when_parked = 0;
    std::uint32_t steps = 0;
    std::optional<std::uint32_t> thread;  ///< that has made its events, as long as it is one
    std::size_t last = none;              ///< the last of them
    Clock clock;
    /// Its steps since it last did something that others or itself could notice, by number in `steps`.
    std::vector<std::size_t> idle;
    std::vector<std::size_t> vain;  ///< those that led back to the same state, when it was parked
  };
  std::vector<Agent> agents;
  struct BlockState {
    std::uint64_t changes = 0;  ///< stores that are no strong ones to global memory, and barriers
    std::uint64_t hash = 0;     ///< of shared memory, when there had been so many changes:
    std::uint64_t hashed_at = ~std::uint64_t{0};
    Clock shared;  ///< of what was written to shared memory
    struct Barrier {
      Clock arrived;
      std::vector<std::uint32_t> waiting;
    };
    std::array<Barrier, barriers_per_block> barriers;
  };
  std::vector<BlockState> blocks;
  std::vector<Turn> steps;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> step_of_write;  ///< by location and write
  std::size_t last_fence = none;
  bool has_lanes = false;           ///< several lanes of some warp have made events
  std::vector<std::size_t> fences;  ///< steps with a fence.sc, one for each lane's, in their order
  /// The line of such a fence that has learnt by the order of fences alone what another one knew, and whose warp has
  /// come after that one's: another lane of it may have, and then the fences may have the other order, too.
  std::optional<std::uint32_t> lane_fence;
  std::size_t granted = none;
  std::size_t next = 0;                  ///< of the trail
  const TrailStep* following = nullptr;  ///< the trail's step that is being made
  bool is_infeasible = false;            ///< the trail cannot be followed
  /// Asked before a warp's step: does the run come to the same as others here? It ends then.
  std::function<bool(std::size_t agent, std::uint64_t state)> is_known;
  bool is_cut = false;        ///< it was known
  bool is_redundant = false;  ///< a loop that came back to where it was had been forced: the run ends
  /// Of each loop that came back to where it was, and of which some steps had been forced: its steps.
  std::vector<std::vector<std::size_t>> redundant;
  std::size_t to_wake = none;  ///< the run ended since all wait, but this one would see something new

  State(const Grid& g, const Trail& t, std::size_t f)
      : grid(g), trail(t), forced(f), warps((g.block_size.count() + warp_size - 1) / warp_size), live(&own_live) {
    agents.resize(warps * g.size.count());
    blocks.resize(g.size.count());
    for (Agent& a : agents) a.clock.resize(agents.size());
    for (BlockState& b : blocks) {
      b.shared.resize(agents.size());
      for (auto& barrier : b.barriers) barrier.arrived.resize(agents.size());
    }
  }

  std::size_t agent_of(std::uint64_t block, std::uint32_t warp) const { return block * warps + warp; }
  std::size_t agent_of(const Warp& w) const { return agent_of(w.block->index, w.id); }
  Agent& agent_at(const Warp& w) { return agents[agent_of(w)]; }
  Agent& agent_at(const Actor& actor) { return agents[agent_of(actor.block, actor.warp)]; }

  /// A hash of all that the warp's further way depends on, standing at `i`, but for what it will read in global memory.
  std::uint64_t state_of(const Warp& w, const Inst* i);
  /// The same of what the lanes of `mask` still read in a frame.
  std::uint64_t registers_of(std::uint64_t hash, const Frame* frame, const Inst* i, Mask mask);
  std::uint64_t shared_of(const Block& block);
  void begin_step(std::size_t agent, std::uint64_t state);
  /// Notes that a strong access is part of the warp's latest step.
  void note_order(const Access& access);
  /// Notes that a step has led to this state, if nothing else has.
  void end_step(std::size_t agent, std::uint64_t state);

  StrongOperation writer(std::uint32_t location, std::uint32_t write) const {
    return grid.views->locations().write_of(location, write).writer;
  }
};

}  // namespace playback

/// Follows a trail, and goes on by itself behind it: the first warp that can, and always the newest write.
class Playback : public playback::State, public Guide, public Observer {
 public:
  /// From `grid` and `trail`, which have to outlive it, and `forced`. Of the trail's steps the first `forced` are as
  /// they are: they are not taken out when they turn out to be of a loop that has come back to where it was.
  using State::State;

  bool may_act(Warp& w, const Inst* i) override;
  unsigned choose(const Question& question) override;
  void happened(const Answer& answer) override;
  bool holds_back(const Warp& w) const override { return agents[agent_of(w)].is_held; }
  bool is_pending(const Warp& w) const override { return granted == agent_of(w); }
  Pick pick(std::span<Warp* const> able) override;
  /// The trail was not that of this launch, and the run has been left.
  bool has_lost_its_way() const { return is_infeasible; }

  std::uint32_t interests() const override { return arrivals | plain_shared | warp_syncs; }
  void fence(const Actor& actor, Mask mask, Access::Scope scope) override;
  void warp_sync(const Actor& actor, Mask mask, WarpSync how) override;
  void load(const Access& access) override;
  void store(const Access& access) override;
  void atomic(const Access& access) override;
  void barrier_arrive(const Actor& actor, Mask mask, std::uint32_t id, Arrival arrival) override;
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override;
};

}  // namespace scanlab::vgpu
