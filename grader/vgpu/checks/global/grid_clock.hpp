// What a thread knows of the blocks of its grid: which of their accesses to memory have happened before what it does
// now.
//
// Most threads know nothing of other blocks, and in a chain of blocks each knows what the one before it knew, and a
// little more. So a clock is a tree that never changes: those that know the same share their branches, a copy costs
// nothing, and to join two of them costs only where they differ.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

/// When a warp does something, in the life of its block: the high half counts the barriers of the whole block, the low
/// half is a stamp of the warp's clock (block_clocks.hpp), from 1. What came before the last barrier is lower for all
/// warps.
using Moment = std::uint64_t;
inline constexpr Moment moment(std::uint32_t interval, std::uint32_t stamp) {
  return Moment{interval} << 32 | stamp;
}
inline constexpr std::uint32_t interval_of(Moment m) {
  return static_cast<std::uint32_t>(m >> 32);
}
inline constexpr std::uint32_t stamp_of(Moment m) {
  return static_cast<std::uint32_t>(m);
}

/// A flag that was seen: a strong store or atomic of another thread, whatever was made visible in front of it.
struct SeenFlag {
  std::uint64_t order = 0;   ///< of its setting, among all accesses of the launch; 0: there is none
  std::uint32_t set_by = 0;  ///< thread
  std::uint32_t set_line = 0;
  std::uint32_t seen_line = 0;
  std::uint32_t seen_by = 0;     ///< thread
  std::uint32_t seen_in = 0;     ///< block
  bool has_block_scope = false;  ///< it was set or seen with the scope of a block
  bool has_block_fence = false;  ///< its thread had executed a fence, but one that is for its block only
  bool is_lock = false;          ///< it was seen by an atomic that has changed it: a lock, given back and taken
  bool is_count = false;         ///< both have counted it up: no thread waits for another by that alone
};

/// What is known of one block. Its times are all moments of the block, or all the numbers of accesses of the launch.
struct OfBlock {
  /// Accesses of `lanes` of `warp` up to and including `until`.
  struct Part {
    std::uint32_t warp = 0;
    Mask lanes = 0;
    std::uint64_t until = 0;
    bool operator==(const Part&) const = default;
  };

  std::uint64_t before = 0;  ///< all accesses of all threads before it
  std::vector<Part> parts;   ///< and these
  SeenFlag flag;             ///< the latest that was seen

  void add(const Part& part);
  void add(const OfBlock& other);
  /// Which of `lanes` of `warp` have accesses at `when` that are not known.
  Mask unknown(std::uint32_t warp, Mask lanes, std::uint64_t when) const;
  /// True when the other holds nothing beyond this.
  bool covers(const OfBlock& other) const;
};

class GridClock {
 public:
  /// So many levels, of `fan` branches each, are needed for that many blocks.
  static unsigned levels_for(std::uint64_t blocks);

  bool is_empty() const { return !root_; }
  bool is_same(const GridClock& other) const { return root_ == other.root_; }

  /// Null when nothing is known of it.
  const OfBlock* of(std::uint64_t block) const;
  Mask unknown(std::uint64_t block, std::uint32_t warp, Mask lanes, std::uint64_t when) const {
    const OfBlock* const known = root_ ? of(block) : nullptr;
    return known ? known->unknown(warp, lanes, when) : lanes;
  }
  /// All that the block's threads did at `when` is known.
  bool knows_all(std::uint64_t block, Moment when) const {
    const OfBlock* const known = root_ ? of(block) : nullptr;
    return known && when < known->before;
  }

  /// Adds what is known of a block; all clocks of a launch have the same number of levels.
  void add(std::uint64_t block, const OfBlock& known, unsigned levels);
  void add(const GridClock& other);

 private:
  static constexpr unsigned fan_bits = 4, fan = 1u << fan_bits;
  struct Node {};
  using NodePointer = std::shared_ptr<const Node>;
  struct Branch : Node {
    std::array<NodePointer, fan> below;
  };
  struct Leaf : Node {
    OfBlock known;
  };

  static NodePointer with(const NodePointer& node, std::uint64_t block, const OfBlock& known, unsigned level);
  static NodePointer joined(const NodePointer& a, const NodePointer& b, unsigned level);

  NodePointer root_;
  unsigned levels_ = 0;
};

}  // namespace scanlab::vgpu
