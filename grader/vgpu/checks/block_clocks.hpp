// What each thread of a block knows of the others: which of their accesses have happened before what it does now.
//
// Clocks count within an interval between two barriers of the whole block: what came before it has happened before
// everything in it. A stamp is the time of a warp's clock, which advances whenever a lane of it makes known what it has
// done. Usually no warp knows anything of another, and lanes know the same of each other, so that one number per warp
// is enough; a table of lanes, and then one of all threads, is made where threads synchronise in parts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vgpu/core/decode/inst.hpp"

namespace scanlab::vgpu {

class BlockClocks {
 public:
  using Stamp = std::uint32_t;
  /// For each thread of the block the stamp up to which its accesses have happened before; 0: none.
  using Row = std::vector<Stamp>;

  void begin_block(unsigned threads);
  /// All threads have met: everything so far has happened before everything from here on.
  void begin_interval();

  unsigned threads() const { return threads_; }
  /// For accesses that the warp makes now.
  Stamp now(unsigned warp) const { return clock_[warp]; }
  /// True when the clocks of all warps show the same.
  bool is_even() const { return !has_ticked_; }

  /// Of `lanes` of `warp`, which made an access at `stamp`: those whose access does not happen before what `thread`
  /// does now. Never `thread` itself.
  Mask unordered(unsigned warp, Mask lanes, Stamp stamp, unsigned thread) const;
  /// True, and soon found, when all lanes of warp `by` know alike what these lanes of `warp` did at `stamp`.
  bool is_known_to_all(unsigned by, unsigned warp, Mask lanes, Stamp stamp) const;
  /// True when all lanes of the warp know what all of them did at `stamp`.
  bool is_known_in(unsigned warp, Stamp stamp) const {
    return !is_wide_ && !(split_ >> warp & 1) && stamp <= known_[warp];
  }

  /// Lanes of a warp have waited for each other.
  void meet(unsigned warp, Mask lanes);
  /// What `thread` has done and knows is added to `row`. To be followed by tick().
  void release(unsigned thread, Row& row) const;
  void tick(unsigned warp);
  /// Does `row` hold what `thread` does not know yet?
  bool has_news(unsigned thread, const Row& row) const;
  /// `thread` knows from now on what `row` holds.
  void acquire(unsigned thread, const Row& row);
  /// The same for lanes of a warp.
  void acquire(unsigned warp, Mask lanes, const Row& row);

 private:
  using Table = std::array<Stamp, warp_size * warp_size>;

  Stamp knows(unsigned thread, unsigned other) const;
  const Stamp* row_of(unsigned thread, unsigned warp) const;
  /// The lanes whose stamps of a row are lower than that.
  static Mask below(const Stamp* row, Stamp stamp);
  Mask lanes_of(unsigned warp) const;
  void split(unsigned warp);
  void widen();
  bool is_together(unsigned warp) const { return together_ >> warp & 1; }
  std::size_t wide_place(unsigned thread) const {
    return std::size_t{is_together(thread / warp_size) ? thread / warp_size * warp_size : thread} * warps_ * warp_size;
  }
  const Stamp* wide_row(unsigned thread) const { return &wide_[wide_place(thread)]; }
  Stamp* wide_row(unsigned thread) { return &wide_[wide_place(thread)]; }
  void part(unsigned warp);

  unsigned threads_ = 0, warps_ = 0;
  bool has_ticked_ = false;
  std::vector<Stamp> clock_;    ///< of each warp
  std::vector<Stamp> known_;    ///< each lane of the warp knows of the others' accesses up to this stamp
  std::uint32_t split_ = 0;     ///< a bit for each warp that has a table instead
  std::vector<Table> tables_;   ///< [lane][other lane]
  bool is_wide_ = false;        ///< all warps have `wide_` instead
  Row wide_;                    ///< [thread][other thread], rows of whole warps
  std::uint32_t together_ = 0;  ///< a bit for each warp whose lanes all know the same: their first lane's row holds it
};

}  // namespace scanlab::vgpu
