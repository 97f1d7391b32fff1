// Which executions are the same: by their graphs, whose hashes tables of the explorer hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "vgpu/core/explore/playback.hpp"

namespace scanlab::vgpu::playback {

/// A choice of one event instead of its own.
struct Change {
  std::size_t step = none;  ///< which is made last
  std::size_t event = 0;
  std::optional<StrongOperation> choice = {};  ///< nothing: as it comes
  bool may_be_vain = false;                    ///< as the steps that a run makes by itself
};

/// Steps of a run, by number, in their order.
using Steps = std::vector<std::size_t>;

/// The graph of some steps of a run: what each warp did, which write each read returned, the modification order of each
/// location, the order of all fence.sc. Grid::views is to be that of the run.
class Graphs {
 public:
  explicit Graphs(const Grid& grid);

  /// A hash of the graph of these steps, and of the change behind them: where blocks are alike, the same whichever is
  /// which.
  std::uint64_t key(const State& s, const Steps& order, const Change& change) const;

 private:
  /// By block.
  using BlockNames = std::vector<std::uint64_t>;
  /// Blocks of which any two may be taken for each other; of more there would be too many orders.
  static constexpr std::size_t most_alike = 5;

  std::optional<BlockNames> names_by_writes(const State& s, const Steps& order, const Change& change) const;
  std::uint64_t key(const State& s, const Steps& order, const Change& change, const BlockNames& names) const;

  const Grid& grid_;
  std::vector<BlockNames> block_names_;  ///< all that the blocks could have
};

}  // namespace scanlab::vgpu::playback
