// All executions of a launch: every order in which its threads may make their strong accesses, and everything that the
// memory model lets these return.
//
// Between two strong accesses to global memory a thread of a race-free program does what it does whatever the others
// do. So an execution is known by which write each read returns, and the modification order of each location: its
// graph. The explorer runs the launch again and again, from the same memory. From each execution it derives others
// (Kokologiannakis et al., "Truly stateless, optimal dynamic partial order reduction", POPL 2022): a read returns
// another write that was there; a write takes another place; a read returns a write that came later, which is then made
// first, with all that led to it, and nothing else that came after the read; the second of two read-modify-writes, or
// of two fence.sc, comes first. What has the same graph is run once; unlike there, that is known from a table of all
// graphs. README.md, "Exploration", says what is not explored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/core/run/exploration.hpp"
#include "vgpu/core/run/launch.hpp"

namespace scanlab::vgpu {

/// Follows a trail, and goes on by itself behind it: the first warp that can, and always the newest write.
class Playback : public MemoryChooser, public Guide, public Observer {
 public:
  /// `grid` and `trail` have to outlive it. Of the trail's steps the first `forced` are as they are; if one of them
  /// turns out to have changed nothing, the run is redundant.
  Playback(const Grid& grid, const Trail& trail, std::size_t forced);
  ~Playback() override;

  bool may_act(Warp& w, const Inst* i) override;
  unsigned choose(const Question& question) override;
  void happened(const Answer& answer) override;
  bool holds_back(const Warp& w) const override;
  bool is_pending(const Warp& w) const override;
  Pick pick(std::span<Warp* const> able) override;
  /// The trail was not that of this launch, and the run has been left.
  bool has_lost_its_way() const;

  std::uint32_t interests() const override { return arrivals | plain_shared; }
  void load(const Access& access) override;
  void store(const Access& access) override;
  void atomic(const Access& access) override;
  void barrier_arrive(const Actor& actor, Mask mask, std::uint32_t id, Arrival arrival) override;
  void barrier_complete(const Actor& actor, std::uint32_t id, Meeting meeting) override;

 private:
  friend class Explorer;
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs all executions of `grid`, whose image is for the schedule `weak`, with all its blocks resident. `visit` is
/// called for each different one, and ends the exploration by returning false. Afterwards memory holds what it held
/// before.
Exploration explore_grid(Grid& grid, const RunLimits& limits, const ExplorationLimits& exploration,
                         const std::function<bool(const Execution&)>& visit);

}  // namespace scanlab::vgpu
