// Which runs come to the same: what the steps of an exploration have led to, and where a warp could have come to a
// state by reading older writes.
//
// Different reads may come to the same: a poll was too early, a status was read in half, or the sum of a tile's
// aggregate and what is before it is its prefix. If a thread could have read older writes instead, and that leads its
// warp to the same state at a later step, then whatever may follow may follow there too, for who has read the older
// ones may still read all that come later. That holds as long as it has learnt no more by fences, acquires and the
// like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/core/explore/graphs.hpp"
#include "vgpu/core/explore/playback.hpp"

namespace scanlab::vgpu::playback {

/// A step of a warp that does nothing that others could notice.
struct Quiet {
  std::size_t place = 0;               ///< among the steps of its run that are kept
  std::uint64_t state = 0, reads = 0;  ///< the warp's before it; what it reads
  Turn::Sync sync = {};
  struct Older {
    std::uint32_t thread = 0;
    std::uint64_t reads = 0;
  };
  std::vector<Older> older{};  ///< what the warp reads if this thread reads an older write
};
/// Steps of one warp, one after the other, during which nothing has changed in its block.
using Passage = std::vector<Quiet>;

/// What a step that only reads depends on beside the warp's state: for each lane what it reads. Nothing for others.
std::optional<std::uint64_t> reads_of(const Turn& step);

/// Of one exploration. Grid::views is to be that of the run that is asked about.
class KnownSteps {
 public:
  explicit KnownSteps(const Grid& grid) : grid_(grid) {}

  /// Keeps what the steps of a run have led to: what a warp does follows from its state and what it reads.
  void note(const State& s);

  /// The passages of a run, whose steps are the `kept` ones. Events are changed meanwhile, and set back.
  std::vector<Passage> passages_of(State& s, const Steps& kept) const;
  /// Step k, and those of its warp before it, of `order`, between which nothing has been noticed.
  Passage passage_to(State& s, const Steps& order, std::size_t k) const;
  /// The steps before k of such a passage.
  static Steps quiet_before(const State& s, const Steps& order, std::size_t k);

  /// The first place, up to `last`, at which a warp is in a state to which something older would have led as well.
  std::optional<std::size_t> same_place(const std::vector<Passage>& passages, std::size_t last) const;
  /// Is it known that the state to which a passage leads can be reached by reading something older, too?
  bool lead_to(Passage passage, const State& s, std::size_t agent, std::uint64_t state) const {
    return comes_to_same(std::move(passage), named(s, agent, state));
  }
  /// Is it known that the passage leads its warp back to a state from which nothing has been noticed, or to one that
  /// can be reached by reading something older?
  bool come_to_nothing_new(Passage passage) const;

 private:
  /// What a step has led to: the warp's next state.
  struct After {
    std::uint64_t state = 0;
    Turn::Sync sync;
  };

  std::uint64_t named(const State& s, std::size_t agent, std::uint64_t state) const;
  const After* after(std::uint64_t state, std::uint64_t reads) const;
  Quiet quiet(const State& s, Turn& step, std::size_t place = 0) const;
  template <class Visit>
  void for_each_older(Turn& step, Visit visit) const;
  std::optional<std::size_t> same_place(const Passage& passage, std::size_t k, const After* instead,
                                        std::uint32_t thread) const;
  bool comes_to_same(Passage passage, std::uint64_t state) const;

  const Grid& grid_;
  std::unordered_map<std::uint64_t, After> after_;  ///< by the warp's state and what it reads
};

}  // namespace scanlab::vgpu::playback
