// One run of a launch, warp by warp: a trail as it was, and then on by itself.
#pragma once

#include <cstddef>
#include <memory>

#include "vgpu/core/explore/trail.hpp"
#include "vgpu/core/run/launch.hpp"

namespace scanlab::vgpu {

/// Follows a trail, and goes on by itself behind it: the first warp that can, and always the newest write.
class Playback : public MemoryChooser, public Guide, public Observer {
 public:
  struct State;  ///< playback_state.hpp

  /// `grid` and `trail` have to outlive it. Of the trail's steps the first `forced` are as they are: they are
  /// not taken out when they turn out to be of a loop that has come back to where it was.
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
  std::unique_ptr<State> state_;
};

}  // namespace scanlab::vgpu
